// Package members has a server be one of a cluster of hale servers, which keep their state together: while it runs
// (Member), and by the commands that begin, enlarge, and mend such a cluster.
//
// It promises that a server has no vote before it has the state, that no change takes away the majority, that an
// invitation lets one server in, and that whatever is refused says why, and what to do. Which server looks after the
// fleets is package standby's.
package members

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"hale/internal/cluster/door"
	"hale/internal/cluster/papers"
	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/defect"
	"hale/internal/probe/satellite"
	"hale/internal/state/etcd"
)

const (
	// again is the pause after which what failed is tried again.
	again = time.Second
	// renewEvery is how often is looked whether the certificate is to be renewed.
	renewEvery = time.Hour
	// knowEvery is how often is noted where the others are.
	knowEvery = 10 * time.Second
	// leftWithin is how long a server that leaves waits for the others' word.
	leftWithin = time.Minute
)

// Options say which server it is.
type Options struct {
	Cluster config.Cluster
	DataDir string
	Version string
	Logger  *slog.Logger
	Panics  defect.Witness
}

// Member is this server as one of its cluster.
type Member struct {
	Options
	papers *papers.Papers
	client door.Client

	store atomic.Pointer[etcd.Own]  // nil: not yet
	hears atomic.Pointer[reception] // of the active server; nil: it takes no reports
	mu    sync.Mutex
	waits string // for what it waits before there is a store

	leaving  chan struct{} // closed when it is to leave
	retired  chan struct{} // closed when it looks after nothing any more
	departed chan struct{} // closed when the cluster has let it go, by its own wish
	leave    func()
}

// New reads this server's papers. fault.NotFound: it is in no cluster. fault.Invalid: the configuration says something
// else than the papers.
func New(o Options) (*Member, error) {
	const op = "cluster.begin"
	p, err := papers.Read(o.DataDir)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, op, o.DataDir, errors.New("this server is in no cluster yet: hale "+
			"server init begins one, with the state that is in the data folder, and hale server join joins one by an "+
			"invitation"))
	}
	if err != nil {
		return nil, err
	}
	if p.Advertise != o.Cluster.Advertise {
		return nil, fault.New(fault.Invalid, op, o.DataDir, fmt.Errorf("the other servers reach this one at %s, and "+
			"its "+
			"configuration says %s (state.cluster): an address does not change in place; hale server replace %s on "+
			"another server, and hale server join --force here, give it the new one", p.Advertise,
			o.Cluster.Advertise, p.Name))
	}
	m := &Member{Options: o, papers: p, client: door.Member(p), leaving: make(chan struct{}),
		retired: make(chan struct{}), departed: make(chan struct{})}
	m.leave = sync.OnceFunc(func() { close(m.leaving) })
	return m, nil
}

// reception is where servers that stand by report what they see.
type reception struct {
	reports http.Handler
	eyes    func() []satellite.Eye
}

// Hear has reports of servers that stand by answered at the door; nil: none any more.
func (m *Member) Hear(reports http.Handler, eyes func() []satellite.Eye) {
	if reports == nil {
		m.hears.Store(nil)
		return
	}
	m.hears.Store(&reception{reports, eyes})
}

// Reports implements door.House.
func (m *Member) Reports() http.Handler {
	if r := m.hears.Load(); r != nil {
		return r.reports
	}
	return nil
}

// Calling is how this server speaks TLS with another one of its cluster.
func (m *Member) Calling() *tls.Config { return m.papers.Calling() }

// Name is what the server is called in the cluster.
func (m *Member) Name() string { return m.papers.Name }

// errRemoved is how a server ends that the cluster has let go.
var errRemoved = errors.New("the cluster has let this server go (hale server replace): it touches no machine; hale " +
	"server join --force, with a new invitation, makes it one of the cluster again")

// During has the server be one of the cluster while it works, and ends the work when that is over: with nil after hale
// server leave.
func (m *Member) During(ctx context.Context, work func(context.Context) error) error {
	if _, err := m.papers.Renew(time.Now()); err != nil {
		return err
	}
	l, err := door.Listen(ctx, m.Cluster.Listen)
	if err != nil {
		return err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var serving, keeping sync.WaitGroup
	serving.Go(func() {
		m.guarded(stop, "door", func() error {
			return door.Serve(life, l, door.Options{House: m, Papers: m.papers, Logger: m.Logger, Panics: m.Panics})
		})
	})
	kept, unkeep := context.WithCancel(life)
	keeping.Go(func() { m.guarded(stop, "server of the cluster", func() error { return m.keep(kept) }) })
	keeping.Go(func() {
		select {
		case <-m.leaving:
			stop(nil)
		case <-kept.Done():
		}
	})
	err = work(working)
	stop(nil)
	close(m.retired)
	lost := m.settle(ctx)
	unkeep()
	keeping.Wait()
	if store := m.store.Load(); store != nil {
		lost = errors.Join(lost, store.Close())
	}
	end()
	serving.Wait()
	m.clear()
	return m.verdict(err, lost, context.Cause(working))
}

// guarded does a part of the work, and ends the whole when it fails.
func (m *Member) guarded(stop context.CancelCauseFunc, what string, do func() error) {
	defer m.Panics.Catch(what, "its work", func(p *defect.Panic) { stop(p) })
	if err := do(); err != nil {
		stop(err)
	}
}

// settle waits for the others' word when this server is about to leave.
func (m *Member) settle(ctx context.Context) error {
	select {
	case <-m.leaving:
	default:
		return nil
	}
	select {
	case <-m.departed:
		return nil
	case <-time.After(leftWithin):
		return fault.New(fault.Transient, "cluster.leave", m.Name(),
			errors.New("the others did not say that they let this server go: start hale, and look at hale server list"))
	case <-ctx.Done():
		return nil
	}
}

// clear puts the state of a server aside that has left.
func (m *Member) clear() {
	select {
	case <-m.departed:
	default:
		return
	}
	if _, err := etcd.PutAside(m.DataDir); err != nil {
		m.Logger.Warn("this server's copy of the state could not be put aside", "err", err)
	}
}

// verdict is how it ended.
func (m *Member) verdict(work, lost, cause error) error {
	select {
	case <-m.departed:
		m.Logger.Info("this server has left the cluster")
		return nil
	default:
	}
	if errors.Is(cause, etcd.ErrRemoved) {
		return fault.New(fault.NotFound, "cluster.member", m.Name(), errRemoved)
	}
	if errors.Is(cause, context.Canceled) {
		cause = nil
	}
	if errors.Is(work, context.Canceled) { // it was told to end, by what cause says
		work = nil
	}
	return errors.Join(cause, work, lost)
}

// keep opens the store, and keeps what belongs to it until ctx ends, or it fails.
func (m *Member) keep(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	var leading sync.WaitGroup
	defer leading.Wait()
	defer end()
	store, err := m.open(ctx)
	if err != nil || store == nil {
		return err
	}
	leading.Go(func() {
		defer m.Panics.Catch("leader of etcd", "its work", nil)
		m.shun(ctx, store)
	})
	renew := time.NewTicker(renewEvery)
	defer renew.Stop()
	know := time.NewTicker(knowEvery)
	defer know.Stop()
	for {
		m.know()
		select {
		case <-ctx.Done():
			return nil
		case <-store.Failed():
			return store.Err()
		case <-know.C:
			if m.isTurnedAway(ctx, store) {
				return fault.New(fault.NotFound, "cluster.member", m.Name(), errRemoved)
			}
		case <-renew.C:
			if is, err := m.papers.Renew(time.Now()); err != nil {
				m.Logger.Warn("this server's certificate could not be renewed", "err", err)
			} else if is {
				m.Logger.Info("this server's certificate was renewed")
			}
		}
	}
}

// isTurnedAway asks the others, when it hears no leader, whether the cluster has let this server go: it cannot know.
func (m *Member) isTurnedAway(ctx context.Context, store *etcd.Own) bool {
	if store.Led() {
		return false
	}
	for _, at := range m.papers.Others {
		asking, cancel := context.WithTimeout(ctx, standingWithin)
		_, err := m.client.Standing(asking, at)
		cancel()
		if fault.Is(err, fault.NotFound) {
			return true
		}
	}
	return false
}

// know notes where the others are, for a day on which this server does not know it from the state.
func (m *Member) know() {
	var others []string
	for _, p := range m.store.Load().Servers() {
		if p.Address != m.papers.Advertise {
			others = append(others, p.Address)
		}
	}
	if err := m.papers.Know(m.Cluster.Listen, others); err != nil {
		m.Logger.Warn("where the other servers are could not be noted", "err", err)
	}
}

// open opens the store. Without data it needs another server, and tries until one answers. nil: ctx ended first.
func (m *Member) open(ctx context.Context) (*etcd.Own, error) {
	for {
		store, err := m.tryOpen(ctx)
		switch {
		case err == nil:
			m.store.Store(store)
			return store, nil
		case ctx.Err() != nil:
			return nil, nil //nolint:nilnil,nilerr // it was told to end
		case !fault.Is(err, fault.Transient):
			return nil, err
		}
		m.wait("it reaches no other server of its cluster: " + fault.Plain(err))
		pause(ctx)
	}
}

func (m *Member) tryOpen(ctx context.Context) (*etcd.Own, error) {
	others, err := m.others(ctx)
	if err != nil {
		return nil, err
	}
	return etcd.Belong(ctx, etcd.Options{Dir: m.DataDir, Logger: m.Logger}, m.membership(others))
}

func (m *Member) membership(others map[string]string) etcd.Membership {
	return etcd.Membership{Name: m.papers.Name, Cluster: m.papers.Cluster, Address: m.papers.Advertise, Others: others,
		CA: m.papers.AuthorityFile(), Certificate: m.papers.CertificateFile(), Key: m.papers.KeyFile(),
		ServerName: papers.ServerName}
}

// others asks the other servers which ones there are, if this one has no data yet.
func (m *Member) others(ctx context.Context) (map[string]string, error) {
	if etcd.HasData(m.DataDir) {
		return nil, nil //nolint:nilnil // it needs none
	}
	if len(m.papers.Others) == 0 {
		return nil, fault.New(fault.Permanent, "cluster.begin", m.DataDir, fmt.Errorf("its state is gone, and it was "+
			"the only server of its cluster: bring the state back with hale restore BACKUP --force"))
	}
	var problems []error
	for _, at := range m.papers.Others {
		asking, cancel := context.WithTimeout(ctx, standingWithin)
		all, err := m.client.Servers(asking, at)
		cancel()
		if err != nil {
			problems = append(problems, err)
			continue
		}
		out, listed := map[string]string{}, false
		for _, s := range all.Servers {
			if s.Address == m.papers.Advertise {
				listed = true
				continue
			}
			out[s.Name] = s.Address
		}
		if !listed {
			return nil, fault.New(fault.NotFound, "cluster.begin", m.Name(), errRemoved)
		}
		return out, nil
	}
	return nil, fault.New(fault.KindOf(problems[0]), "cluster.begin", m.Name(), errors.Join(problems...))
}

func (m *Member) wait(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits = what
}

// Connect returns the store once this server has its vote, and the cluster answers. fault.Transient: not now.
func (m *Member) Connect(ctx context.Context) (*etcd.Own, error) {
	const op = "cluster.connect"
	store := m.store.Load()
	if store == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		why := m.waits
		if why == "" {
			why = "its state is being opened"
		}
		return nil, fault.New(fault.Transient, op, m.Name(), errors.New(why))
	}
	if err := store.Answers(ctx); err != nil {
		return nil, fault.New(fault.KindOf(err), op, m.Name(), fmt.Errorf("it does not reach the majority of them (%w)",
			err))
	}
	if is, listed := store.Self(); listed && is.Learner { // which it knows once it has read what they say
		if err := store.Promote(ctx); err != nil {
			return nil, fault.New(fault.Transient, op, m.Name(), fmt.Errorf("it copies the state, and has no vote "+
				"yet; if this lasts, do the others reach it at %s? (%w)", m.papers.Advertise, err))
		}
	}
	err := m.register(ctx, store)
	if err != nil && !fault.Is(err, fault.NotFound) { // that says that it was let go
		err = fault.New(fault.Transient, op, m.Name(), err)
	}
	return store, err
}

// Full says why this server has no room for the state, if it has none: then another one is to look after the fleets.
func (m *Member) Full() string {
	store := m.store.Load()
	if store == nil {
		return ""
	}
	room, err := store.Space()
	if err == nil && room.Free < room.Reserve {
		return fmt.Sprintf("its disk is full: %d MiB free in %s, below the reserve of %d MiB", room.Free>>20, m.DataDir,
			room.Reserve>>20)
	}
	return ""
}

// Gone implements door.House.
func (m *Member) Gone(ctx context.Context, id string) bool {
	store := m.store.Load()
	if store == nil {
		return false
	}
	gone, err := store.Here(ctx, gonePrefix+id)
	return err == nil && gone
}

// Peers implements door.House.
func (m *Member) Peers() http.Handler {
	if store := m.store.Load(); store != nil {
		return store.Peers()
	}
	return nil
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(again):
	}
}

// near is where this server's own commands reach it.
func near(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return listen
}
