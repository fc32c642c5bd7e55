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
	"hale/internal/secret"
)

// compileTargets judges the entries of notify.
func compileTargets(drafts []named[targetDraft], f *finder) []Target {
	var out []Target
	for _, n := range drafts {
		d := n.value
		t := Target{Name: fleet.TargetName(n.name), Timeout: d.timeout.value, AliveEvery: d.alive.value}
		var kinds []string
		if d.mail.written() {
			kinds, t.Mail = append(kinds, "mail"), compileMail(d.mail, f)
		}
		if d.webhook.written() {
			kinds, t.Webhook = append(kinds, "webhook"), compileWebhook(d.webhook, f)
		}
		if d.command.written() {
			kinds, t.Command = append(kinds, "command"), compileCommand(d.command, f)
		}
		switch {
		case len(kinds) == 0 && n.ok:
			f.add(n.spot, "does not say how to tell",
				"add one of mail: {…}, webhook: {url: …} and command: {command: […]}")
		case len(kinds) > 1:
			f.add(n.spot, fmt.Sprintf("is both %s and %s", kinds[0], kinds[1]), "make it two targets")
		case d.deaf() && !d.alive.written():
			f.add(d.events.spot, "is none: the target is told nothing",
				"name events, take the line out, or add alive_every: 1m")
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Target) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func compileMail(v at[mailDraft], f *finder) *Mail {
	d := v.value
	m := &Mail{Server: d.server.value, Port: d.port.value, TLS: d.tls.value, CA: resolve(d.ca), User: d.user.value}
	if !d.port.written() {
		m.Port = map[MailTLS]int{MailStartTLS: 587, MailImplicitTLS: 465, MailPlain: 25}[m.TLS]
	}
	if s := d.server; s.known() && strings.ContainsAny(s.value, "/ @\t\r\n") {
		f.add(s.spot, fmt.Sprintf("%q is not a host name", s.value), "write for example mail.example.org")
	}
	m.From = mailAddress(d.from, f)
	for _, to := range d.to.value {
		m.To = append(m.To, mailAddress(to, f))
	}
	m.Password = f.secret(d.password)
	switch {
	case d.user.written() && !d.password.written():
		f.add(d.user.spot, "comes without a password", "add password: {file: PATH}, or take user out")
	case d.password.written() && !d.user.written():
		f.add(d.password.spot, "comes without a user", "add user: NAME, or take password out")
	case d.password.written() && d.tls.known() && m.TLS == MailPlain:
		f.add(d.password.spot, "would be sent in the clear", "choose tls: starttls or tls: tls")
	case d.ca.written() && d.tls.known() && m.TLS == MailPlain:
		f.add(d.ca.spot, "has nothing to check without TLS", "choose tls: starttls or tls: tls, or take ca out")
	}
	return m
}

func mailAddress(v at[string], f *finder) string {
	if !v.known() {
		return ""
	}
	a, err := mail.ParseAddress(v.value)
	if err != nil {
		f.add(v.spot, fmt.Sprintf("%q is not a mail address", v.value), "write for example ops@example.org")
		return ""
	}
	return a.String()
}

func compileWebhook(v at[webhookDraft], f *finder) *Webhook {
	d := v.value
	w := &Webhook{CA: resolve(d.ca), Format: d.format.value, URL: f.value(d.url.value)}
	if plain := d.url.value.plain; plain.known() && plain.value != "" {
		if bad := hookFlaw(plain.value); bad != nil {
			f.add(plain.spot, bad.message, bad.hint)
		}
	}
	for _, h := range d.headers.value {
		value := h.value.plain
		switch {
		case hushed(h.name) && value.written():
			f.add(h.spot, "is a secret by its name, and is written here",
				"keep it in a file or in the environment, and write {file: PATH} or {env: NAME}")
		case strings.ContainsAny(value.value, "\r\n"):
			f.add(h.spot, "has more than one line", "write it on one")
		case slices.Contains([]string{"Content-Type", "Content-Length", "Host", "Idempotency-Key"},
			http.CanonicalHeaderKey(h.name)):
			f.add(h.spot, "is set by hale", "take it out")
		}
		w.Headers = append(w.Headers, NamedValue{http.CanonicalHeaderKey(h.name), f.value(h.value)})
	}
	slices.SortFunc(w.Headers, func(a, b NamedValue) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(w.Headers); i++ {
		if w.Headers[i].Name == w.Headers[i-1].Name {
			f.add(d.headers.spot, w.Headers[i].Name+" is there twice", "keep one of the two")
		}
	}
	return w
}

// hookFlaw judges a web address. What was written is not repeated, since a token might be in it.
func hookFlaw(text string) *flaw {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return flawf("write for example https://example.org/hale", "is not a web address")
	case u.User != nil:
		return flawf("take them out; use headers: {Authorization: {file: PATH}}, or url: {file: PATH}",
			"holds a user name or a password")
	case u.Fragment != "":
		return flawf("take it out", "holds a fragment, which nobody is sent")
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

func compileCommand(v at[commandDraft], f *finder) *Command {
	c := &Command{}
	for _, word := range v.value.command.value {
		c.Command = append(c.Command, word.value)
	}
	if words := v.value.command.value; len(words) > 0 && words[0].known() && words[0].value != "" &&
		!filepath.IsAbs(words[0].value) {
		if strings.ContainsRune(words[0].value, filepath.Separator) {
			c.Command[0] = resolve(words[0])
		} else if found, err := exec.LookPath(words[0].value); err == nil {
			c.Command[0] = found
		}
	}
	for _, e := range v.value.env.value {
		if strings.HasPrefix(e.name, "HALE_") {
			f.add(e.spot, "HALE_… is what hale itself says to the program", "choose another name")
		}
		c.Env = append(c.Env, NamedValue{e.name, f.value(e.value)})
	}
	slices.SortFunc(c.Env, func(a, b NamedValue) int { return cmp.Compare(a.Name, b.Name) })
	return c
}

func (f *finder) value(d valueDraft) Value {
	if d.plain.how != absent {
		return Value{Plain: d.plain.value}
	}
	return Value{Secret: f.secret(at[secretDraft]{value: d.secret, how: given, spot: d.secret.file.spot})}
}

// secret judges a reference. Nothing that was written in it is repeated.
func (f *finder) secret(v at[secretDraft]) secret.Secret {
	if v.how != given {
		return secret.Secret{}
	}
	file, env := v.value.file, v.value.env
	var s secret.Secret
	var err error
	switch {
	case file.written() && env.written():
		f.add(env.spot, "comes besides file", "write either file or env")
	case file.given():
		s, err = secret.File(resolve(file))
	case env.given():
		s, err = secret.Env(env.value)
	case !file.written() && !env.written():
		f.add(file.spot, "is missing", "write {file: PATH} or {env: NAME}")
	}
	if err != nil {
		where := env.spot
		if file.given() {
			where = file.spot
		}
		f.add(where, err.Error(), "write {file: /run/secrets/NAME} or {env: NAME}")
	}
	return s
}

// recipients says who is told of a fleet: those that it names, or all targets.
func (c *fleetCompiler) notify() fleet.Notify {
	d := c.draft.notify
	out := fleet.Notify{RemindEvery: c.remindEvery()}
	if d.value.none {
		return out
	}
	names := slices.Sorted(maps.Keys(c.targets))
	if d.value.to.written() {
		names = nil
		for _, to := range d.value.to.value {
			switch target, known := c.targets[to.value]; {
			case !to.known():
			case known && target.deaf():
				c.add(to.spot, to.value+" is sent signs of life only",
					"take it out, or name events in notify."+to.value)
			case slices.Contains(names, to.value):
				c.add(to.spot, to.value+" is named twice", "name each target once")
			case known:
				names = append(names, to.value)
			default:
				hint := didYouMean(to.value, slices.Collect(maps.Keys(c.targets)))
				if hint == "" {
					hint = "add it under notify at the top of the file"
				}
				c.add(to.spot, "there is no target "+to.value, hint)
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
func (d targetDraft) deaf() bool { return d.events.written() && len(d.events.value) == 0 }

func recipient(name string, t targetDraft) fleet.Recipient {
	r := fleet.Recipient{Target: fleet.TargetName(name), Attempts: t.attempts.value.times,
		AttemptsIn: t.attempts.value.within}
	for _, e := range t.events.value {
		if !slices.Contains(r.Events, e.value) {
			r.Events = append(r.Events, e.value)
		}
	}
	if len(r.Events) == 0 && !t.deaf() {
		r.Events = []fleet.NotifyEvent{fleet.NotifyPage, fleet.NotifyReminder, fleet.NotifyHealed}
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
var defaultNotifyAttempts = rate{times: 100, within: 24 * time.Hour}
