package config

import (
	"time"
)

// The tables of what fences hosts. See tables.go.

func methodShape() object[methodDraft] {
	return object[methodDraft]{
		fields: []field[methodDraft]{
			may("redfish", "The host's own controller, asked by Redfish. A method has one of redfish, ipmi, agent, "+
				"command and cut.", redfishShape(),
				func(m *methodDraft) *at[redfishDraft] { return &m.redfish }),
			may("ipmi", "The host's own controller, asked by IPMI 2.0 with the program ipmitool. IPMI proves no "+
				"identity: keep controllers on a network of their own.", ipmiShape(),
				func(m *methodDraft) *at[ipmiDraft] { return &m.ipmi }),
			may("agent", "A program of the fence-agents family: switched outlets, blade chassis, hypervisors and "+
				"more. `hale fence describe AGENT` lists its options.", agentShape(),
				func(m *methodDraft) *at[agentDraft] { return &m.agent }),
			may("command", "An own program. With `HALE_ACTION=status` it ends with 0, the host is on, or 4, it is "+
				"off; anything else says nothing. With `HALE_ACTION=off` it turns `HALE_HOST` off, and ends with 0 "+
				"when that was accepted.", commandShape(),
				func(m *methodDraft) *at[commandDraft] { return &m.command }),
			may("cut", "An own program that leaves the host its power, and cuts it from storage or network. With "+
				"`HALE_ACTION=status` it ends with 0, `HALE_HOST` reaches them, or 4, it does not; anything else "+
				"says nothing. With `HALE_ACTION=cut` it cuts, and with `HALE_ACTION=uncut`, at a person's order, it "+
				"undoes that; both end with 0 when that was accepted. It proves access-cut.", cutShape(),
				func(m *methodDraft) *at[cutDraft] { return &m.cut }),
			or("attempts", defaultFenceAttempts, "How often it is tried before the host's next method is. A wrong "+
				"password is not tried again.", integer(1, 10),
				func(m *methodDraft) *at[int] { return &m.attempts }),
			or("timeout", defaultFenceTimeout, "The limit of one attempt, from the first question to the proof; one "+
				"question or order may take a third of it.",
				duration(3*time.Second, maxFenceTimeout),
				func(m *methodDraft) *at[time.Duration] { return &m.timeout }),
			or("settle", defaultFenceSettle, "For how long the controller must say off: a host in the middle of "+
				"somebody's power cycle is off for a moment, too.",
				duration(time.Second, 10*time.Second), func(m *methodDraft) *at[time.Duration] { return &m.settle }),
			or("test", defaultFenceTest, "How often hale asks the controller how its host stands, so that a broken "+
				"one is found before it is needed. It changes nothing.",
				duration(time.Minute, 30*24*time.Hour), func(m *methodDraft) *at[time.Duration] { return &m.test }),
		},
		later: map[string]string{
			"watchdog": "nothing proves from outside that a host honours its watchdog: name a power controller",
			"yields":   "take it out: what a method proves is that the host is off",
		},
	}
}

func cutShape() object[cutDraft] {
	return object[cutDraft]{fields: append(commandFields(func(d *cutDraft) *commandDraft { return &d.commandDraft }),
		must("of", "storage", "What it cuts the host from. Machines with disks that are kept need `storage` or "+
			"`both`, others `network` or `both`: else the old one could write.",
			choice(nil, CutStorage, CutNetwork, CutBoth), func(d *cutDraft) *at[CutOf] { return &d.of }))}
}

func redfishShape() object[redfishDraft] {
	return object[redfishDraft]{fields: []field[redfishDraft]{
		must("url", "https://h1-bmc.example.org", "The controller's address. `{host}` stands for the host's name.",
			text("a web address",
				"https://h1-bmc.example.org"),
			func(d *redfishDraft) *at[string] { return &d.url }),
		must("user", "hale", "Who hale is to it.", text("a user name", "hale"),
			func(d *redfishDraft) *at[string] { return &d.user }),
		must("password", "{file: /etc/hale/h1-bmc}",
			"The password: `{file: PATH}` or `{env: NAME}`, never the password itself.", secretShape(),
			func(d *redfishDraft) *at[secretDraft] { return &d.password }),
		may("system", "The id of the system that is the host, where the service has several.", text("an id",
			"System.Embedded.1"),
			func(d *redfishDraft) *at[string] { return &d.system }).said("the only one"),
		may("ca", "A PEM file with the authorities to trust, in place of the system's; a controller's own "+
			"certificate will do.", text("a path", "/etc/hale/bmc-ca.pem"),
			func(d *redfishDraft) *at[string] { return &d.ca }),
		or("verify", true, "`false`: believe whoever answers, and send them the password. `hale status` says so.",
			boolean(),
			func(d *redfishDraft) *at[bool] { return &d.verify }),
	}}
}

func ipmiShape() object[ipmiDraft] {
	return object[ipmiDraft]{fields: []field[ipmiDraft]{
		must("host", "10.0.0.11", "The controller's address. `{host}` stands for the host's name.",
			text("a host name or address",
				"10.0.0.11"),
			func(d *ipmiDraft) *at[string] { return &d.host }),
		or("port", defaultIPMIPort, "Its port.", integer(1, 65535), func(d *ipmiDraft) *at[int] { return &d.port }),
		must("user", "hale", "Who hale is to it.", text("a user name", "hale"),
			func(d *ipmiDraft) *at[string] { return &d.user }),
		must("password", "{file: /etc/hale/h1-bmc}",
			"The password: `{file: PATH}` or `{env: NAME}`, never the password itself.", secretShape(),
			func(d *ipmiDraft) *at[secretDraft] { return &d.password }),
		or("cipher", defaultIPMICipher, "The cipher suite: 17, or 3 where a controller has no other.", integer(1, 17),
			func(d *ipmiDraft) *at[int] { return &d.cipher }),
		may("privilege", "The privilege level to ask for: `operator` may turn a host off.", text("a level", "operator"),
			func(d *ipmiDraft) *at[string] { return &d.privilege }).said("administrator"),
	}}
}

func agentShape() object[agentDraft] {
	return object[agentDraft]{fields: []field[agentDraft]{
		must("program", "fence_apc", "The program: its name, or its path.", text("a program",
			"fence_apc"), func(d *agentDraft) *at[string] { return &d.program }),
		may("options", "Its options, as `hale fence describe` lists them, without the action: a text, or `{file: "+
			"PATH}` or `{env: NAME}` for what is secret. They are handed to its standard input. In a text, `{host}` "+
			"stands for the host's name.", mapping[valueDraft]{key: "OPTION", each: optionShape(), names: optionNames},
			func(d *agentDraft) *at[[]named[valueDraft]] { return &d.options }),
	}}
}

// optionShape reads a text, for which a number or a truth will do, or a reference to a secret.
func optionShape() shorthand[valueDraft, string] {
	v := valueShape("a text", "10.0.0.20")
	v.short.forms = []form{formText, formNumber, formBool}
	return v
}

// hostFences reads which methods belong to a host.
func hostFences() field[hostDraft] {
	return may("fence", "How its power is cut: methods under fences, in the order in which they are tried. Without "+
		"it, nothing can prove that a host which does not answer is off.",
		list[string]{noun: "one method", each: name()}, func(h *hostDraft) *at[[]at[string]] { return &h.fence })
}

// mostFenceDelay is the longest for which a host is left as it is before it is fenced.
const mostFenceDelay = 5 * time.Minute

// hostFenceDelay reads for how long a host is left as it is.
func hostFenceDelay() field[hostDraft] {
	return or("fence_delay", 0, "For how long hale leaves a host that does not answer as it is before it is fenced, "+
		"and then looks once more. Where two hales that know nothing of one another could turn off each other's "+
		"host, give the one that matters more the longer time, and both hales the same file: then only one shoots.",
		duration(0, mostFenceDelay), func(h *hostDraft) *at[time.Duration] { return &h.fenceDelay })
}

// fencePriority reads whose hosts are fenced later.
func fencePriority() field[providerDraft] {
	return may("fence_priority", "By fleet, how much longer than its fence_delay a host is left as it is on which "+
		"one of the fleet's machines was seen running last, whichever hale looks after that fleet: of two hales that "+
		"turn off each other's host, the one beside what matters more is to survive. Of several fleets on a host the "+
		"longest counts, and after a start of hale, until the host was seen, the longest of all. Make it more than "+
		"twice the longest fence_delay.",
		mapping[time.Duration]{key: "FLEET", each: duration(0, mostFenceDelay)},
		func(p *providerDraft) *at[[]named[time.Duration]] { return &p.weights }).said("none")
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

func fenceHosts() field[fenceDraft] {
	return or("hosts", hostsHold, "What to do when a host does not answer, and none of the machines that hale knows "+
		"on it does. `hold`: leave its machines alone, and tell a person. `off`: cut the host's power, by the "+
		"methods in providers.PROVIDER.hosts[].fence, and recreate the machines elsewhere. That turns everything off on it.",
		choice(nil, hostsHold, hostsOff), func(f *fenceDraft) *at[hostsWord] { return &f.hosts })
}

func fenceWord() field[fenceDraft] {
	return or("word", wordRefuse, "What a person's word is worth that a host is off (`hale fence confirm`). "+
		"`refuse`: nothing. `take`: as much as confirmed-off.",
		choice(nil, wordRefuse, wordTake), func(f *fenceDraft) *at[wordWord] { return &f.word })
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
