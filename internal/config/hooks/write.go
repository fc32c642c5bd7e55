package hooks

import (
	"fmt"
	"strings"

	"hale/internal/core/policy"
	"hale/internal/keys"
)

// Write returns the hooks as the configuration has them, in one line: what follows the key hooks.
func Write(h *policy.Hooks) string {
	var p keys.Pairs
	for _, m := range []struct {
		key   string
		hooks []policy.Hook
	}{{"before_repair", h.Before}, {"leave", h.Leave}, {"after_repair", h.After}} {
		if len(m.hooks) > 0 {
			p.Add(m.key, "%s", WriteList(m.hooks))
		}
	}
	return p.String()
}

// WriteList returns the hooks of one moment, in one line.
func WriteList(all []policy.Hook) string {
	var p keys.Pairs
	for i := range all {
		p.Add(string(all[i].Name), "%s", write(&all[i]))
	}
	return p.String()
}

func write(h *policy.Hook) keys.Pairs {
	var p keys.Pairs
	switch h.Kind {
	case policy.HookCommand:
		p.Add("command", "%s", list(h.Run.Args))
	case policy.HookHTTP:
		p.Add("http", "%s", writeRequest(&h.Request))
	case policy.HookAnsible:
		var book keys.Pairs
		book.Add("playbook", "%s", keys.Quoted(h.Playbook.Path))
		if len(h.Playbook.Args) > 0 {
			book.Add("args", "%s", list(h.Playbook.Args))
		}
		p.Add("ansible", "%s", withLogin(book, &h.Playbook.Login))
	case policy.HookCopy:
		var files []string
		for _, f := range h.Copy.Files {
			files = append(files, fmt.Sprintf(`{from: %s, to: %s, mode: "%04o"}`, keys.Quoted(f.From),
				keys.Quoted(f.To),
				f.Mode))
		}
		var put keys.Pairs
		put.Add("files", "[%s]", strings.Join(files, ", "))
		p.Add("copy", "%s", withLogin(put, &h.Copy.Login))
	case policy.HookWait:
		p.Add("wait", "{deadline: %s}", h.Deadline)
	}
	if len(h.Run.Env) > 0 {
		p.Add("env", "%s", variables(h.Run.Env))
	}
	p.Add("within", "%s", h.Within)
	p.Add("on_failure", "%s", h.OnFailure)
	p.Add("idempotent", "%t", h.Idempotent)
	off := skipWhenOff
	if h.Always {
		off = runWhenOff
	}
	p.Add("when_off", "%s", off)
	return p
}

func writeRequest(r *policy.HookRequest) keys.Pairs {
	var p, headers keys.Pairs
	p.Add("url", "%s", keys.PlainOrSecret(r.URL.Value, r.URL.Secret))
	p.MayText("ca", r.CA)
	for _, h := range r.Headers {
		headers.Add(h.Name, "%s", keys.PlainOrSecret(h.Value, h.Secret))
	}
	p.May("headers", "%s", headers)
	return p
}

func withLogin(p keys.Pairs, l *policy.Login) keys.Pairs {
	p.Add("user", "%s", keys.Quoted(l.User))
	p.Add("key", "%s", keys.Quoted(l.Key))
	p.MayText("known_hosts", l.KnownHosts)
	p.Add("port", "%d", l.Port)
	return p
}

func variables(all []policy.Variable) keys.Pairs {
	var p keys.Pairs
	for _, v := range all {
		p.Add(v.Name, "%s", keys.PlainOrSecret(v.Value, v.Secret))
	}
	return p
}

func list(all []string) string {
	out := make([]string, len(all))
	for i, text := range all {
		out[i] = keys.Quoted(text)
	}
	return "[" + strings.Join(out, ", ") + "]"
}
