package mail_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"mime"
	"net"
	netmail "net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mime/quotedprintable"

	"hale/internal/core/fault"
	"hale/internal/notify"
	"hale/internal/notify/mail"
	"hale/internal/notify/notifytest"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	user     = "hale"
	password = "c0rrect-h0rse"
)

// post is a real SMTP server that takes mails over loopback.
type post struct {
	t    *testing.T
	port int
	ca   string

	mu       sync.Mutex
	mails    []*netmail.Message
	bodies   []string
	to       [][]string
	greeted  int // sessions that got past the greeting
	trouble  int
	refuse   string // a receiver, or "all"
	hang     chan struct{}
	openAuth bool // it needs no login
}

func (p *post) locked(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

// NewSession implements smtp.Backend.
func (p *post) NewSession(*smtp.Conn) (smtp.Session, error) {
	p.locked(func() { p.greeted++ })
	return &session{p: p}, nil
}

type session struct {
	p     *post
	known bool
	to    []string
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, name, word string) error {
		if name != user || word != password {
			return &smtp.SMTPError{
				Code:         535,
				EnhancedCode: smtp.EnhancedCode{5, 7, 8},
				Message:      "no such user with " + word,
			}
		}
		s.known = true
		return nil
	}), nil
}

func (s *session) Reset()        { s.to = nil }
func (s *session) Logout() error { return nil }

func (s *session) Mail(string, *smtp.MailOptions) error {
	var err error
	s.p.locked(func() {
		switch {
		case !s.known && !s.p.openAuth:
			err = &smtp.SMTPError{Code: 530, EnhancedCode: smtp.EnhancedCode{5, 7, 0}, Message: "who are you?"}
		case s.p.refuse == "all":
			err = &smtp.SMTPError{
				Code:         550,
				EnhancedCode: smtp.EnhancedCode{5, 7, 1},
				Message:      "not from you with your " + password,
			}
		case s.p.trouble > 0:
			s.p.trouble--
			err = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "not now"}
		}
	})
	return err
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	var err error
	s.p.locked(func() {
		if s.p.refuse == to {
			err = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such mailbox"}
		}
	})
	s.to = append(s.to, to)
	return err
}

func (s *session) Data(r io.Reader) error {
	var hang chan struct{}
	s.p.locked(func() { hang = s.p.hang })
	if hang != nil {
		<-hang
		return errors.New("too late")
	}
	m, err := netmail.ReadMessage(r)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if _, err := io.Copy(&body, quotedprintable.NewReader(m.Body)); err != nil {
		return err
	}
	s.p.locked(func() {
		s.p.mails, s.p.bodies, s.p.to = append(s.p.mails, m), append(s.p.bodies, body.String()), append(s.p.to, s.to)
	})
	return nil
}

// taken returns the mails as messages.
func (p *post) taken() (out []notify.Message) {
	p.locked(func() {
		for i, m := range p.mails {
			subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
			if err != nil {
				p.t.Error(err)
			}
			out = append(out, notify.Message{
				Key: m.Header.Get("X-Hale-Key"), Event: notify.Event(m.Header.Get("X-Hale-Event")), Subject: subject,
				Text: strings.ReplaceAll(p.bodies[i], "\r\n", "\n"),
			})
		}
	})
	return out
}

// certificate makes one for the loopback, and writes it to a file.
func certificate(t *testing.T) (pair tls.Certificate, path string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "post"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, path
}

// protection is what the server offers.
type protection struct{ starttls, implicit bool }

func openPost(t *testing.T, how protection) *post {
	t.Helper()
	pair, ca := certificate(t)
	p := &post{t: t, ca: ca}
	server := smtp.NewServer(p)
	server.Domain, server.ErrorLog = "post.example.org", slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if how.starttls {
		server.TLSConfig = config
	}
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.port = l.Addr().(*net.TCPAddr).Port
	if how.implicit {
		l = tls.NewListener(l, config)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		p.locked(func() {
			if p.hang != nil {
				close(p.hang)
			}
		})
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		_ = l.Close() // it may have been closed before it was served
		<-ended
	})
	return p
}

func options(t *testing.T, p *post, how mail.TLS) mail.Options {
	t.Helper()
	return mail.Options{
		Name: "ops", Server: "127.0.0.1", Port: p.port, TLS: how, CA: p.ca, From: "\"hale\" <hale@example.org>",
		To: []string{"a@example.org", "<b@example.org>"}, User: user, Password: notifytest.Secret(t, password),
		Timeout: time.Minute,
	}
}

func TestAMailboxPassesTheExam(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		how protection
		tls mail.TLS
	}{
		"with STARTTLS":               {protection{starttls: true}, mail.StartTLS},
		"with TLS from the beginning": {protection{implicit: true}, mail.ImplicitTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			notifytest.Run(t, func(t *testing.T) notifytest.Stage {
				t.Helper()
				p := openPost(t, c.how)
				return notifytest.Stage{
					Target: mail.New(options(t, p, c.tls)), Taken: p.taken, Secret: password,
					Trouble: func(n int) { p.locked(func() { p.trouble = n }) },
					Refuse:  func() { p.locked(func() { p.refuse = "all" }) },
					Hang:    func() { p.locked(func() { p.hang = make(chan struct{}) }) },
				}
			})
		})
	}
}

func TestAMailIsOfItsIncidentsThread(t *testing.T) {
	t.Parallel()
	p := openPost(t, protection{starttls: true})
	target := mail.New(options(t, p, mail.StartTLS))
	for n := range 2 {
		if _, err := target.Send(t.Context(), notifytest.Message(n)); err != nil {
			t.Fatal(err)
		}
	}
	first, second := p.mails[0].Header, p.mails[1].Header
	if first.Get("References") == "" || first.Get("References") != second.Get("References") ||
		first.Get("Message-Id") == second.Get("Message-Id") {
		t.Errorf("%v\n%v", first, second)
	}
	if got := first.Get("Message-Id"); got != "<3f2a1b2c-web-0@hale.invalid>" {
		t.Errorf("message id %s", got)
	}
	if at, err := first.Date(); err != nil || !at.Equal(notifytest.Message(0).At) {
		t.Errorf("%v, %v", at, err)
	}
	if got := p.to[0]; !slices.Equal(got, []string{"a@example.org", "b@example.org"}) {
		t.Errorf("it went to %v", got)
	}
}

func TestWhatAMailServerSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		how    protection
		change func(*mail.Options, *post)
		kind   fault.Kind
		none   bool // nothing may be said to the server
	}{
		"without a password, to one that needs none": {protection{starttls: true},
			func(o *mail.Options, p *post) { o.User, p.openAuth = "", true }, "", false},
		"without TLS": {protection{},
			func(o *mail.Options, p *post) { o.User, o.TLS, p.openAuth = "", mail.PlainText, true }, "", false},
		"TLS that is not there": {protection{}, func(*mail.Options, *post) {}, fault.Transient, false},
		"an unknown authority": {protection{starttls: true}, func(o *mail.Options, _ *post) { o.CA = "" },
			fault.Permanent, false},
		"a password in the clear": {protection{}, func(o *mail.Options, _ *post) { o.TLS = mail.PlainText },
			fault.Invalid, true},
		"no authority": {protection{starttls: true}, func(o *mail.Options, _ *post) { o.CA = "/nowhere.pem" },
			fault.Invalid, true},
		"a wrong password": {protection{starttls: true}, func(o *mail.Options, _ *post) {
			o.Password = notifytest.Secret(t, "wr0ng-h0rse")
		}, fault.Unauthorised, false},
		"no password at all": {protection{starttls: true}, func(o *mail.Options, _ *post) { o.User = "" },
			fault.Unauthorised, false},
		"one receiver is not known": {protection{starttls: true},
			func(_ *mail.Options, p *post) { p.refuse = "b@example.org" }, fault.Permanent, false},
		"no server listens": {protection{starttls: true}, func(o *mail.Options, _ *post) { o.Port = 1 },
			fault.Transient, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openPost(t, c.how)
			o := options(t, p, mail.StartTLS)
			c.change(&o, p)
			_, err := mail.New(o).Send(t.Context(), notifytest.Message(1))
			if fault.KindOf(err) != c.kind {
				t.Errorf("got %v", err)
			}
			if text := fmt.Sprint(err); strings.Contains(text, "h0rse") {
				t.Errorf("a password is in %q", text)
			}
			if want := map[bool]int{true: 1}[err == nil]; len(p.taken()) != want {
				t.Errorf("%d mails were taken", len(p.taken()))
			}
			if c.none && p.greeted > 0 {
				t.Error("the server was spoken to")
			}
		})
	}
}

// A server that says it is ready and then nothing would hold the sender for ever.
func TestASilentMailServerIsLeft(t *testing.T) {
	t.Parallel()
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	gone := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, err = conn.Read(make([]byte, 1)) // until the other side closes
			conn.Close()
		}
		gone <- err
	}()
	p := &post{port: l.Addr().(*net.TCPAddr).Port}
	o := options(t, p, mail.PlainText)
	o.User, o.CA, o.Timeout = "", "", time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := mail.New(o).Send(ctx, notifytest.Message(1)); !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("got %v", err)
	}
	if err := <-gone; !errors.Is(err, io.EOF) {
		t.Errorf("the connection was not closed: %v", err)
	}
}
