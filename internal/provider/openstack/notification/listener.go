package notification

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/defect"
	"hale/internal/secret"
)

// Options are what a Listener is made of.
type Options struct {
	Name string // the provider's, for errors and the broker's own lists

	Brokers  []Broker // tried in turn
	User     string
	Password secret.Secret
	// TransportURL refers to the transport_url of an OpenStack service, in place of Brokers, User and Password.
	TransportURL secret.Secret

	CA          string // a PEM file; empty: the system's authorities
	Certificate string // a PEM file with hale's own; empty: none
	Key         string // a PEM file, to Certificate

	Exchanges []string      // that the services publish to
	Topics    []string      // of the notifications
	Heartbeat time.Duration // in whole seconds; a broker that is silent for one and a half of them is gone
	Logger    *slog.Logger
	Panics    defect.Witness // told of messages over which hale panicked; may be nil
}

// DefaultHeartbeat lets hale notice within eight seconds that a broker is gone.
const DefaultHeartbeat = 5 * time.Second

// DefaultExchanges returns where Nova publishes.
func DefaultExchanges() []string { return []string{"nova"} }

// DefaultTopics returns those of the legacy and the versioned form.
func DefaultTopics() []string { return []string{"notifications", "versioned_notifications"} }

// levels are the severities of notifications that say something of a server, in the bus's words.
var levels = []string{"info", "warn", "error"}

// keys are the routing keys of what is to be heard.
func (o *Options) keys() []string {
	var keys []string
	for _, topic := range o.Topics {
		for _, level := range levels {
			keys = append(keys, topic+"."+level)
		}
	}
	return keys
}

// Listener hears what one cloud says, for any number of fleets.
type Listener struct {
	o     Options
	dial  func(ctx context.Context) (link, error)
	tally tally
	next  int // the broker to try
}

const opListen = "openstack.listen"

// New makes a Listener. It connects to nothing yet. The error is fault.Invalid.
func New(o Options) (*Listener, error) {
	if o.Heartbeat == 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if len(o.Exchanges) == 0 {
		o.Exchanges = DefaultExchanges()
	}
	if len(o.Topics) == 0 {
		o.Topics = DefaultTopics()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if len(o.Brokers) == 0 && o.TransportURL.None() {
		return nil, fault.New(fault.Invalid, opListen, o.Name, errors.New("no broker is named"))
	}
	o.Brokers, o.Exchanges, o.Topics = slices.Clone(o.Brokers), slices.Clone(o.Exchanges), slices.Clone(o.Topics)
	l := &Listener{o: o}
	l.dial = l.dialBroker
	return l, nil
}

// Bounds of the waits between two attempts: to connect, and to bind to an exchange that is not there yet. Nova makes
// its exchange when it first speaks after the broker's start.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 10 * time.Second
)

// Listen calls heard for each notification about a server or a compute service, and with Everything after each new
// beginning. It returns nil when ctx ends. It must not be called twice at a time. heard must not block.
func (l *Listener) Listen(ctx context.Context, heard func(Notice)) error {
	backoff := minBackoff
	for ctx.Err() == nil {
		bound, err := l.attend(ctx, heard)
		if bound {
			backoff = minBackoff
		}
		if ctx.Err() == nil {
			l.o.Logger.LogAttrs(ctx, slog.LevelWarn, "lifecycle events are interrupted; polling goes on",
				slog.Any("err", err), slog.Duration("again", backoff))
		}
		wait(ctx, backoff)
		backoff = min(2*backoff, maxBackoff)
	}
	return nil
}

// wait returns after the time, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// attend connects and listens until the connection ends, and says why it did, and whether any exchange was bound.
func (l *Listener) attend(ctx context.Context, heard func(Notice)) (bound bool, err error) {
	k, err := l.dial(ctx)
	if err != nil {
		return false, err
	}
	defer k.close()
	b := binding{link: k, keys: l.o.keys(), exchanges: l.o.Exchanges, log: l.o.Logger, missing: map[string]bool{}}
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return bound, nil
		case <-again.C:
			began, pause := b.bind(ctx)
			again.Reset(pause)
			if began {
				bound = true
				heard(Notice{Kind: Everything})
			}
		case d, open := <-k.deliveries():
			if !open {
				return bound, k.why()
			}
			l.take(ctx, d, heard)
		}
	}
}

// take reads one delivery, and lets the broker send the next one. One over which hale panics is as one that cannot be
// read: polls find what it told.
func (l *Listener) take(ctx context.Context, d delivery, heard func(Notice)) {
	n, err := l.read(d.body)
	if err == nil {
		heard(n)
	}
	l.tally.count(ctx, l.o.Logger, err)
	d.done()
}

// read decodes a message.
func (l *Listener) read(body []byte) (n Notice, err error) {
	defer l.o.Panics.Catch("", "read a notification", func(p *defect.Panic) { err = p })
	return decode(body)
}

// Tally returns how many notifications there were so far.
func (l *Listener) Tally() Tally { return l.tally.now() }

// doors returns the brokers with who hale is to them, read anew.
func (l *Listener) doors(ctx context.Context) ([]door, error) {
	if !l.o.TransportURL.None() {
		text, err := l.o.TransportURL.Resolve(ctx)
		if err != nil {
			return nil, err
		}
		doors, err := parseTransportURL(text)
		if err != nil {
			return nil, fault.New(fault.Invalid, opListen, l.o.Name, err)
		}
		return doors, nil
	}
	password := ""
	if !l.o.Password.None() {
		var err error
		if password, err = l.o.Password.Resolve(ctx); err != nil {
			return nil, err
		}
	}
	doors := make([]door, len(l.o.Brokers))
	for i, b := range l.o.Brokers {
		doors[i] = door{b, l.o.User, password}
	}
	return doors, nil
}

// encryption is how the broker is to prove who it is, and hale to it.
func (l *Listener) encryption(b Broker) (*tls.Config, error) {
	c := &tls.Config{ServerName: b.Host, MinVersion: tls.VersionTLS12}
	if l.o.CA != "" {
		pem, err := os.ReadFile(l.o.CA)
		c.RootCAs = x509.NewCertPool()
		if err != nil || !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fault.New(fault.Invalid, opListen, l.o.Name,
				errors.New("no certificate can be read from "+l.o.CA))
		}
	}
	if l.o.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(l.o.Certificate, l.o.Key)
		if err != nil {
			return nil, fault.New(fault.Invalid, opListen, l.o.Name,
				errors.New("hale's own certificate cannot be read: "+err.Error()))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
