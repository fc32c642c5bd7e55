// Package mail tells people by mail, over SMTP.
//
// It promises that with TLS demanded nothing is said in the clear; that a password is sent over TLS only; that a mail
// counts as sent only when the server has taken it for every receiver; that the page, its reminders and its end are one
// thread; that each mail's Message-ID is made from the message's key; and that no password is in any answer or error.
// It keeps no connection open.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/textproto"
	"os"
	"strings"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/notify"
	"hale/internal/secret"

	gomail "github.com/wneessen/go-mail"
)

// Options are what a Target is made of.
type Options struct {
	Name     string
	Server   string
	Port     int
	TLS      TLS
	CA       string // a PEM file; empty: the system's authorities
	From     string
	To       []string
	User     string // empty: no login
	Password secret.Secret
	Timeout  time.Duration // of one try
}

// TLS is how the way to the server is protected.
type TLS string

// How the way to the server is protected.
const (
	StartTLS    TLS = "starttls" // begin in the clear, and insist on TLS before anything is said
	ImplicitTLS TLS = "tls"      // from the first byte
	PlainText   TLS = "none"
)

// Target sends mails through one server.
type Target struct{ o Options }

// New makes a target. It connects to nothing yet.
func New(o Options) *Target { return &Target{o} }

const op = "mail.send"

// Send implements notify.Target.
func (t *Target) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, t.o.Timeout)
	defer cancel()
	password := ""
	if t.o.User != "" {
		var err error
		if password, err = t.o.Password.Resolve(ctx); err != nil {
			return notify.Answer{}, err
		}
	}
	mail, err := t.compose(m)
	if err != nil {
		return notify.Answer{}, fault.New(fault.Invalid, op, t.o.Name, err)
	}
	line := &line{atEnd: func(c io.Closer) func() bool { return context.AfterFunc(ctx, func() { _ = c.Close() }) }}
	defer line.cut()
	client, err := t.client(line, password)
	if err != nil {
		return notify.Answer{}, err
	}
	err = client.DialAndSendWithContext(ctx, mail)
	if mail.IsDelivered() { // whatever went wrong afterwards
		return notify.Answer{Said: notify.Clean(mail.ServerResponse(), password)}, nil
	}
	if err == nil {
		err = errors.New("the server did not take the mail")
	}
	return notify.Answer{}, fault.New(t.kindOf(ctx, err), op, t.o.Name, errors.New(notify.Clean(err.Error(), password)))
}

// domain is what follows the @ in message ids. It need not exist.
const domain = "hale.invalid"

func (t *Target) compose(m notify.Message) (*gomail.Msg, error) {
	mail := gomail.NewMsg()
	if err := errors.Join(mail.From(t.o.From), mail.To(t.o.To...)); err != nil {
		return nil, err
	}
	mail.Subject(m.Subject)
	mail.SetDateWithValue(m.At)
	mail.SetMessageIDWithValue(idOf(m.Key))
	mail.SetGenHeader("X-Hale-Key", m.Key)
	mail.SetGenHeader("X-Hale-Event", string(m.Event))
	mail.SetGenHeader("Auto-Submitted", "auto-generated")
	if m.Incident != "" {
		thread := "<" + idOf("incident-"+m.Server+"-"+m.Incident) + ">"
		mail.SetGenHeader("In-Reply-To", thread)
		mail.SetGenHeader("References", thread)
	}
	mail.SetBodyString(gomail.TypeTextPlain, m.Text)
	return mail, nil
}

func idOf(key string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, key)
	return clean + "@" + domain
}

func (t *Target) client(line *line, password string) (*gomail.Client, error) {
	config := &tls.Config{ServerName: t.o.Server, MinVersion: tls.VersionTLS12}
	if t.o.CA != "" {
		pem, err := os.ReadFile(t.o.CA)
		config.RootCAs = x509.NewCertPool()
		if err != nil || !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fault.New(fault.Invalid, op, t.o.Name, errors.New("no certificate can be read from "+t.o.CA))
		}
	}
	options := []gomail.Option{
		gomail.WithPort(t.o.Port), gomail.WithTimeout(t.o.Timeout), gomail.WithTLSConfig(config),
		gomail.WithDialContextFunc(line.dial),
	}
	switch t.o.TLS {
	case StartTLS:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case ImplicitTLS:
		line.tls = config
		options = append(options, gomail.WithSSL())
	case PlainText:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if t.o.User != "" {
		if t.o.TLS == PlainText {
			return nil, fault.New(fault.Invalid, op, t.o.Name, errors.New("a password is not sent in the clear"))
		}
		options = append(options, gomail.WithOpportunisticSMTPAuth(ways()...), gomail.WithUsername(t.o.User),
			gomail.WithPassword(password))
	}
	client, err := gomail.NewClient(t.o.Server, options...)
	if err != nil {
		return nil, fault.New(fault.Invalid, op, t.o.Name, err)
	}
	return client, nil
}

// ways are those in which hale says who it is, best first; all of them over TLS.
func ways() []gomail.SMTPAuthType {
	return []gomail.SMTPAuthType{
		gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin,
	}
}

// line is the connection of one try. The library lets go of it without closing it when the server does not welcome it,
// and does not look at the context once it stands.
type line struct {
	// atEnd closes the connection when the try runs out of time, and returns what takes that back.
	atEnd func(conn io.Closer) (stop func() bool)
	tls   *tls.Config
	mu    sync.Mutex
	conn  net.Conn
	stop  func() bool
}

func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	var err error
	if l.tls != nil {
		conn, err = (&tls.Dialer{Config: l.tls}).DialContext(ctx, network, address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
	}
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	l.stop = l.atEnd(conn)
	return conn, nil
}

// cut closes the connection, if it is still open.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.stop()
		_ = l.conn.Close()
	}
}

// kindOf classifies what went wrong, by the server's code where there is one.
func (t *Target) kindOf(ctx context.Context, err error) fault.Kind {
	code := 0
	var sending *gomail.SendError
	var reply *textproto.Error
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &sending):
		code = sending.ErrorCode()
	case errors.As(err, &reply):
		code = reply.Code
	case errors.As(err, &untrusted):
		return fault.Permanent
	}
	switch {
	case code == authRequired, code == authFailed, code == authWeak:
		return fault.Unauthorised
	case code >= 500:
		return fault.Permanent
	case code >= 400:
		return fault.Transient
	case ctx.Err() != nil:
		return fault.UnknownOutcome
	}
	return fault.Transient
}

// The replies of a server that does not know who hale is (RFC 4954).
const (
	authRequired = 530
	authWeak     = 534
	authFailed   = 535
)
