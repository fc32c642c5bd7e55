package hooks

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// Compiler judges the hooks of one fleet.
type Compiler struct {
	*keys.Finder
	// Placeholders reports what a text has in braces that nothing replaces.
	Placeholders func(keys.Spot, string)
}

// Hooks judges a fleet's hooks.
func (c Compiler) Hooks(d Draft) policy.Hooks {
	return policy.Hooks{Before: c.List(d.before), Leave: c.List(d.leave), After: c.List(d.after)}
}

// List judges the hooks of one moment. They are run in the order in which they are written.
func (c Compiler) List(d keys.At[[]keys.Named[Hook]]) []policy.Hook {
	var out []policy.Hook
	for _, n := range d.Value {
		if n.OK {
			out = append(out, c.hook(n))
		}
	}
	return out
}

func (c Compiler) hook(n keys.Named[Hook]) policy.Hook {
	d := n.Value
	out := policy.Hook{Name: fleet.HookName(n.Name), Within: d.within.Value, OnFailure: d.onFailure.Value}
	out.Kind = c.kind(n)
	out.Run.Args, out.Run.Env = kinds.Command(c.Finder, keys.ProgramDraft{Command: d.command, Env: d.env},
		c.Placeholders)
	if d.env.Written() && out.Kind != policy.HookCommand && out.Kind != policy.HookAnsible {
		c.Add(d.env.Spot, "is for a program, and there is none", "take it out")
	}
	switch out.Kind {
	case policy.HookHTTP:
		out.Request = c.request(d.http.Value)
	case policy.HookAnsible:
		p := d.ansible.Value
		out.Playbook = policy.Playbook{Path: keys.Path(p.path), Args: keys.Values(p.args), Login: loginOf(p.login)}
	case policy.HookCopy:
		out.Copy = policy.Copying{Files: c.files(d.copy.Value.files), Login: loginOf(d.copy.Value.login)}
	case policy.HookWait:
		out.Deadline = max(d.wait.Value.deadline.Value, out.Within)
		if d.wait.Value.deadline.Given() && d.wait.Value.deadline.Value < out.Within {
			c.Add(d.wait.Value.deadline.Spot, "is less than within, "+keys.FormatDuration(out.Within),
				"raise it, or lower within")
		}
	case policy.HookCommand:
	}
	tame := out.Kind == policy.HookAnsible || out.Kind == policy.HookCopy
	if out.Idempotent = tame; d.idempotent.Given() {
		out.Idempotent = d.idempotent.Value
	}
	if out.Always = out.Kind == policy.HookCommand || out.Kind == policy.HookHTTP; d.whenOff.Given() {
		out.Always = d.whenOff.Value == runWhenOff
		if out.Always && tame {
			c.Add(d.whenOff.Spot, "nothing can be done on a machine that is off", "take it out")
		}
	}
	return out
}

// kind returns how the hook is done: in one way.
func (c Compiler) kind(n keys.Named[Hook]) policy.HookKind {
	d, said := n.Value, []policy.HookKind{}
	for _, k := range []struct {
		kind    policy.HookKind
		written bool
	}{
		{policy.HookCommand, d.command.Written()}, {policy.HookHTTP, d.http.Written()},
		{policy.HookAnsible, d.ansible.Written()}, {policy.HookCopy, d.copy.Written()},
		{policy.HookWait, d.wait.Written()},
	} {
		if k.written {
			said = append(said, k.kind)
		}
	}
	switch len(said) {
	case 0:
		c.Add(n.Spot, "does not say what is done", "add one of command, http, ansible, copy and wait")
	case 1:
	default:
		c.Add(n.Spot, "is both "+string(said[0])+" and "+string(said[1]), "make it two hooks")
	}
	return cmp.Or(said...)
}

func (c Compiler) request(d request) policy.HookRequest {
	out := policy.HookRequest{CA: keys.Path(d.ca)}
	if d.url.Given() { // else that it is missing is said already
		out.URL.Value, out.URL.Secret = c.TextPlace(keys.Named[keys.TextDraft]{Spot: d.url.Spot, Name: "url",
			Value: d.url.Value, OK: true})
	}
	if plain := d.url.Value.Plain; plain.Known() && plain.Value != "" {
		if bad := keys.WebAddressFlaw(plain.Value, "https://deploy.example.org/hale",
			"headers: {Authorization: {file: PATH}}"); bad != nil {
			c.Add(d.url.Spot, bad.Message, bad.Hint)
		}
	}
	out.Headers = kinds.Headers(c.Finder, d.headers.Value, map[string]string{
		"Content-Type": "it is application/json", "Content-Length": "hale sets it",
		"Host": "it is that of the address"})
	return out
}

func loginOf(d login) policy.Login {
	return policy.Login{User: d.user.Value, Key: keys.Path(d.key), Port: d.port.Value,
		KnownHosts: keys.Path(d.knownHosts)}
}

func (c Compiler) files(d keys.At[[]keys.At[file]]) []policy.File {
	var out []policy.File
	for _, f := range d.Value {
		to, mode := f.Value.to, f.Value.mode
		if to.Known() && (!path.IsAbs(to.Value) || path.Clean(to.Value) != to.Value) {
			c.Add(to.Spot, strconv.Quote(to.Value)+" is no absolute path",
				"write it from the root on, as /etc/app.conf")
		}
		bits, err := strconv.ParseUint(strings.TrimPrefix(mode.Value, "0o"), 8, 32)
		if mode.Known() && (err != nil || bits > 0o7777) {
			c.Add(mode.Spot, strconv.Quote(mode.Value)+" are no permissions", `write them as "0644"`)
		}
		out = append(out, policy.File{From: keys.Path(f.Value.from), To: to.Value, Mode: uint32(bits)})
	}
	return out
}
