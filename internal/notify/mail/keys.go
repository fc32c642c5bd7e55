package mail

import (
	"fmt"
	"net/mail"
	"strings"

	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/notify"
	"hale/internal/secret"
)

// Kind is the target mail.
func Kind() kinds.Target {
	return kinds.WayOf("mail", "…", "Send a mail.", shape(), compileKeys)
}

// Settings are what the keys come to.
type Settings struct{ Options }

// Secrets implements kinds.Telling.
func (s Settings) Secrets() []secret.Secret {
	if s.Password.None() {
		return nil
	}
	return []secret.Secret{s.Password}
}

// Target implements kinds.Telling.
func (s Settings) Target(t kinds.TargetOptions) notify.Target {
	o := s.Options
	o.Name, o.Timeout = t.Name, t.Timeout
	return New(o)
}

type draft struct {
	server   keys.At[string]
	port     keys.At[int]
	tls      keys.At[TLS]
	ca       keys.At[string]
	from     keys.At[string]
	to       keys.At[[]keys.At[string]]
	user     keys.At[string]
	password keys.At[keys.SecretRef]
}

func shape() keys.Object[draft] {
	return keys.Object[draft]{Fields: []keys.Field[draft]{
		keys.Must("server", "mail.example.org", "The SMTP server's host name or address.", keys.Text("a host name",
			"mail.example.org"),
			func(m *draft) *keys.At[string] { return &m.server }),
		keys.May("port", "Its port.", keys.Integer(1, 65535), func(m *draft) *keys.At[int] { return &m.port }).
			Said("587 with starttls, 465 with tls, 25 with none"),
		keys.Or("tls", StartTLS, "`starttls`: begin in the clear and insist on TLS before anything is said. "+
			"`tls`: TLS from the first byte. `none`: in the clear; then there is no password.",
			keys.Choice(nil, StartTLS, ImplicitTLS, PlainText),
			func(m *draft) *keys.At[TLS] { return &m.tls }),
		keys.May("ca", "A PEM file with the authorities to trust, in place of the system's.", keys.Text("a path",
			"/etc/ssl/mail-ca.pem"),
			func(m *draft) *keys.At[string] { return &m.ca }),
		keys.Must("from", "hale@example.org", "The sender.", keys.Text("a mail address", "hale@example.org"),
			func(m *draft) *keys.At[string] { return &m.from }),
		keys.Must("to", "[ops@example.org]",
			"The receivers. A mail that one of them is refused for counts as not sent.",
			keys.List[string]{Noun: "one mail address", Each: keys.Text("a mail address", "ops@example.org")},
			func(m *draft) *keys.At[[]keys.At[string]] { return &m.to }),
		keys.May("user", "Who hale is to the server; needs password.", keys.Text("a user name", "hale"),
			func(m *draft) *keys.At[string] { return &m.user }),
		keys.May("password", "The password: `{file: PATH}` or `{env: NAME}`, never the password itself.", keys.Secret(),
			func(m *draft) *keys.At[keys.SecretRef] { return &m.password }),
	}}
}

func compileKeys(f *keys.Finder, v keys.At[draft]) kinds.Telling {
	d := v.Value
	o := Options{Server: d.server.Value, Port: d.port.Value, TLS: d.tls.Value, CA: keys.Path(d.ca), User: d.user.Value}
	if !d.port.Written() {
		o.Port = map[TLS]int{StartTLS: 587, ImplicitTLS: 465, PlainText: 25}[o.TLS]
	}
	if s := d.server; s.Known() && strings.ContainsAny(s.Value, "/ @\t\r\n") {
		f.Add(s.Spot, fmt.Sprintf("%q is not a host name", s.Value), "write for example mail.example.org")
	}
	o.From = address(f, d.from)
	for _, to := range d.to.Value {
		o.To = append(o.To, address(f, to))
	}
	o.Password = f.Secret(d.password)
	switch {
	case d.user.Written() && !d.password.Written():
		f.Add(d.user.Spot, "comes without a password", "add password: {file: PATH}, or take user out")
	case d.password.Written() && !d.user.Written():
		f.Add(d.password.Spot, "comes without a user", "add user: NAME, or take password out")
	case d.password.Written() && d.tls.Known() && o.TLS == PlainText:
		f.Add(d.password.Spot, "would be sent in the clear", "choose tls: starttls or tls: tls")
	case d.ca.Written() && d.tls.Known() && o.TLS == PlainText:
		f.Add(d.ca.Spot, "has nothing to check without TLS", "choose tls: starttls or tls: tls, or take ca out")
	}
	return Settings{o}
}

func address(f *keys.Finder, v keys.At[string]) string {
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
