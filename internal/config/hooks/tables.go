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
			"Before a machine that serves is rebooted, stopped, replaced or removed: by a repair, an update, a "+
				"person's order or a size. It has left its balancers by then. After these hooks hale looks at a "+
				"failing machine once more. A spare serves no one, and they are skipped.", each,
			func(d *Draft) *keys.At[[]keys.Named[Hook]] { return &d.leave }),
		keys.May("after_repair", "After a repaired machine is healthy again, before it serves.", each,
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
			"How long the hook may take. Then hale kills it, and it has failed. Of `wait`: how long hale waits "+
				"for the next word.", keys.Duration(time.Second, 24*time.Hour),
			func(h *Hook) *keys.At[time.Duration] { return &h.within }),
		keys.Or("on_failure", onFailure, "What hale does when the hook fails, or is not done in time. `go-on`: it "+
			"records that, and goes on. `page`: it pages a person, too. `stop`: it ends a repair, and puts the "+
			"machine into quarantine; it gives up an update or a removal; it provisions a new instance again, "+
			"or replaces it.",
			keys.Choice(nil, policy.HookGoOn, policy.HookPage, policy.HookStop),
			func(h *Hook) *keys.At[policy.HookFailure] { return &h.onFailure }),
		keys.May("idempotent",
			"Whether the hook may be run twice. If hale dies while it runs, hale runs an idempotent hook again, "+
				"and counts any other one as failed.", keys.Boolean(),
			func(h *Hook) *keys.At[bool] { return &h.idempotent }).Said("true of ansible and copy, else false"),
		keys.May("when_off", "Whether the hook is run when the machine is off, or its host is dead: `run` or `skip`.",
			keys.Choice(nil, runWhenOff, skipWhenOff), func(h *Hook) *keys.At[whenOff] { return &h.whenOff }).
			Said("run of command and http, else skip"),
	)}
}

// ways are how a hook can be done.
func ways() []keys.Field[Hook] {
	return []keys.Field[Hook]{
		keys.May("command", "Run a program on hale's server: the program and its arguments, without a shell. "+
			kinds.PlaceholdersSaid+"The hook is done when the program ends with exit code 0. Put no secrets here: "+
			"everybody on the server can read them.",
			keys.List[string]{Noun: "the program", Each: keys.Text("a word of the command", "/usr/local/bin/drain")},
			func(h *Hook) *keys.At[[]keys.At[string]] { return &h.command }),
		keys.May("env", "Of command and ansible. "+kinds.EnvSaid, keys.Mapping[keys.TextDraft]{
			Key: "VARIABLE", Names: keys.VariableNames, Each: keys.TextOrSecret("the variable's value", "production"),
		}, func(h *Hook) *keys.At[[]keys.Named[keys.TextDraft]] { return &h.env }),
		keys.May("http",
			"Send a POST with JSON that names the machine, its fleet, instance, host and address, the hook, the "+
				"repair and its step. The hook is done when the answer is 2xx. After 429 and 503 hale tries again, as "+
				"long as there is time. It follows no redirects.", requestShape(),
			func(h *Hook) *keys.At[request] { return &h.http }),
		keys.May("ansible",
			"Run a playbook with ansible-playbook on hale's server, on this one machine. The inventory has it "+
				"alone, also in a group that is named after the fleet, with the variables `hale_fleet`, "+
				"`hale_number`, `hale_instance` and `hale_host`. When no play is about the machine, the hook has "+
				"failed. hale waits until SSH answers first.", playbookShape(),
			func(h *Hook) *keys.At[playbook] { return &h.ansible }),
		keys.May("copy", "Copy files to the machine over SSH. hale waits until SSH answers first.", copyShape(),
			func(h *Hook) *keys.At[copying] { return &h.copy }),
		keys.May("wait", "Wait for a word of a person or a program: `hale hook done MACHINE` lets hale go on, "+
			"`hale hook more MACHINE` gives the hook `within` once more, `hale hook fail MACHINE` says that it failed.",
			keys.Object[waiting]{Fields: []keys.Field[waiting]{
				keys.Or("deadline", defaultDeadline,
					"The longest that hale waits, however often it hears `more`. It is not less "+
						"than `within`.", keys.Duration(time.Second, 7*24*time.Hour),
					func(w *waiting) *keys.At[time.Duration] { return &w.deadline }),
			}}, func(h *Hook) *keys.At[waiting] { return &h.wait }),
	}
}

func requestShape() keys.Object[request] {
	return keys.Object[request]{Fields: []keys.Field[request]{
		keys.Must("url", "https://deploy.example.org/hale", "The address, or, where it is itself a secret, "+
			"`{file: PATH}` or `{env: NAME}`.", keys.TextOrSecret("a web address", "https://deploy.example.org/hale"),
			func(r *request) *keys.At[keys.TextDraft] { return &r.url }),
		keys.May("ca", "A PEM file with the authorities to trust instead of the system's.",
			keys.Text("a path", "/etc/ssl/deploy-ca.pem"), func(r *request) *keys.At[string] { return &r.ca }),
		keys.May("headers",
			"Further headers, by name: a text, or `{file: PATH}` or `{env: NAME}` for a secret, such as a "+
				"token.", keys.Mapping[keys.TextDraft]{Key: "HEADER", Names: keys.HeaderNames,
				Each: keys.TextOrSecret("a header's value", "web")},
			func(r *request) *keys.At[[]keys.Named[keys.TextDraft]] { return &r.headers }),
	}}
}

// loginFields are the keys of how hale gets into a machine.
func loginFields[T any](of func(*T) *login) []keys.Field[T] {
	return keys.Within([]keys.Field[login]{
		keys.Or("user", defaultUser, "The user who logs in on the machine.", keys.Text("a user's name", "root"),
			func(l *login) *keys.At[string] { return &l.user }),
		keys.Must("key", "/etc/hale/id_ed25519", "The file of a private SSH key without a passphrase, which hale's "+
			"user alone can read.",
			keys.Text("a path", "/etc/hale/id_ed25519"), func(l *login) *keys.At[string] { return &l.key }),
		keys.May("known_hosts",
			"A file with the SSH keys of the machines, as known_hosts(5) describes. Without it hale accepts any "+
				"key at the machine's address, since that of a new machine is not known beforehand.",
			keys.Text("a path", "/etc/hale/known_hosts"), func(l *login) *keys.At[string] { return &l.knownHosts }),
		keys.Or("port", defaultPort, "The port of SSH on the machine.", keys.Integer(1, 65535),
			func(l *login) *keys.At[int] { return &l.port }),
	}, of)
}

func playbookShape() keys.Object[playbook] {
	return keys.Object[playbook]{Fields: append([]keys.Field[playbook]{
		keys.Must("playbook", "site.yaml", "The file of the playbook.", keys.Text("a path", "/etc/hale/site.yaml"),
			func(p *playbook) *keys.At[string] { return &p.path }),
		keys.May("args", "Further arguments for ansible-playbook, as `[--tags, web]`.",
			keys.List[string]{Noun: "one argument", Each: keys.Text("an argument", "--diff")},
			func(p *playbook) *keys.At[[]keys.At[string]] { return &p.args }),
	}, loginFields(func(p *playbook) *login { return &p.login })...)}
}

func copyShape() keys.Object[copying] {
	return keys.Object[copying]{Fields: append([]keys.Field[copying]{
		keys.Must("files", "[{from: files/app.conf, to: /etc/app.conf}]", "The files, in the order in which "+
			"they are copied.",
			keys.List[file]{Noun: "one file", Each: keys.Object[file]{Fields: []keys.Field[file]{
				keys.Must("from", "files/app.conf", "The file on hale's server.",
					keys.Text("a path", "/etc/hale/app.conf"),
					func(f *file) *keys.At[string] { return &f.from }),
				keys.Must("to", "/etc/app.conf", "Where it goes on the machine: an absolute path. A file there is "+
					"replaced at once; the folder must be there.", keys.Text("a path", "/etc/app.conf"),
					func(f *file) *keys.At[string] { return &f.to }),
				keys.Or("mode", defaultMode, "The permissions of the file there, as `\"0600\"`.",
					keys.Text("permissions", "0600"),
					func(f *file) *keys.At[string] { return &f.mode }),
			}}}, func(c *copying) *keys.At[[]keys.At[file]] { return &c.files }),
	}, loginFields(func(c *copying) *login { return &c.login })...)}
}
