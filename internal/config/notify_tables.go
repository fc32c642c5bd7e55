package config

import (
	"time"

	"hale/internal/fleet"
)

// The tables of what tells people. See tables.go.

func targetShape() object[targetDraft] {
	return object[targetDraft]{fields: []field[targetDraft]{
		may("mail", "Send a mail. A target has one of mail, webhook and command.", mailShape(),
			func(t *targetDraft) *at[mailDraft] { return &t.mail }),
		may("webhook", "POST the message as JSON. Any 2xx answer is a success; redirects are not followed; "+
			"Retry-After is heeded.", webhookShape(),
			func(t *targetDraft) *at[webhookDraft] { return &t.webhook }),
		may("command", "Run a program on hale's side, with the message as JSON on its standard input; exit code 0 is "+
			"a success.", commandShape(),
			func(t *targetDraft) *at[commandDraft] { return &t.command }),
		may("events", "What it is told of. `pages`: a person must look. `reminders`: they were told, and it is not "+
			"over (see fleets.FLEET.notify.remind_every). `healed`: what they were told of is over. `none`, with "+
			"alive_every: nothing.",
			listOrNone[fleet.NotifyEvent]{
				list[fleet.NotifyEvent]{noun: "one event", each: choice(nil, fleet.NotifyPage, fleet.NotifyReminder,
					fleet.NotifyHealed)},
				choice(nil, notifyNobody),
			},
			func(t *targetDraft) *at[[]at[fleet.NotifyEvent]] { return &t.events }).said("all three"),
		or("attempts", defaultNotifyAttempts, "How often, and for how long, a message is tried, with growing pauses; "+
			"then it is a dead letter: `hale notify dead`.",
			attempts(), func(t *targetDraft) *at[rate] { return &t.attempts }),
		or("timeout", defaultNotifyTimeout, "When no answer is a failure.",
			duration(100*time.Millisecond, 5*time.Minute),
			func(t *targetDraft) *at[time.Duration] { return &t.timeout }),
		may("alive_every", "Send a sign of life this often while hale acts in every fleet, for a service that raises "+
			"the alarm when signs stay away (a dead man's switch). With `events: none` the target gets nothing else.",
			duration(10*time.Second, 24*time.Hour),
			func(t *targetDraft) *at[time.Duration] { return &t.alive }).said("none is sent"),
	}}
}

func mailShape() object[mailDraft] {
	return object[mailDraft]{fields: []field[mailDraft]{
		must("server", "mail.example.org", "The SMTP server's host name or address.", text("a host name",
			"mail.example.org"),
			func(m *mailDraft) *at[string] { return &m.server }),
		may("port", "Its port.", integer(1, 65535), func(m *mailDraft) *at[int] { return &m.port }).
			said("587 with starttls, 465 with tls, 25 with none"),
		or("tls", defaultMailTLS, "`starttls`: begin in the clear and insist on TLS before anything is said. `tls`: "+
			"TLS from the first byte. `none`: in the clear; then there is no password.",
			choice(nil, MailStartTLS, MailImplicitTLS, MailPlain),
			func(m *mailDraft) *at[MailTLS] { return &m.tls }),
		may("ca", "A PEM file with the authorities to trust, in place of the system's.", text("a path",
			"/etc/ssl/mail-ca.pem"),
			func(m *mailDraft) *at[string] { return &m.ca }),
		must("from", "hale@example.org", "The sender.", text("a mail address", "hale@example.org"),
			func(m *mailDraft) *at[string] { return &m.from }),
		must("to", "[ops@example.org]", "The receivers. A mail that one of them is refused for counts as not sent.",
			list[string]{noun: "one mail address", each: text("a mail address", "ops@example.org")},
			func(m *mailDraft) *at[[]at[string]] { return &m.to }),
		may("user", "Who hale is to the server; needs password.", text("a user name", "hale"),
			func(m *mailDraft) *at[string] { return &m.user }),
		may("password", "The password: `{file: PATH}` or `{env: NAME}`, never the password itself.", secretShape(),
			func(m *mailDraft) *at[secretDraft] { return &m.password }),
	}}
}

func webhookShape() object[webhookDraft] {
	return object[webhookDraft]{fields: []field[webhookDraft]{
		must("url", "https://example.org/hale", "Where to: the address, or, where it is itself a secret, `{file: "+
			"PATH}` or `{env: NAME}`.",
			valueShape("a web address", "https://example.org/hale"),
			func(w *webhookDraft) *at[valueDraft] { return &w.url }),
		may("ca", "A PEM file with the authorities to trust, in place of the system's.", text("a path",
			"/etc/ssl/hook-ca.pem"),
			func(w *webhookDraft) *at[string] { return &w.ca }),
		or("format", defaultWebhookFormat, "`hale`: the message as hale says it. `cloudevents`: the same in a "+
			"CloudEvents 1.0 envelope. `text`: an object with one key, `text`, as chat programs take it.",
			choice(nil, WebhookHale, WebhookCloudEvents, WebhookText),
			func(w *webhookDraft) *at[WebhookFormat] { return &w.format }),
		may("headers", "Further headers, by name: a text, or `{file: PATH}` or `{env: NAME}` for what is secret.",
			mapping[valueDraft]{key: "HEADER", each: valueShape("a header's value", "on-call"), names: headerNames},
			func(w *webhookDraft) *at[[]named[valueDraft]] { return &w.headers }),
	}}
}

func commandShape() object[commandDraft] {
	return object[commandDraft]{fields: commandFields(func(c *commandDraft) *commandDraft { return c })}
}

// commandFields read a program that is part of something.
func commandFields[T any](of func(*T) *commandDraft) []field[T] {
	return []field[T]{
		must("command", "[/usr/local/bin/tell, on-call]", "The program and its arguments, without a shell. Put no "+
			"secrets here: everybody on the server can read them.",
			list[string]{noun: "the program", each: text("a word of the command", "/usr/local/bin/tell")},
			func(t *T) *at[[]at[string]] { return &of(t).command }),
		may("env", "Its environment, beside PATH and HALE_…: a text, or `{file: PATH}` or `{env: NAME}` for what is secret.",
			mapping[valueDraft]{key: "VARIABLE", each: valueShape("a text", "on-call"), names: variableNames},
			func(t *T) *at[[]named[valueDraft]] { return &of(t).env }),
	}
}

// secretShape reads a reference to a secret. A literal is refused, and not repeated.
func secretShape() shape[secretDraft] {
	return onlyReference[secretDraft]{object[secretDraft]{fields: []field[secretDraft]{
		may("file", "The file that holds it and nothing else; relative paths begin at the folder of this file. "+
			"Readable by hale, and not by everybody.",
			text("a path", "/run/secrets/token"), func(s *secretDraft) *at[string] { return &s.file }),
		may("env", "The environment variable of hale that holds it.", text("a variable's name",
			"HALE_TOKEN"), func(s *secretDraft) *at[string] { return &s.env }),
	}}}
}

// onlyReference reads only a mapping, and says nothing of what stands there instead: it may be the secret itself.
type onlyReference[T any] struct{ object[T] }

func (s onlyReference[T]) read(r *reader, n node) (T, bool) {
	if n.form == formMapping {
		return s.object.read(r, n)
	}
	var zero T
	r.add(n.spot, "is "+string(n.form)+"; a secret is not written here", "keep it in a file or in the environment, "+
		"and write {file: /run/secrets/NAME} or {env: NAME}")
	return zero, false
}

func (s onlyReference[T]) schema() *schema {
	one := 1
	o := s.object.schema()
	o.Type, o.MinProperties, o.MaxProperties = "object", &one, &one
	return o
}

// valueShape reads a text, or a reference to a secret.
func valueShape(noun, example string) shorthand[valueDraft, string] {
	return shorthand[valueDraft, string]{
		short: text(noun, example), long: secretValue{secretShape()},
		take: func(plain at[string]) valueDraft { return valueDraft{plain: plain} },
	}
}

// secretValue reads a secret as a value.
type secretValue struct{ of shape[secretDraft] }

func (s secretValue) read(r *reader, n node) (valueDraft, bool) {
	d, ok := s.of.read(r, n)
	return valueDraft{secret: d}, ok
}

func (s secretValue) schema() *schema { return s.of.schema() }

// fleetNotifyShape reads whom a fleet's messages go to.
func fleetNotifyShape() shape[notifyDraft] {
	to := list[string]{noun: "one target", each: name()}
	return recipients{
		list: to,
		long: object[notifyDraft]{fields: []field[notifyDraft]{
			may("to", "The names of targets under notify at the top of the file.", to,
				func(n *notifyDraft) *at[[]at[string]] { return &n.to }).said("all of them"),
			may("remind_every", "How long an incident that a person was told of may stay open before they are told "+
				"again: a duration, or `10 cycles`, where a cycle is the longest `every` of the fleet's checks.",
				reminderShape(), func(n *notifyDraft) *at[reminder] { return &n.remindEvery }).said(
				"they are told once"),
		}},
		word: choice(nil, notifyNobody),
	}
}

// notifyWord is what may stand in place of a fleet's targets.
type notifyWord string

const notifyNobody notifyWord = "none"

// recipients is a list of targets, a mapping, or the word none.
type recipients struct {
	list list[string]
	long object[notifyDraft]
	word scalar[notifyWord]
}

func (s recipients) read(r *reader, n node) (notifyDraft, bool) {
	switch n.form {
	case formList:
		to, ok := s.list.read(r, n)
		return notifyDraft{to: at[[]at[string]]{spot: n.spot, value: to, how: given}}, ok
	case formMapping:
		return s.long.read(r, n)
	case formText:
		if n.text == string(notifyNobody) {
			return notifyDraft{none: true}, true
		}
	default:
	}
	r.add(n.spot, "is "+string(n.form)+"; a list of targets is wanted", "write for example [ops], or none")
	return notifyDraft{}, false
}

func (s recipients) schema() *schema {
	return &schema{AnyOf: []*schema{s.list.schema(), s.long.schema(), s.word.schema()}}
}
