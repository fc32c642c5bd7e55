package config

import (
	"time"

	"hale/internal/fleet"
	"hale/internal/keys"
)

// The tables of what tells people. See tables.go.

func targetShape() keys.Object[targetDraft] {
	return keys.Object[targetDraft]{Fields: []keys.Field[targetDraft]{
		keys.May("mail", "Send a mail. A target has one of mail, webhook and command.", mailShape(),
			func(t *targetDraft) *keys.At[mailDraft] { return &t.mail }),
		keys.May("webhook", "POST the message as JSON. Any 2xx answer is a success; redirects are not followed; "+
			"Retry-After is heeded.", webhookShape(),
			func(t *targetDraft) *keys.At[webhookDraft] { return &t.webhook }),
		keys.May("command", "Run a program on hale's side, with the message as JSON on its standard input; exit code "+
			"0 is a success.", commandShape(),
			func(t *targetDraft) *keys.At[commandDraft] { return &t.command }),
		keys.May("events", "What it is told of. `pages`: a person must look. `reminders`: they were told, and it is "+
			"not over (see fleets.FLEET.notify.remind_every). `healed`: what they were told of is over. `warnings`: a "+
			"check with `then: tell` is down, and later, that it is not any more. `none`, with alive_every: nothing.",
			listOrNone[fleet.NotifyEvent]{
				keys.List[fleet.NotifyEvent]{Noun: "one event", Each: keys.Choice(nil, fleet.NotifyPage,
					fleet.NotifyReminder,
					fleet.NotifyHealed, fleet.NotifyWarning)},
				keys.Choice(nil, notifyNobody),
			},
			func(t *targetDraft) *keys.At[[]keys.At[fleet.NotifyEvent]] { return &t.events }).Said("all of them"),
		keys.Or("attempts", defaultNotifyAttempts, "How often, and for how long, a message is tried, with growing "+
			"pauses; then it is a dead letter: `hale notify dead`.",
			keys.Attempts(), func(t *targetDraft) *keys.At[keys.Rate] { return &t.attempts }),
		keys.Or("timeout", defaultNotifyTimeout, "When no answer is a failure.",
			keys.Duration(100*time.Millisecond, 5*time.Minute),
			func(t *targetDraft) *keys.At[time.Duration] { return &t.timeout }),
		keys.May("alive_every", "Send a sign of life this often while hale acts in every fleet, for a service that "+
			"raises the alarm when signs stay away (a dead man's switch). With `events: none` the target gets "+
			"nothing else.",
			keys.Duration(10*time.Second, 24*time.Hour),
			func(t *targetDraft) *keys.At[time.Duration] { return &t.alive }).Said("none is sent"),
	}}
}

func mailShape() keys.Object[mailDraft] {
	return keys.Object[mailDraft]{Fields: []keys.Field[mailDraft]{
		keys.Must("server", "mail.example.org", "The SMTP server's host name or address.", keys.Text("a host name",
			"mail.example.org"),
			func(m *mailDraft) *keys.At[string] { return &m.server }),
		keys.May("port", "Its port.", keys.Integer(1, 65535), func(m *mailDraft) *keys.At[int] { return &m.port }).
			Said("587 with starttls, 465 with tls, 25 with none"),
		keys.Or("tls", defaultMailTLS, "`starttls`: begin in the clear and insist on TLS before anything is said. "+
			"`tls`: TLS from the first byte. `none`: in the clear; then there is no password.",
			keys.Choice(nil, MailStartTLS, MailImplicitTLS, MailPlain),
			func(m *mailDraft) *keys.At[MailTLS] { return &m.tls }),
		keys.May("ca", "A PEM file with the authorities to trust, in place of the system's.", keys.Text("a path",
			"/etc/ssl/mail-ca.pem"),
			func(m *mailDraft) *keys.At[string] { return &m.ca }),
		keys.Must("from", "hale@example.org", "The sender.", keys.Text("a mail address", "hale@example.org"),
			func(m *mailDraft) *keys.At[string] { return &m.from }),
		keys.Must("to", "[ops@example.org]",
			"The receivers. A mail that one of them is refused for counts as not sent.",
			keys.List[string]{Noun: "one mail address", Each: keys.Text("a mail address", "ops@example.org")},
			func(m *mailDraft) *keys.At[[]keys.At[string]] { return &m.to }),
		keys.May("user", "Who hale is to the server; needs password.", keys.Text("a user name", "hale"),
			func(m *mailDraft) *keys.At[string] { return &m.user }),
		keys.May("password", "The password: `{file: PATH}` or `{env: NAME}`, never the password itself.", secretShape(),
			func(m *mailDraft) *keys.At[secretDraft] { return &m.password }),
	}}
}

func webhookShape() keys.Object[webhookDraft] {
	return keys.Object[webhookDraft]{Fields: []keys.Field[webhookDraft]{
		keys.Must("url", "https://example.org/hale", "Where to: the address, or, where it is itself a secret, `{file: "+
			"PATH}` or `{env: NAME}`.",
			valueShape("a web address", "https://example.org/hale"),
			func(w *webhookDraft) *keys.At[valueDraft] { return &w.url }),
		keys.May("ca", "A PEM file with the authorities to trust, in place of the system's.", keys.Text("a path",
			"/etc/ssl/hook-ca.pem"),
			func(w *webhookDraft) *keys.At[string] { return &w.ca }),
		keys.Or("format", defaultWebhookFormat, "`hale`: the message as hale says it. `cloudevents`: the same in a "+
			"CloudEvents 1.0 envelope. `text`: an object with one key, `text`, as chat programs take it.",
			keys.Choice(nil, WebhookHale, WebhookCloudEvents, WebhookText),
			func(w *webhookDraft) *keys.At[WebhookFormat] { return &w.format }),
		keys.May("headers", "Further headers, by name: a text, or `{file: PATH}` or `{env: NAME}` for what is secret.",
			keys.Mapping[valueDraft]{Key: "HEADER", Each: valueShape("a header's value", "on-call"),
				Names: headerNames},
			func(w *webhookDraft) *keys.At[[]keys.Named[valueDraft]] { return &w.headers }),
	}}
}

func commandShape() keys.Object[commandDraft] {
	return keys.Object[commandDraft]{Fields: commandFields(func(c *commandDraft) *commandDraft { return c })}
}

// commandFields read a program that is part of something.
func commandFields[T any](of func(*T) *commandDraft) []keys.Field[T] {
	return []keys.Field[T]{
		keys.Must("command", "[/usr/local/bin/tell, on-call]", "The program and its arguments, without a shell. Put "+
			"no secrets here: everybody on the server can read them.",
			keys.List[string]{Noun: "the program", Each: keys.Text("a word of the command", "/usr/local/bin/tell")},
			func(t *T) *keys.At[[]keys.At[string]] { return &of(t).command }),
		keys.May("env", "Its environment, beside PATH and HALE_…: a text, or `{file: PATH}` or `{env: NAME}` for "+
			"what is secret.",
			keys.Mapping[valueDraft]{Key: "VARIABLE", Each: valueShape("a text", "on-call"), Names: variableNames},
			func(t *T) *keys.At[[]keys.Named[valueDraft]] { return &of(t).env }),
	}
}

// secretShape reads a reference to a secret. A literal is refused, and not repeated.
func secretShape() keys.Shape[secretDraft] {
	return onlyReference[secretDraft]{keys.Object[secretDraft]{Fields: []keys.Field[secretDraft]{
		keys.May("file", "The file that holds it and nothing else; relative paths begin at the folder of this file. "+
			"Readable by hale, and not by everybody.",
			keys.Text("a path", "/run/secrets/token"), func(s *secretDraft) *keys.At[string] { return &s.file }),
		keys.May("env", "The environment variable of hale that holds it.", keys.Text("a variable's name",
			"HALE_TOKEN"), func(s *secretDraft) *keys.At[string] { return &s.env }),
	}}}
}

// onlyReference reads only a mapping, and says nothing of what stands there instead: it may be the secret itself.
type onlyReference[T any] struct{ keys.Object[T] }

func (s onlyReference[T]) Read(r *keys.Reader, n keys.Node) (T, bool) {
	if n.Form == keys.FormMapping {
		return s.Object.Read(r, n)
	}
	var zero T
	r.Add(n.Spot, "is "+string(n.Form)+"; a secret is not written here", "keep it in a file or in the environment, "+
		"and write {file: /run/secrets/NAME} or {env: NAME}")
	return zero, false
}

func (s onlyReference[T]) Schema() *keys.Schema {
	one := 1
	o := s.Object.Schema()
	o.Type, o.MinProperties, o.MaxProperties = "object", &one, &one
	return o
}

// valueShape reads a text, or a reference to a secret.
func valueShape(noun, example string) keys.Shorthand[valueDraft, string] {
	return keys.Shorthand[valueDraft, string]{
		Short: keys.Text(noun, example), Long: secretValue{secretShape()},
		Take: func(plain keys.At[string]) valueDraft { return valueDraft{plain: plain} },
	}
}

// secretValue reads a secret as a value.
type secretValue struct{ of keys.Shape[secretDraft] }

func (s secretValue) Read(r *keys.Reader, n keys.Node) (valueDraft, bool) {
	d, ok := s.of.Read(r, n)
	return valueDraft{secret: d}, ok
}

func (s secretValue) Schema() *keys.Schema { return s.of.Schema() }

// fleetNotifyShape reads the targets of a fleet's messages.
func fleetNotifyShape() keys.Shape[notifyDraft] {
	to := keys.List[string]{Noun: "one target", Each: keys.Name()}
	return recipients{
		list: to,
		long: keys.Object[notifyDraft]{Fields: []keys.Field[notifyDraft]{
			keys.May("to", "The names of targets under notify at the top of the file.", to,
				func(n *notifyDraft) *keys.At[[]keys.At[string]] { return &n.to }).Said("all of them"),
			keys.May("remind_every", "How long an incident that a person was told of may stay open before they are "+
				"told again: a duration, or `10 cycles`, where a cycle is the longest `every` of the fleet's checks.",
				reminderShape(), func(n *notifyDraft) *keys.At[reminder] { return &n.remindEvery }).Said(
				"they are told once"),
		}},
		word: keys.Choice(nil, notifyNobody),
	}
}

// listOrNone is a list, or the word none for an empty one.
type listOrNone[V any] struct {
	keys.List[V]
	word keys.Scalar[notifyWord]
}

func (l listOrNone[V]) Read(r *keys.Reader, n keys.Node) ([]keys.At[V], bool) {
	if n.Form == keys.FormText && n.Text == string(notifyNobody) {
		return nil, true
	}
	return l.List.Read(r, n)
}

func (l listOrNone[V]) Schema() *keys.Schema {
	return &keys.Schema{AnyOf: []*keys.Schema{l.List.Schema(), l.word.Schema()}}
}

// notifyWord is what may stand in place of a fleet's targets.
type notifyWord string

const notifyNobody notifyWord = "none"

// recipients is a list of targets, a mapping, or the word none.
type recipients struct {
	list keys.List[string]
	long keys.Object[notifyDraft]
	word keys.Scalar[notifyWord]
}

func (s recipients) Read(r *keys.Reader, n keys.Node) (notifyDraft, bool) {
	switch n.Form {
	case keys.FormList:
		to, ok := s.list.Read(r, n)
		return notifyDraft{to: keys.At[[]keys.At[string]]{Spot: n.Spot, Value: to, How: keys.Given}}, ok
	case keys.FormMapping:
		return s.long.Read(r, n)
	case keys.FormText:
		if n.Text == string(notifyNobody) {
			return notifyDraft{none: true}, true
		}
	default:
	}
	r.Add(n.Spot, "is "+string(n.Form)+"; a list of targets is wanted", "write for example [ops], or none")
	return notifyDraft{}, false
}

func (s recipients) Schema() *keys.Schema {
	return &keys.Schema{AnyOf: []*keys.Schema{s.list.Schema(), s.long.Schema(), s.word.Schema()}}
}
