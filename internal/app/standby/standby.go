// Package standby lets several servers look after the same fleets: their state is in etcd servers that all of them
// reach, one of them is active, and the others stand by until it dies, is cut off, or leaves.
//
// It promises that the work given to it runs on one server at a time, that it is told to end as soon as this server may
// not be the active one any more, and that a server whose file says something else of the fleets than the last active
// one's does not become active unless a person says so (L10).
package standby

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/defect"
	"hale/internal/state"
	"hale/internal/state/active"
	"hale/internal/state/beliefs"
	"hale/internal/state/etcd"
)

// Options say which server this is, and what it does.
type Options struct {
	Config  *config.Config
	Load    func() (*config.Config, error) // reads the file again; nil: it cannot be
	Server  string
	Version string
	// Anyway lets the server become active although its file says something else than the last active one's.
	Anyway bool
	Logger *slog.Logger
	// Connect opens the store, and may be asked again after a fault.Transient; nil: that in the configuration's etcd
	// servers.
	Connect func(ctx context.Context) (Store, error)
	// Unable says why this server cannot look after the fleets now, whatever it is allowed; empty: it can. nil: it can.
	Unable func() string
	// Unread says why this server must not be active yet, by what the store has; nil: nothing does.
	Unread func(ctx context.Context, store state.Store) (string, error)
	// Surface answers people while this server stands by, until ctx ends. It may fail.
	Surface func(ctx context.Context, waits func() string) error
	// Look has this server look at machines for the active one, which takes reports there, until ctx ends; nil: it does
	// not.
	Look func(ctx context.Context, at active.Hearing, token active.Token) error
	// Work is what the active server does, on the store, until ctx ends.
	Work func(ctx context.Context, c *config.Config, office *active.Office) error
}

// Store is what the servers share.
type Store interface {
	active.Store
	Close() error
}

// again is the pause after which what failed is tried again.
const again = time.Second

// unableFor is how long a server that cannot look after the fleets tries.
const unableFor = 5 * time.Second

// goodbye is how long saying so may take.
const goodbye = 500 * time.Millisecond

// one is this server.
type one struct {
	Options
	process string
	token   active.Token // shown to the active one; empty: this server does not look
	waits   standing     // for what
	// twin is the process of another server with this one's name, and since when it is seen.
	twin  string
	since time.Time
}

// Run stands by and is active by turns, until ctx ends, or the work fails.
func Run(ctx context.Context, o Options) error {
	s := &one{Options: o, process: rand.Text()}
	if o.Look != nil {
		s.token = active.Token(rand.Text())
	}
	store, err := s.connect(ctx)
	if err != nil {
		return err
	}
	for {
		var office *active.Office
		err = s.soundly(ctx, func(ctx context.Context) (err error) {
			office, err = s.become(ctx, store)
			return err
		})
		if err == nil {
			err = s.act(ctx, office)
		}
		if err != nil || ctx.Err() != nil {
			break
		}
	}
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, store.Close())
}

// soundly does what a server does that stands by, while people are answered.
func (s *one) soundly(ctx context.Context, stand func(context.Context) error) error {
	answering, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { // ends with answering
		ended <- defect.Try(func() error {
			s.answer(answering)
			return nil
		})
	}()
	err := stand(ctx)
	stop()
	if defect := <-ended; defect != nil {
		s.Logger.Error("nobody was answered while this server stood by", "err", defect)
	}
	return err
}

// answer answers people until ctx ends.
func (s *one) answer(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.Surface(ctx, s.waits.get); err != nil && ctx.Err() == nil {
			s.Logger.Warn("nobody is answered while this server stands by", "err", err)
		}
		pause(ctx)
	}
}

// connect opens the store, and tries again as long as the servers do not answer: they may be starting.
func (s *one) connect(ctx context.Context) (store Store, err error) {
	connect := s.Connect
	if connect == nil {
		opts, err := Reach(ctx, s.Config.Etcd, s.Logger)
		if err != nil {
			return nil, err
		}
		connect = func(ctx context.Context) (Store, error) { return etcd.Connect(ctx, opts) }
	}
	err = s.soundly(ctx, func(ctx context.Context) error {
		for {
			if store, err = connect(ctx); err == nil || !fault.Is(err, fault.Transient) {
				return err
			}
			s.wait(s.silent(err))
			pause(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	})
	return store, err
}

// Reach says how the etcd servers of a configuration are reached.
func Reach(ctx context.Context, e config.Etcd, log *slog.Logger) (etcd.Shared, error) {
	out := etcd.Shared{Endpoints: e.Endpoints, Prefix: e.Prefix, User: e.User, Logger: log}
	var err error
	if !e.Password.None() {
		if out.Password, err = e.Password.Resolve(ctx); err != nil {
			return out, err
		}
	}
	out.TLS, err = secured(e)
	return out, err
}

// secured is how TLS is spoken with them. The certificate is read again at each connection.
func secured(e config.Etcd) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if e.CA != "" {
		pem, err := os.ReadFile(e.CA)
		if err != nil {
			return nil, fmt.Errorf("state.etcd.ca: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("state.etcd.ca: %s has no certificate in PEM form", e.CA)
		}
	}
	if e.Certificate != "" {
		read := func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(e.Certificate, e.Key)
			if err != nil {
				return nil, fmt.Errorf("state.etcd.tls: %w", err)
			}
			return &pair, nil
		}
		if _, err := read(); err != nil {
			return nil, err
		}
		out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return read() }
	}
	return out, nil
}

// become waits until this server is the active one.
func (s *one) become(ctx context.Context, store Store) (*active.Office, error) {
	me, err := s.me()
	if err != nil {
		return nil, err
	}
	me.Token = s.token
	line, looks := listing{me: me, store: store}, gaze{one: s}
	defer func() { line.end(ctx) }()
	defer looks.end()
	for ctx.Err() == nil {
		err := active.Await(ctx, store, func(is active.Server) {
			s.meet(is)
			_ = s.read() // it may have been edited; what is wrong in it is said when its turn comes
			differs := s.differs(is)
			if why, _ := s.barred(ctx, store); why != "" { // what could not be read is read again when it counts
				differs = ", since " + why
			}
			s.wait(fmt.Sprintf("it stands by: %s looks after the fleets%s", is.Name, differs))
			line.say(ctx, strings.TrimPrefix(differs, ", since "))
			looks.follow(ctx, is)
		})
		if err == nil {
			looks.end()
			err = s.fits(ctx, store)
		}
		if err == nil {
			if me, err = s.me(); err != nil {
				return nil, err
			}
			var office *active.Office
			if office, err = active.Become(ctx, store, me); err == nil {
				return office, nil
			}
		}
		switch {
		case fault.Is(err, fault.Conflict), fault.Is(err, fault.NotFound): // another one was sooner; history is gone
		case errors.As(err, new(unfit)):
			s.wait(err.Error())
		case fault.Is(err, fault.NoSpace):
			s.wait(s.whose() + " have no room for its lease: " + fault.Plain(err))
		case fault.Is(err, fault.Unauthorised):
			s.wait(s.whose() + " refuse it: " + fault.Plain(err))
		default:
			s.wait(s.silent(err))
		}
		pause(ctx)
	}
	return nil, ctx.Err()
}

// whose are the servers that keep the state.
func (s *one) whose() string {
	if s.Config.Cluster.Used() {
		return "the cluster's servers"
	}
	return "the etcd servers"
}

// silent says that they do not answer. Of the cluster's it is known where to look.
func (s *one) silent(err error) string {
	said := s.whose() + " do not answer"
	if s.Config.Cluster.Used() {
		said += " (hale server list says who is away)"
	}
	return said + ": " + fault.Plain(err)
}

// listing is the server's line among those that stand by. It is for people, and may fail.
type listing struct {
	me    active.Server
	store state.Store
	is    *active.Standing
}

// say lists it, with why it would not follow by itself.
func (l *listing) say(ctx context.Context, unfit string) {
	l.me.Unfit = unfit
	if l.is != nil && !l.is.Lost() {
		_ = l.is.Say(ctx, l.me)
		return
	}
	l.is, _ = active.Stand(ctx, l.store, l.me)
}

func (l *listing) end(ctx context.Context) {
	if l.is != nil {
		l.is.End(ctx)
	}
}

// act does the work for as long as this server is the active one.
func (s *one) act(ctx context.Context, office *active.Office) error {
	s.Logger.Info("this server is the active one: it looks after the fleets")
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { // ends with the work
		defer stop()
		ended <- defect.Try(func() error {
			office.Keep(working)
			return nil
		})
	}()
	s.yieldWhenUnable(working, office, stop)
	owners := make([]string, 0, len(s.Config.Fleets))
	for _, f := range s.Config.Fleets {
		owners = append(owners, beliefs.OwnerKey(f.Name))
	}
	err := office.Evict(working, owners...)
	if err == nil {
		err = s.Work(working, s.Config, office)
	}
	lost := isLost(office) && ctx.Err() == nil
	stop()
	err = errors.Join(err, <-ended)
	if lost {
		s.Logger.Warn("this server is not the active one any more: it was paused, or cut off from etcd, or its key "+
			"there is gone", "err", err)
		return nil
	}
	bidding, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if left := office.Leave(bidding); left != nil {
		s.Logger.Warn("this server could not say goodbye: another one follows once its lease has run out", "err", left)
	}
	return err
}

// yieldWhenUnable ends the work when this server cannot do it for a while, and another one would follow.
func (s *one) yieldWhenUnable(working context.Context, store state.Store, stop func()) {
	if s.Unable == nil {
		return
	}
	go func() { // ends with the work
		failed := defect.Try(func() error {
			for working.Err() == nil {
				first := s.Unable()
				select {
				case <-working.Done():
				case <-time.After(unableFor):
				}
				why := s.Unable()
				if first == "" || why == "" || !hasFollower(working, store) {
					continue
				}
				s.Logger.Warn("this server gives the fleets to another one", "why", why)
				stop()
			}
			return nil
		})
		if failed != nil {
			s.Logger.Error("whether this server is able is not watched any more", "err", failed)
		}
	}()
}

// hasFollower reports whether a server stands by that would follow by itself.
func hasFollower(ctx context.Context, store state.Store) bool {
	all, err := active.StandBy(ctx, store)
	return err == nil && slices.ContainsFunc(all, func(is active.Server) bool { return is.Unfit == "" })
}

func isLost(office *active.Office) bool {
	select {
	case <-office.Lost():
		return true
	default:
		return false
	}
}

// unfit says that this server must not become active by itself.
type unfit string

func (u unfit) Error() string { return string(u) }

// fits is nil if this server's file says the same of the fleets as the last active server's did. The last one's own
// file may have been edited since.
func (s *one) fits(ctx context.Context, store Store) error {
	if err := s.read(); err != nil {
		return unfit("its configuration cannot be read: " + err.Error())
	}
	if why, err := s.barred(ctx, store); why != "" || err != nil {
		return errors.Join(err, unfitFor(why))
	}
	last, ever, err := active.Last(ctx, store)
	if err != nil || !ever || s.Anyway || last.Name == s.Server && !s.isTwin(last) {
		return err
	}
	if said := s.differs(last); said != "" {
		return unfit("no server looks after the fleets, and this one does not begin to" + said + ": copy the file " +
			"from there, or start hale here with --this-file")
	}
	return nil
}

// unfitFor is nil without a reason.
func unfitFor(why string) error {
	if why == "" {
		return nil
	}
	return unfit("this server does not look after the fleets, since " + why)
}

// barred says why this server must not be the active one, whatever its file says.
func (s *one) barred(ctx context.Context, store Store) (string, error) {
	if s.Unable != nil {
		if why := s.Unable(); why != "" {
			return why, nil
		}
	}
	if s.Unread != nil {
		return s.Unread(ctx, store)
	}
	return "", nil
}

// meet notes which process is the active server that has this one's name: a clone of this machine may.
func (s *one) meet(is active.Server) {
	if is.Name == s.Server && is.Process != s.twin {
		s.twin, s.since = is.Process, time.Now()
	}
}

// isTwin reports whether the other server has this one's name, and lived while this one did. What this one was before
// its start did not: its lease runs out, and it says no goodbye.
func (s *one) isTwin(other active.Server) bool {
	return other.Name == s.Server && other.Process == s.twin &&
		(other.Left || time.Since(s.since) > active.TTL+active.Grace)
}

// read reads the file again.
func (s *one) read() error {
	if s.Load == nil {
		return nil
	}
	c, err := s.Load()
	if err == nil {
		s.Config = c
	}
	return err
}

// differs says that the other server has another file; empty: it says the same of the fleets.
func (s *one) differs(other active.Server) string {
	own, err := s.Config.Fingerprint()
	if err == nil && own == other.Configuration {
		return ""
	}
	if s.isTwin(other) {
		return ", since its configuration of the fleets is another one than that of another server called " + s.Server
	}
	return ", since its configuration of the fleets is another one than " + other.Name + "'s"
}

func (s *one) me() (active.Server, error) {
	of, err := s.Config.Fingerprint()
	return active.Server{Name: s.Server, Process: s.process, Version: s.Version, Configuration: of,
		Since: time.Now().UTC().Truncate(time.Second)}, err
}

// wait notes for what this server waits, and says so in the log when that is another thing.
func (s *one) wait(what string) {
	if s.waits.set(what) {
		s.Logger.Info("this server is not the active one", "why", what)
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(again):
	}
}

// Note has the store say what the active server's file says now, so that the others know whether theirs says the same.
func Note(ctx context.Context, office *active.Office, c *config.Config, log *slog.Logger) {
	of, err := c.Fingerprint()
	if err == nil {
		err = office.Note(ctx, of)
	}
	if err != nil {
		log.Warn("the other servers do not learn of this server's edited configuration", "err", err)
	}
}
