package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/mail"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hale/internal/fleet"
	"hale/internal/keys"
	"hale/internal/secret"
)

// compileTargets judges the entries of notify.
func compileTargets(drafts []keys.Named[targetDraft], f *keys.Finder) []Target {
	var out []Target
	for _, n := range drafts {
		d := n.Value
		t := Target{Name: fleet.TargetName(n.Name), Timeout: d.timeout.Value, AliveEvery: d.alive.Value}
		var kinds []string
		if d.mail.Written() {
			kinds, t.Mail = append(kinds, "mail"), compileMail(d.mail, f)
		}
		if d.webhook.Written() {
			kinds, t.Webhook = append(kinds, "webhook"), compileWebhook(d.webhook, f)
		}
		if d.command.Written() {
			kinds, t.Command = append(kinds, "command"), compileCommand(d.command, f)
		}
		switch {
		case len(kinds) == 0 && n.OK:
			f.Add(n.Spot, "does not say how to tell",
				"add one of mail: {…}, webhook: {url: …} and command: {command: […]}")
		case len(kinds) > 1:
			f.Add(n.Spot, fmt.Sprintf("is both %s and %s", kinds[0], kinds[1]), "make it two targets")
		case d.deaf() && !d.alive.Written():
			f.Add(d.events.Spot, "is none: the target is told nothing",
				"name events, take the line out, or add alive_every: 1m")
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Target) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func compileMail(v keys.At[mailDraft], f *keys.Finder) *Mail {
	d := v.Value
	m := &Mail{Server: d.server.Value, Port: d.port.Value, TLS: d.tls.Value, CA: resolve(d.ca), User: d.user.Value}
	if !d.port.Written() {
		m.Port = map[MailTLS]int{MailStartTLS: 587, MailImplicitTLS: 465, MailPlain: 25}[m.TLS]
	}
	if s := d.server; s.Known() && strings.ContainsAny(s.Value, "/ @\t\r\n") {
		f.Add(s.Spot, fmt.Sprintf("%q is not a host name", s.Value), "write for example mail.example.org")
	}
	m.From = mailAddress(d.from, f)
	for _, to := range d.to.Value {
		m.To = append(m.To, mailAddress(to, f))
	}
	m.Password = secretAt(f, d.password)
	switch {
	case d.user.Written() && !d.password.Written():
		f.Add(d.user.Spot, "comes without a password", "add password: {file: PATH}, or take user out")
	case d.password.Written() && !d.user.Written():
		f.Add(d.password.Spot, "comes without a user", "add user: NAME, or take password out")
	case d.password.Written() && d.tls.Known() && m.TLS == MailPlain:
		f.Add(d.password.Spot, "would be sent in the clear", "choose tls: starttls or tls: tls")
	case d.ca.Written() && d.tls.Known() && m.TLS == MailPlain:
		f.Add(d.ca.Spot, "has nothing to check without TLS", "choose tls: starttls or tls: tls, or take ca out")
	}
	return m
}

func mailAddress(v keys.At[string], f *keys.Finder) string {
	if !v.Known() {
		return ""
	}
	a, err := mail.ParseAddress(v.Value)
	if err != nil {
		f.Add(v.Spot, fmt.Sprintf("%q is not a mail address", v.Value), "write for example ops@example.org")
		return ""
	}
	return a.String()
}

func compileWebhook(v keys.At[webhookDraft], f *keys.Finder) *Webhook {
	d := v.Value
	w := &Webhook{CA: resolve(d.ca), Format: d.format.Value, URL: valueAt(f, d.url.Value)}
	if plain := d.url.Value.plain; plain.Known() && plain.Value != "" {
		if bad := hookFlaw(plain.Value); bad != nil {
			f.Add(plain.Spot, bad.Message, bad.Hint)
		}
	}
	for _, h := range d.headers.Value {
		value := h.Value.plain
		switch {
		case hushed(h.Name) && value.Written():
			f.Add(h.Spot, "is a secret by its name, and is written here",
				"keep it in a file or in the environment, and write {file: PATH} or {env: NAME}")
		case strings.ContainsAny(value.Value, "\r\n"):
			f.Add(h.Spot, "has more than one line", "write it on one")
		case slices.Contains([]string{"Content-Type", "Content-Length", "Host", "Idempotency-Key"},
			http.CanonicalHeaderKey(h.Name)):
			f.Add(h.Spot, "is set by hale", "take it out")
		}
		w.Headers = append(w.Headers, NamedValue{http.CanonicalHeaderKey(h.Name), valueAt(f, h.Value)})
	}
	slices.SortFunc(w.Headers, func(a, b NamedValue) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(w.Headers); i++ {
		if w.Headers[i].Name == w.Headers[i-1].Name {
			f.Add(d.headers.Spot, w.Headers[i].Name+" is there twice", "keep one of the two")
		}
	}
	return w
}

// hookFlaw judges a web address. What was written is not repeated, since a token might be in it.
func hookFlaw(text string) *keys.Flaw {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return keys.Flawf("write for example https://example.org/hale", "is not a web address")
	case u.User != nil:
		return keys.Flawf("take them out; use headers: {Authorization: {file: PATH}}, or url: {file: PATH}",
			"holds a user name or a password")
	case u.Fragment != "":
		return keys.Flawf("take it out", "holds a fragment, which nobody is sent")
	}
	return nil
}

// hushed reports whether a header's name says that its value is secret.
func hushed(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"authorization", "cookie", "token", "secret", "password",
		"api-key", "apikey", "signature"},
		func(part string) bool { return strings.Contains(name, part) })
}

func compileCommand(v keys.At[commandDraft], f *keys.Finder) *Command {
	c := &Command{}
	for _, word := range v.Value.command.Value {
		c.Command = append(c.Command, word.Value)
	}
	if words := v.Value.command.Value; len(words) > 0 && words[0].Known() && words[0].Value != "" &&
		!filepath.IsAbs(words[0].Value) {
		if strings.ContainsRune(words[0].Value, filepath.Separator) {
			c.Command[0] = resolve(words[0])
		} else if found, err := exec.LookPath(words[0].Value); err == nil {
			c.Command[0] = found
		}
	}
	for _, e := range v.Value.env.Value {
		if strings.HasPrefix(e.Name, "HALE_") {
			f.Add(e.Spot, "HALE_… is what hale itself says to the program", "choose another name")
		}
		c.Env = append(c.Env, NamedValue{e.Name, valueAt(f, e.Value)})
	}
	slices.SortFunc(c.Env, func(a, b NamedValue) int { return cmp.Compare(a.Name, b.Name) })
	return c
}

func valueAt(f *keys.Finder, d valueDraft) Value {
	if d.plain.How != keys.Absent {
		return Value{Plain: d.plain.Value}
	}
	return Value{Secret: secretAt(f, keys.At[secretDraft]{Value: d.secret, How: keys.Given, Spot: d.secret.file.Spot})}
}

// secretAt judges a reference. Nothing that was written in it is repeated.
func secretAt(f *keys.Finder, v keys.At[secretDraft]) secret.Secret {
	if v.How != keys.Given {
		return secret.Secret{}
	}
	file, env := v.Value.file, v.Value.env
	var s secret.Secret
	var err error
	switch {
	case file.Written() && env.Written():
		f.Add(env.Spot, "comes besides file", "write either file or env")
	case file.Given():
		s, err = secret.File(resolve(file))
	case env.Given():
		s, err = secret.Env(env.Value)
	case !file.Written() && !env.Written():
		f.Add(file.Spot, "is missing", "write {file: PATH} or {env: NAME}")
	}
	if err != nil {
		where := env.Spot
		if file.Given() {
			where = file.Spot
		}
		f.Add(where, err.Error(), "write {file: /run/secrets/NAME} or {env: NAME}")
	}
	return s
}

// recipients says who is told of a fleet: those that it names, or all targets.
func (c *fleetCompiler) notify() fleet.Notify {
	d := c.draft.notify
	out := fleet.Notify{RemindEvery: c.remindEvery()}
	if d.Value.none {
		return out
	}
	names := slices.Sorted(maps.Keys(c.targets))
	if d.Value.to.Written() {
		names = nil
		for _, to := range d.Value.to.Value {
			switch target, known := c.targets[to.Value]; {
			case !to.Known():
			case known && target.deaf():
				c.Add(to.Spot, to.Value+" is sent signs of life only",
					"take it out, or name events in notify."+to.Value)
			case slices.Contains(names, to.Value):
				c.Add(to.Spot, to.Value+" is named twice", "name each target once")
			case known:
				names = append(names, to.Value)
			default:
				hint := keys.DidYouMean(to.Value, slices.Collect(maps.Keys(c.targets)))
				if hint == "" {
					hint = "add it under notify at the top of the file"
				}
				c.Add(to.Spot, "there is no target "+to.Value, hint)
			}
		}
		slices.Sort(names)
	}
	for _, name := range names {
		if r := recipient(name, c.targets[name]); len(r.Events) > 0 {
			out.To = append(out.To, r)
		}
	}
	return out
}

// deaf reports whether the target is told of no event.
func (d targetDraft) deaf() bool { return d.events.Written() && len(d.events.Value) == 0 }

func recipient(name string, t targetDraft) fleet.Recipient {
	r := fleet.Recipient{Target: fleet.TargetName(name), Attempts: t.attempts.Value.Times,
		AttemptsIn: t.attempts.Value.Within}
	for _, e := range t.events.Value {
		if !slices.Contains(r.Events, e.Value) {
			r.Events = append(r.Events, e.Value)
		}
	}
	if len(r.Events) == 0 && !t.deaf() {
		r.Events = []fleet.NotifyEvent{fleet.NotifyPage, fleet.NotifyReminder, fleet.NotifyHealed,
			fleet.NotifyWarning}
	}
	slices.Sort(r.Events)
	return r
}

// The defaults of what tells people.
const (
	defaultNotifyTimeout = 10 * time.Second
	defaultMailTLS       = MailStartTLS
	defaultWebhookFormat = WebhookHale
)

// defaultNotifyAttempts is more than a night, and the longest pause is a quarter of an hour.
var defaultNotifyAttempts = keys.Rate{Times: 100, Within: 24 * time.Hour}
