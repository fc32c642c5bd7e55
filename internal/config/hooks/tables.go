package hooks

import (
	"time"

	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

const (
	defaultWithin    = time.Minute
	defaultProvision = 10 * time.Minute
	defaultDeadline  = time.Hour
	defaultPort      = 22
	defaultUser      = "root"
	defaultMode      = "0644"
)

// Shape is what is written of a fleet's hooks.
func Shape() keys.Object[Draft] {
	each := keys.Mapping[Hook]{Key: "HOOK", Each: shape(defaultWithin, policy.HookGoOn)}
	return keys.Object[Draft]{Fields: []keys.Field[Draft]{
		keys.May("before_repair", "Before the first step of a repair, once a look has confirmed the failure.", each,
			func(d *Draft) *keys.At[[]keys.Named[Hook]] { return &d.before }),
		keys.May("leave",
			"Before a machine that serves is interrupted: rebooted, replaced or removed, by a repair, an "+
				"update or a size. It is out of its balancers by then. When all of them are over, the failure is looked at "+
				"once more.", each, func(d *Draft) *keys.At[[]keys.Named[Hook]] { return &d.leave }),
		keys.May("after_repair", "After a repaired machine was seen healthy, before it serves again.", each,
			func(d *Draft) *keys.At[[]keys.Named[Hook]] { return &d.after }),
	}}
}

// Provision is what is written of how new instances are made what they are to be.
func Provision() keys.Shape[[]keys.Named[Hook]] {
	return keys.Mapping[Hook]{Key: "HOOK", Each: shape(defaultProvision, policy.HookStop)}
}

func shape(within time.Duration, onFailure policy.HookFailure) keys.Object[Hook] {
	return keys.Object[Hook]{Fields: append(ways(),
		keys.Or("within", within,
			"How long it may take; then it is killed, and has failed. Of one that waits: how long "+
				"until the next word.", keys.Duration(time.Second, 24*time.Hour),
			func(h *Hook) *keys.At[time.Duration] { return &h.within }),
		keys.Or("on_failure", onFailure, "What follows when it fails, or is not done in time. `go-on`: it is written "+
			"down, and the work goes on. `page`: a person is told as well. `stop`: a repair ends, and the machine is "+
			"left to a person; an update or a removal is given up; a new instance is replaced, as one that never became "+
			"healthy.", keys.Choice(nil, policy.HookGoOn, policy.HookPage, policy.HookStop),
			func(h *Hook) *keys.At[policy.HookFailure] { return &h.onFailure }),
		keys.May("idempotent",
			"It may be run again at any time. Else, when hale dies while it runs, it is unknown how "+
				"far it came, and it has failed.", keys.Boolean(),
			func(h *Hook) *keys.At[bool] { return &h.idempotent }).Said("true of ansible and copy, else false"),
		keys.May("when_off", "Whether it is run although the machine is off, or its host dead: `run` or `skip`.",
			keys.Choice(nil, runWhenOff, skipWhenOff), func(h *Hook) *keys.At[whenOff] { return &h.whenOff }).
			Said("run of command and http, else skip"),
	)}
}

// ways are how a hook can be done.
func ways() []keys.Field[Hook] {
	return []keys.Field[Hook]{
		keys.May("command", "Run a program on hale's side: the program and its arguments, without a shell. "+
			kinds.PlaceholdersSaid+"Exit code 0: it is done. Put no secrets here: everybody on the server can read them.",
			keys.List[string]{Noun: "the program", Each: keys.Text("a word of the command", "/usr/local/bin/drain")},
			func(h *Hook) *keys.At[[]keys.At[string]] { return &h.command }),
		keys.May("env", "Of command and ansible. "+kinds.EnvSaid, keys.Mapping[keys.TextDraft]{
			Key: "VARIABLE", Names: keys.VariableNames, Each: keys.TextOrSecret("the variable's value", "production"),
		}, func(h *Hook) *keys.At[[]keys.Named[keys.TextDraft]] { return &h.env }),
		keys.May("http",
			"POST what it is about as JSON: the machine, its fleet, instance, host and address, the hook, "+
				"the repair and its step. 2xx: it is done. 429 and 503: later, as long as there is time. Redirects are not "+
				"followed.", requestShape(), func(h *Hook) *keys.At[request] { return &h.http }),
		keys.May("ansible",
			"Run a playbook with ansible-playbook on hale's side, on this machine alone: an inventory of "+
				"this one host, with `hale_fleet`, `hale_number`, `hale_instance` and `hale_host` as variables. It waits "+
				"until SSH answers.", playbookShape(), func(h *Hook) *keys.At[playbook] { return &h.ansible }),
		keys.May("copy", "Put files on the machine, over SSH. It waits until SSH answers.", copyShape(),
			func(h *Hook) *keys.At[copying] { return &h.copy }),
		keys.May("wait", "Wait for a word of a person or a program: `hale hook done MACHINE` goes on, `hale hook more "+
			"MACHINE` gives it within once more, `hale hook fail MACHINE` says that it failed.",
			keys.Object[waiting]{Fields: []keys.Field[waiting]{
				keys.Or("deadline", defaultDeadline,
					"The longest that is waited, however often more time is asked for; "+
						"at least within.", keys.Duration(time.Second, 7*24*time.Hour),
					func(w *waiting) *keys.At[time.Duration] { return &w.deadline }),
			}}, func(h *Hook) *keys.At[waiting] { return &h.wait }),
	}
}

func requestShape() keys.Object[request] {
	return keys.Object[request]{Fields: []keys.Field[request]{
		keys.Must("url", "https://deploy.example.org/hale", "Where to: the address, or, where it is itself a secret, "+
			"`{file: PATH}` or `{env: NAME}`.", keys.TextOrSecret("a web address", "https://deploy.example.org/hale"),
			func(r *request) *keys.At[keys.TextDraft] { return &r.url }),
		keys.May("ca", "A PEM file with the authorities to trust, in place of the system's.",
			keys.Text("a path", "/etc/ssl/deploy-ca.pem"), func(r *request) *keys.At[string] { return &r.ca }),
		keys.May("headers",
			"Further headers, by name: a text, or `{file: PATH}` or `{env: NAME}` for what is secret, as "+
				"a token.", keys.Mapping[keys.TextDraft]{Key: "HEADER", Names: keys.HeaderNames,
				Each: keys.TextOrSecret("a header's value", "web")},
			func(r *request) *keys.At[[]keys.Named[keys.TextDraft]] { return &r.headers }),
	}}
}

// loginFields are the keys of how hale gets into a machine.
func loginFields[T any](of func(*T) *login) []keys.Field[T] {
	return keys.Within([]keys.Field[login]{
		keys.Or("user", defaultUser, "Who logs in there.", keys.Text("a user's name", "root"),
			func(l *login) *keys.At[string] { return &l.user }),
		keys.Must("key", "/etc/hale/id_ed25519", "The file of a private SSH key without a passphrase, for hale alone.",
			keys.Text("a path", "/etc/hale/id_ed25519"), func(l *login) *keys.At[string] { return &l.key }),
		keys.May("known_hosts",
			"A file with the SSH keys of machines, as known_hosts(5) says. Without it whatever key "+
				"answers at the machine's address is taken: that of a new machine is not known beforehand.",
			keys.Text("a path", "/etc/hale/known_hosts"), func(l *login) *keys.At[string] { return &l.knownHosts }),
		keys.Or("port", defaultPort, "Of SSH, on the machine.", keys.Integer(1, 65535),
			func(l *login) *keys.At[int] { return &l.port }),
	}, of)
}

func playbookShape() keys.Object[playbook] {
	return keys.Object[playbook]{Fields: append([]keys.Field[playbook]{
		keys.Must("playbook", "site.yaml", "The playbook's file.", keys.Text("a path", "/etc/hale/site.yaml"),
			func(p *playbook) *keys.At[string] { return &p.path }),
		keys.May("args", "Further arguments of ansible-playbook, as `[--tags, web]`.",
			keys.List[string]{Noun: "one argument", Each: keys.Text("an argument", "--diff")},
			func(p *playbook) *keys.At[[]keys.At[string]] { return &p.args }),
	}, loginFields(func(p *playbook) *login { return &p.login })...)}
}

func copyShape() keys.Object[copying] {
	return keys.Object[copying]{Fields: append([]keys.Field[copying]{
		keys.Must("files", "[{from: files/app.conf, to: /etc/app.conf}]", "Which, in their order.",
			keys.List[file]{Noun: "one file", Each: keys.Object[file]{Fields: []keys.Field[file]{
				keys.Must("from", "files/app.conf", "The file on hale's side.",
					keys.Text("a path", "/etc/hale/app.conf"),
					func(f *file) *keys.At[string] { return &f.from }),
				keys.Must("to", "/etc/app.conf", "Where it goes: an absolute path. What is there is replaced at once, "+
					"and its folder has to be there.", keys.Text("a path", "/etc/app.conf"),
					func(f *file) *keys.At[string] { return &f.to }),
				keys.Or("mode", defaultMode, "Its permissions there, as `\"0600\"`.", keys.Text("permissions", "0600"),
					func(f *file) *keys.At[string] { return &f.mode }),
			}}}, func(c *copying) *keys.At[[]keys.At[file]] { return &c.files }),
	}, loginFields(func(c *copying) *login { return &c.login })...)}
}
