package gate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"hale/internal/defect"
	"hale/internal/doorway"
)

// entrance listens at a place that can change.
type entrance struct {
	log    *slog.Logger
	panics defect.Witness
	site   *doorway.Moving[Place]
	conns  chan net.Conn
	closed chan struct{}
	close  func()

	at       sync.Mutex
	crowd    *doorway.Places
	pair     *doorway.Files[*tls.Certificate] // nil: no TLS is spoken
	address  net.Addr                         // where it listens; nil: nowhere
	trouble  error                            // why it does not
	troubled time.Time
}

func newEntrance(log *slog.Logger, panics defect.Witness) entrance {
	closed := make(chan struct{})
	return entrance{
		log: log, panics: panics, site: doorway.NewMoving[Place](), conns: make(chan net.Conn), closed: closed,
		close: sync.OnceFunc(func() { close(closed) }), crowd: crowdOf(0),
	}
}

// crowdOf has places for so many.
func crowdOf(n int) *doorway.Places {
	return doorway.New(doorway.Limits{
		All: n, Strangers: n / 2, PerStranger: max(8, n/64), PerKnown: n / 4 * 3, KnownFor: time.Hour,
	})
}

// move has it listen at the place.
func (e *entrance) move(to Place, connections int) {
	e.at.Lock()
	e.crowd = crowdOf(connections)
	e.at.Unlock()
	e.site.To(to)
}

func (e *entrance) places() *doorway.Places {
	e.at.Lock()
	defer e.at.Unlock()
	return e.crowd
}

// leaf is the certificate that is shown; nil: none is.
func (e *entrance) leaf() *x509.Certificate {
	e.at.Lock()
	pair := e.pair
	e.at.Unlock()
	if pair == nil {
		return nil
	}
	shown, err := pair.Get(time.Now())
	if err != nil {
		return nil
	}
	return shown.Leaf
}

// Trouble returns why it does not listen although it should, and since when; no error: it does.
func (e *entrance) Trouble() (since time.Time, err error) {
	e.at.Lock()
	defer e.at.Unlock()
	return e.troubled, e.trouble
}

// Accept implements net.Listener: it waits until Run lets somebody in.
func (e *entrance) Accept() (net.Conn, error) {
	select {
	case c := <-e.conns:
		return c, nil
	case <-e.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (e *entrance) Close() error {
	e.close()
	return nil
}

// Addr implements net.Listener.
func (e *entrance) Addr() net.Addr {
	e.at.Lock()
	defer e.at.Unlock()
	if e.address == nil {
		return &net.TCPAddr{}
	}
	return e.address
}

// Run listens until ctx ends. When it cannot, it tries again.
func (e *entrance) Run(ctx context.Context) {
	here, leave := doorway.Until(ctx, e.closed)
	defer leave()
	e.site.Run(here, func(ctx context.Context, at Place) error {
		err := e.stay(ctx, at)
		e.fares(nil, err)
		return err
	}, func(err error) {
		e.log.Warn("the API does not listen on the network; hale goes on without, and tries again", "err", err)
	})
}

// fares notes where it listens, or why it does not.
func (e *entrance) fares(at net.Addr, err error) {
	e.at.Lock()
	defer e.at.Unlock()
	e.address = at
	if err != nil && e.trouble == nil {
		e.troubled = time.Now()
	}
	e.trouble = err
}

// stay listens at the place until ctx ends.
func (e *entrance) stay(ctx context.Context, place Place) error {
	e.at.Lock()
	e.pair = nil
	e.at.Unlock()
	if place.Listen == "" {
		<-ctx.Done()
		return nil
	}
	l, err := e.listen(ctx, place)
	if err != nil {
		return err
	}
	over := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer over()
	defer l.Close()
	e.log.Info("the API listens", "address", l.Addr().String(), "tls", place.Certificate != "")
	e.fares(l.Addr(), nil)
	return e.receive(ctx, l)
}

// receive hands on who comes, until ctx ends.
func (e *entrance) receive(ctx context.Context, l net.Listener) error {
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case e.conns <- conn:
		case <-ctx.Done():
			_ = conn.Close()
			return nil
		}
	}
}

// listen opens the place.
func (e *entrance) listen(ctx context.Context, place Place) (net.Listener, error) {
	var config *tls.Config
	if place.Certificate != "" {
		var err error
		if config, err = e.secured(place); err != nil {
			return nil, err
		}
	}
	var how net.ListenConfig
	l, err := how.Listen(ctx, "tcp", place.Listen)
	if err != nil {
		return nil, err
	}
	l = admitting{l, e.places}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	return l, nil
}

// admitting lets those in for whom there is a place, of as many as there are now.
type admitting struct {
	net.Listener
	places func() *doorway.Places
}

// Accept implements net.Listener.
func (a admitting) Accept() (net.Conn, error) { return a.places().Listener(a.Listener).Accept() }

// secured is how TLS is spoken at the place. What is renewed is taken up at the next handshake. Sessions are not
// resumed where clients show certificates, so that each one is verified anew.
func (e *entrance) secured(place Place) (*tls.Config, error) {
	pair := doorway.Pair(place.Certificate, place.Key)
	if _, err := pair.Get(time.Now()); err != nil {
		return nil, err
	}
	e.at.Lock()
	e.pair = pair
	e.at.Unlock()
	plain := &tls.Config{
		MinVersion: leastTLS, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(time.Now()) },
	}
	if place.ClientCA == "" {
		return plain, nil
	}
	authorities := doorway.Authorities(place.ClientCA)
	if _, err := authorities.Get(time.Now()); err != nil {
		return nil, err
	}
	plain.SessionTicketsDisabled = true
	plain.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool, err := authorities.Get(time.Now())
		if err != nil {
			return nil, errors.New("no authority can be read")
		}
		own := plain.Clone()
		own.GetConfigForClient, own.ClientCAs, own.ClientAuth = nil, pool, tls.VerifyClientCertIfGiven
		return own, nil
	}
	return plain, nil
}
