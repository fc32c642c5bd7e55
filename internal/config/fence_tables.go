package config

import (
	"time"

	"hale/internal/keys"
)

// The tables of what fences hosts. See tables.go.

func methodShape() keys.Object[methodDraft] {
	return keys.Object[methodDraft]{
		Fields: []keys.Field[methodDraft]{
			keys.May("redfish", "The host's own controller, asked by Redfish. A method has one of redfish, ipmi, "+
				"agent, command and cut.", redfishShape(),
				func(m *methodDraft) *keys.At[redfishDraft] { return &m.redfish }),
			keys.May("ipmi", "The host's own controller, asked by IPMI 2.0 with the program ipmitool. IPMI proves no "+
				"identity: keep controllers on a network of their own.", ipmiShape(),
				func(m *methodDraft) *keys.At[ipmiDraft] { return &m.ipmi }),
			keys.May("agent", "A program of the fence-agents family: switched outlets, blade chassis, hypervisors and "+
				"more. `hale fence describe AGENT` lists its options.", agentShape(),
				func(m *methodDraft) *keys.At[agentDraft] { return &m.agent }),
			keys.May("command", "An own program. With `HALE_ACTION=status` it ends with 0, the host is on, or 4, it "+
				"is off; anything else says nothing. With `HALE_ACTION=off` it turns `HALE_HOST` off, and ends with "+
				"0 when that was accepted.", commandShape(),
				func(m *methodDraft) *keys.At[commandDraft] { return &m.command }),
			keys.May("cut", "An own program that leaves the host its power, and cuts it from storage or network. With "+
				"`HALE_ACTION=status` it ends with 0, `HALE_HOST` reaches them, or 4, it does not; anything else "+
				"says nothing. With `HALE_ACTION=cut` it cuts, and with `HALE_ACTION=uncut`, at a person's order, it "+
				"undoes that; both end with 0 when that was accepted. It proves access-cut.", cutShape(),
				func(m *methodDraft) *keys.At[cutDraft] { return &m.cut }),
			keys.Or("attempts", defaultFenceAttempts, "How often it is tried before the host's next method is. A "+
				"wrong password is not tried again.", keys.Integer(1, 10),
				func(m *methodDraft) *keys.At[int] { return &m.attempts }),
			keys.Or("timeout", defaultFenceTimeout, "The limit of one attempt, from the first question to the proof; "+
				"one question or order may take a third of it.",
				keys.Duration(3*time.Second, maxFenceTimeout),
				func(m *methodDraft) *keys.At[time.Duration] { return &m.timeout }),
			keys.Or("settle", defaultFenceSettle, "For how long the controller must say off: a host in the middle of "+
				"somebody's power cycle is off for a moment, too.",
				keys.Duration(time.Second, 10*time.Second),
				func(m *methodDraft) *keys.At[time.Duration] { return &m.settle }),
			keys.Or("test", defaultFenceTest, "How often hale asks the controller how its host stands, so that a "+
				"broken one is found before it is needed. It changes nothing.",
				keys.Duration(time.Minute, 30*24*time.Hour),
				func(m *methodDraft) *keys.At[time.Duration] { return &m.test }),
		},
		Later: map[string]string{
			"watchdog": "nothing proves from outside that a host honours its watchdog: name a power controller",
			"yields":   "take it out: what a method proves is that the host is off",
		},
	}
}

func cutShape() keys.Object[cutDraft] {
	return keys.Object[cutDraft]{Fields: append(
		commandFields(func(d *cutDraft) *commandDraft { return &d.commandDraft }),
		keys.Must("of", "storage", "What it cuts the host from. Machines with disks that are kept need `storage` or "+
			"`both`, others `network` or `both`: else the old one could write.",
			keys.Choice(nil, CutStorage, CutNetwork, CutBoth), func(d *cutDraft) *keys.At[CutOf] { return &d.of }))}
}

func redfishShape() keys.Object[redfishDraft] {
	return keys.Object[redfishDraft]{Fields: []keys.Field[redfishDraft]{
		keys.Must("url", "https://h1-bmc.example.org", "The controller's address. `{host}` stands for the host's name.",
			keys.Text("a web address",
				"https://h1-bmc.example.org"),
			func(d *redfishDraft) *keys.At[string] { return &d.url }),
		keys.Must("user", "hale", "Who hale is to it.", keys.Text("a user name", "hale"),
			func(d *redfishDraft) *keys.At[string] { return &d.user }),
		keys.Must("password", "{file: /etc/hale/h1-bmc}",
			"The password: `{file: PATH}` or `{env: NAME}`, never the password itself.", secretShape(),
			func(d *redfishDraft) *keys.At[secretDraft] { return &d.password }),
		keys.May("system", "The id of the system that is the host, where the service has several.", keys.Text("an id",
			"System.Embedded.1"),
			func(d *redfishDraft) *keys.At[string] { return &d.system }).Said("the only one"),
		keys.May("ca", "A PEM file with the authorities to trust, in place of the system's; a controller's own "+
			"certificate will do.", keys.Text("a path", "/etc/hale/bmc-ca.pem"),
			func(d *redfishDraft) *keys.At[string] { return &d.ca }),
		keys.Or("verify", true, "`false`: believe whoever answers, and send them the password. `hale status` says so.",
			keys.Boolean(),
			func(d *redfishDraft) *keys.At[bool] { return &d.verify }),
	}}
}

func ipmiShape() keys.Object[ipmiDraft] {
	return keys.Object[ipmiDraft]{Fields: []keys.Field[ipmiDraft]{
		keys.Must("host", "10.0.0.11", "The controller's address. `{host}` stands for the host's name.",
			keys.Text("a host name or address",
				"10.0.0.11"),
			func(d *ipmiDraft) *keys.At[string] { return &d.host }),
		keys.Or("port", defaultIPMIPort, "Its port.", keys.Integer(1, 65535),
			func(d *ipmiDraft) *keys.At[int] { return &d.port }),
		keys.Must("user", "hale", "Who hale is to it.", keys.Text("a user name", "hale"),
			func(d *ipmiDraft) *keys.At[string] { return &d.user }),
		keys.Must("password", "{file: /etc/hale/h1-bmc}",
			"The password: `{file: PATH}` or `{env: NAME}`, never the password itself.", secretShape(),
			func(d *ipmiDraft) *keys.At[secretDraft] { return &d.password }),
		keys.Or("cipher", defaultIPMICipher, "The cipher suite: 17, or 3 where a controller has no other.",
			keys.Integer(1, 17),
			func(d *ipmiDraft) *keys.At[int] { return &d.cipher }),
		keys.May("privilege", "The privilege level to ask for: `operator` may turn a host off.", keys.Text("a level",
			"operator"),
			func(d *ipmiDraft) *keys.At[string] { return &d.privilege }).Said("administrator"),
	}}
}

func agentShape() keys.Object[agentDraft] {
	return keys.Object[agentDraft]{Fields: []keys.Field[agentDraft]{
		keys.Must("program", "fence_apc", "The program: its name, or its path.", keys.Text("a program",
			"fence_apc"), func(d *agentDraft) *keys.At[string] { return &d.program }),
		keys.May("options", "Its options, as `hale fence describe` lists them, without the action: a text, or "+
			"`{file: PATH}` or `{env: NAME}` for what is secret. They are handed to its standard input. In a text, "+
			"`{host}` stands for the host's name.", keys.Mapping[valueDraft]{Key: "OPTION", Each: optionShape(),
			Names: optionNames},
			func(d *agentDraft) *keys.At[[]keys.Named[valueDraft]] { return &d.options }),
	}}
}

// optionShape reads a text, for which a number or a truth will do, or a reference to a secret.
func optionShape() keys.Shorthand[valueDraft, string] {
	v := valueShape("a text", "10.0.0.20")
	v.Short.Forms = []keys.Form{keys.FormText, keys.FormNumber, keys.FormBool}
	return v
}

// hostFences reads which methods belong to a host.
func hostFences() keys.Field[hostDraft] {
	return keys.May("fence", "How its power is cut: methods under fences, in the order in which they are tried. "+
		"Without it, nothing can prove that a host which does not answer is off.",
		keys.List[string]{Noun: "one method", Each: keys.Name()},
		func(h *hostDraft) *keys.At[[]keys.At[string]] { return &h.fence })
}

// mostFenceDelay is the longest for which a host is left as it is before it is fenced.
const mostFenceDelay = 5 * time.Minute

// hostFenceDelay reads for how long a host is left as it is.
func hostFenceDelay() keys.Field[hostDraft] {
	return keys.Or("fence_delay", 0, "For how long hale leaves a host that does not answer as it is before it is "+
		"fenced, and then looks once more. Where two hales that know nothing of one another could turn off each "+
		"other's host, give the one that matters more the longer time, and both hales the same file: then only one shoots.",
		keys.Duration(0, mostFenceDelay), func(h *hostDraft) *keys.At[time.Duration] { return &h.fenceDelay })
}

// fencePriority reads how much later the hosts of a fleet are fenced.
func fencePriority() keys.Field[providerDraft] {
	return keys.May("fence_priority", "By fleet, how much longer than its fence_delay a host is left as it is on "+
		"which one of the fleet's machines was seen running last, whichever hale looks after that fleet: of two "+
		"hales that turn off each other's host, the one beside what matters more is to survive. Of several fleets on "+
		"a host the longest counts, and after a start of hale, until the host was seen, the longest of all. Make it "+
		"more than twice the longest fence_delay.",
		keys.Mapping[time.Duration]{Key: "FLEET", Each: keys.Duration(0, mostFenceDelay)},
		func(p *providerDraft) *keys.At[[]keys.Named[time.Duration]] { return &p.weights }).Said("none")
}

// hostsWord is what is done with a host that does not answer.
type hostsWord string

const (
	hostsHold hostsWord = "hold"
	hostsOff  hostsWord = "off"
)

// wordWord is what a person's word about a host is worth.
type wordWord string

const (
	wordTake   wordWord = "take"
	wordRefuse wordWord = "refuse"
)

func fenceHosts() keys.Field[fenceDraft] {
	return keys.Or("hosts", hostsHold, "What to do when a host does not answer, and none of the machines that hale "+
		"knows on it does. `hold`: leave its machines alone, and tell a person. `off`: cut the host's power, by the "+
		"methods in providers.PROVIDER.hosts[].fence, and recreate the machines elsewhere. That turns everything off on it.",
		keys.Choice(nil, hostsHold, hostsOff), func(f *fenceDraft) *keys.At[hostsWord] { return &f.hosts })
}

func fenceWord() keys.Field[fenceDraft] {
	return keys.Or("word", wordRefuse, "What a person's word is worth that a host is off (`hale fence confirm`). "+
		"`refuse`: nothing. `take`: as much as confirmed-off.",
		keys.Choice(nil, wordRefuse, wordTake), func(f *fenceDraft) *keys.At[wordWord] { return &f.word })
}

// The defaults of what fences hosts.
const (
	defaultFenceAttempts = 2
	defaultFenceTimeout  = 15 * time.Second
	defaultFenceSettle   = 2 * time.Second
	defaultFenceTest     = time.Hour
	defaultIPMIPort      = 623
	defaultIPMICipher    = 17
)

// maxFenceTimeout is as long as a lease covers a call that harms.
const maxFenceTimeout = 15 * time.Second
