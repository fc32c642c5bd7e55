// Package app puts hale together: it is the only place that knows every part. App is the controller as an object with
// an ordered start and stop; Plan is the same with its hands tied, on a throw-away store.
//
// It promises that Run returns when everything that it started has ended, or soon after it was told to end; that parts
// stop in the reverse order of their start; and that what a configuration's type names means is written in one function
// (connect). It does not parse, render, or decide.
package app

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"hale/internal/api/server"
	"hale/internal/api/socket"
	"hale/internal/app/backups"
	"hale/internal/app/eyes"
	"hale/internal/app/fencing"
	"hale/internal/app/lists"
	"hale/internal/app/members"
	"hale/internal/app/pools"
	"hale/internal/app/porter"
	"hale/internal/app/standby"
	"hale/internal/app/streams"
	"hale/internal/app/systemd"
	"hale/internal/app/troubles"
	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/defect"
	"hale/internal/engine"
	"hale/internal/metrics"
	"hale/internal/owner/published"
	"hale/internal/probe/satellite"
	"hale/internal/state"
	"hale/internal/state/active"
	"hale/internal/state/beliefs"
	"hale/internal/state/etcd"
	"hale/internal/state/format"
	"hale/internal/state/starts"
)

// Options are what a controller is made of. All are needed, unless it says otherwise.
type Options struct {
	Version string
	Config  *config.Config
	DataDir string // made if it does not exist
	Socket  string
	Readers string // the members of this group may read on the socket; empty: none
	Logger  *slog.Logger
	Server  string // what this server is called; empty: as the machine
	// ThisFile lets it look after fleets although the server that did so last had another configuration of them.
	ThisFile bool
	// Load reads the configuration again, for a reload; nil: it cannot be.
	Load func() (*config.Config, error)
	// Hangups ask for a reload, as the command does; nil: none come.
	Hangups <-chan os.Signal
	// ends reports whether hale ends when the work does; nil: it does.
	ends func() bool
	// onReload hears of each configuration that a reload has put in force; nil: nothing is done with it.
	onReload func(context.Context, *config.Config)
	// hears makes what takes reports of servers that stand by; nil: none do.
	hears func(*satellite.Hub, defect.Witness) *eyes.Reception
}

func (o Options) validate() error {
	var problems []error
	for what, missing := range map[string]bool{
		"Config": o.Config == nil, "DataDir": o.DataDir == "", "Socket": o.Socket == "", "Logger": o.Logger == nil,
	} {
		if missing {
			problems = append(problems, errors.New(what+" is missing"))
		}
	}
	return errors.Join(problems...)
}

// App is one controller.
type App struct {
	opts   Options
	server string
}

// New checks the options. It starts and opens nothing.
func New(o Options) (*App, error) {
	if err := o.validate(); err != nil {
		return nil, fault.New(fault.Invalid, "app.new", "", err)
	}
	if o.Server == "" {
		name, err := os.Hostname()
		if err != nil {
			return nil, fault.New(fault.Permanent, "app.new", "", err)
		}
		o.Server = name
	}
	return &App{opts: o, server: o.Server}, nil
}

// endWithin is how long Run may take to end when it was told to.
const endWithin = 1500 * time.Millisecond

// Run controls the fleets until ctx ends, and returns nil then, or soon after. fault.Conflict: another controller uses
// the data folder or the socket. Any other error says what could not be started, or failed for good.
func (a *App) Run(ctx context.Context) error { return endsSoon(ctx, a.opts.Logger, a.work) }

// endsSoon does the work until ctx ends. What has not ended soon after that is left as it is: as a crash would leave
// it, and as the next start takes it up. The process is expected to end.
func endsSoon(ctx context.Context, log *slog.Logger, work func(context.Context) error) error {
	ended := make(chan error, 1)
	go func() { // ends with ctx, or else with the process
		ended <- defect.Try(func() error { return work(ctx) })
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(endWithin):
		log.Warn("hale ends without waiting any longer for a part of it; the next start goes on as after a crash")
		return nil
	}
}

// work opens the store, and controls the fleets until ctx ends.
func (a *App) work(ctx context.Context) error {
	if a.opts.Config.Etcd.Used() {
		return a.share(ctx, standby.Options{Look: a.looker(nil)}, nil)
	}
	if a.opts.Config.Cluster.Used() {
		return a.belong(ctx)
	}
	if members.InCluster(a.opts.DataDir) {
		return fault.New(fault.Invalid, "app.start", a.opts.DataDir, errors.New("its state is that of a server of a "+
			"cluster, and the configuration says nothing of one: add state: {cluster: …}; to go on alone, say hale "+
			"server leave on the other servers first, one after the other, and see docs/guide/cluster.md"))
	}
	store, err := etcd.Open(ctx, etcd.Options{Dir: a.opts.DataDir, Logger: a.opts.Logger})
	if err != nil {
		return err
	}
	err = errors.Join(a.guard(ctx, store), store.Close())
	if lost := store.Err(); errors.Is(lost, etcd.ErrMoved) { // all else that failed is for that
		a.opts.Logger.Debug("what ended for the data folder", "err", err)
		return lost
	}
	return err
}

// belong is a server of hale's own cluster, and controls the fleets whenever it is the active one.
func (a *App) belong(ctx context.Context) error {
	defects := defect.NewRegister(a.opts.Logger)
	m, err := members.New(members.Options{Cluster: a.opts.Config.Cluster, DataDir: a.opts.DataDir,
		Version: a.opts.Version, Logger: a.opts.Logger, Panics: defects.Witness(defect.Surface, "cluster")})
	if err != nil {
		return err
	}
	now := *a
	now.server = m.Name()
	return m.During(ctx, func(ctx context.Context) error {
		return now.share(ctx, standby.Options{Unable: m.Full, Unread: members.Unread, Look: now.looker(m.Calling),
			Connect: func(ctx context.Context) (standby.Store, error) {
				own, err := m.Connect(ctx)
				return ours{own}, err
			}}, m)
	})
}

// ours is the store of a server of hale's own cluster, which outlives its use.
type ours struct{ *etcd.Own }

// Close implements standby.Store.
func (ours) Close() error { return nil }

// looker is this server as a vantage of the active one, while it stands by. ours is how TLS is spoken in hale's own
// cluster; nil: it is in none.
func (a *App) looker(ours func() *tls.Config) func(context.Context, active.Hearing, active.Token) error {
	return eyes.Looker{Name: a.server, Version: a.opts.Version, Logger: a.opts.Logger, Ours: ours}.Look
}

// share controls the fleets whenever this server is the active one of those that share the store. Those that stand by
// report at the door of hale's own cluster; nil: it is in none.
func (a *App) share(ctx context.Context, o standby.Options, door eyes.Door) error {
	o.Config, o.Load, o.Server, o.Version = a.opts.Config, a.opts.Load, a.server, a.opts.Version
	o.Anyway, o.Logger = a.opts.ThisFile, a.opts.Logger
	o.Surface = func(ctx context.Context, waits func() string) error {
		listener, err := socket.Listen(ctx, a.opts.Socket, a.opts.Readers)
		if err != nil {
			return err
		}
		systemd.Lives(ctx, a.opts.Logger)
		return standby.Answer(ctx, listener, waits)
	}
	o.Work = func(working context.Context, c *config.Config, office *active.Office) error {
		now := *a
		now.opts.Config = c
		now.opts.ends = func() bool { return ctx.Err() != nil }
		now.opts.onReload = func(ctx context.Context, c *config.Config) {
			standby.Note(ctx, office, c, a.opts.Logger)
		}
		now.opts.hears = func(h *satellite.Hub, panics defect.Witness) *eyes.Reception {
			return eyes.New(eyes.Options{Hub: h, Office: office, Door: door, Logger: a.opts.Logger, Panics: panics})
		}
		return now.furnish(working, office)
	}
	return standby.Run(ctx, o)
}

// guard runs what lives on the store, and ends it when the store fails.
func (a *App) guard(ctx context.Context, store *etcd.Store) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer stop()
		select {
		case <-ctx.Done():
		case <-store.Failed():
		}
	})
	err := a.furnish(ctx, store)
	stop()
	wg.Wait()
	return errors.Join(err, store.Err())
}

// furnish makes the parts that live on the store, and serves.
func (a *App) furnish(ctx context.Context, store state.Store) error {
	if err := a.recognise(ctx, store); err != nil {
		return err
	}
	were, err := recallConnections(ctx, store)
	if err != nil {
		return err
	}
	if err := unmoved(ctx, store, a.opts.Config); err != nil {
		return err
	}
	renamed, err := sinceLast(ctx, store, a.opts.Config)
	if err != nil {
		return err
	}
	c := withheld(a.opts.Config, renamed)
	s, err := newSite(c, were, a.opts.Logger)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.restore(ctx, store); err != nil {
		return err
	}
	if a.opts.hears != nil {
		s.eyes = a.opts.hears(s.satellites, s.defects.Witness(defect.Probes, ""))
		s.eyes.Take(c)
	}
	s.satellites.Take(satellitesOf(c.Satellites, a.server))
	troubles.Warn(c, a.opts.Logger)
	s.porter = porter.New(store, a.opts.Logger, s.defects)
	s.porter.Take(c)
	s.troubles = troubles.New(c, a.opts.Logger)
	s.troubles.Look(ctx)
	s.teller = newTeller(c, a.opts.Version, a.server, s.defects)
	s.fencing = fencing.New(c, a.opts.Logger, s.defects)
	a.outward(c, store, s)
	err = s.staff(staffing{store: store, server: a.server, specs: c.Fleets, wrap: unwrapped,
		counts: metrics.NewCounts(),
		log:    a.opts.Logger, version: a.opts.Version})
	if err == nil {
		err = s.noteConnections(ctx, s.adapters)
	}
	if err != nil {
		return err
	}
	d := newDesk(a.opts, s)
	d.begin(a.opts, renamed)
	return a.serve(ctx, store, s, d)
}

// outward makes the parts by which hale tells other programs, unasked, what it knows.
func (a *App) outward(c *config.Config, store state.Store, s *site) {
	s.streams = streams.New(c, streams.Options{Store: store, Version: a.opts.Version, Server: a.server,
		Defects: s.defects, Log: a.opts.Logger})
	fleets := func() []published.Fleet { return s.engine.Status() } // once there is an engine
	s.pools = pools.New(c, pools.Options{Version: a.opts.Version, Defects: s.defects, Log: a.opts.Logger,
		Fleets: fleets})
	s.lists = lists.New(c, lists.Options{Fleets: fleets, Log: a.opts.Logger})
	s.troubles.Ask(troubles.Parts{Receiver: s.receiver, Porter: s.porter, Streams: s.streams, Pools: s.pools,
		Lists: s.lists, Satellites: s.satellites, Eyes: s.eyes})
}

// recognise makes sure that the store is one that this version can use, and says if it came out of a backup since the
// last start.
func (a *App) recognise(ctx context.Context, store state.Store) error {
	if err := format.Open(ctx, store, a.opts.Version); err != nil {
		return backups.Naming(a.opts.DataDir, err)
	}
	restored, ever, err := beliefs.LastRestore(ctx, store)
	if err != nil || !ever {
		return err
	}
	known, err := starts.Known(ctx, store)
	if n := len(known); err == nil && (n == 0 || known[n-1].At.Before(restored.At)) {
		a.opts.Logger.Warn("the state was restored from a backup: what happened since that was made is not in it",
			"made", restored.Made, "restored", restored.At)
	}
	return err
}

// lostWithin is how long the page about a lost store may hold up the end.
const lostWithin = 10 * time.Second

// tellLost waits for ctx to end, and pages when it did because the store failed for good: the store is what keeps all
// other messages.
func tellLost(ctx context.Context, store state.Store, e *engine.Engine) {
	<-ctx.Done()
	may, ok := store.(interface{ Err() error })
	if !ok || may.Err() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lostWithin)
	defer cancel()
	e.TellStoreLost(ctx, may.Err())
}

// surface is what people and tools ask; it says that hale stops when working ends.
func (a *App) surface(working context.Context, store state.Store, s *site, d *desk) *server.Server {
	return server.New(server.Options{
		Version:  a.opts.Version,
		Server:   a.server,
		Status:   s.engine.Status,
		Count:    s.engine.Count,
		Store:    store,
		Desk:     d,
		Logger:   a.opts.Logger,
		Breaking: d,
		Targets:  s.teller.names,
		Test:     s.teller.Test,
		Nudge:    s.engine.Nudge,
		TakeOver: s.engine.TakeOver, Try: s.engine.Try,
		Fencing:    s.fencing,
		Probes:     s.probes,
		ProbeLog:   d.ProbeLog,
		Defects:    s.defects,
		Troubles:   s.troubles.All,
		Satellites: s.satellites,
		Plans:      d.providerPlans,
		Stored:     s.engine.StoreStatus,
		Unowned:    s.engine.Unowned,
		Stopping:   func() bool { return working.Err() != nil },

		Monitoring: a.monitoring(working, store, s, d),
		Audit:      s.porter.Book,
		Risks:      s.porter.Risks,
	})
}

// sayEnd says when hale begins to stop.
func (a *App) sayEnd(ctx context.Context) {
	<-ctx.Done()
	a.opts.Logger.Info("hale is stopping")
}

// serve runs the site, and beside it the narrator and the API, which end after it: what stops can be watched.
func (a *App) serve(ctx context.Context, store state.Store, s *site, d *desk) error {
	log := a.opts.Logger
	listener, err := socket.Listen(ctx, a.opts.Socket, a.opts.Readers)
	if err != nil {
		return err
	}
	working, stopWork := context.WithCancel(ctx)
	defer stopWork()
	at := a.surface(working, store, s, d)
	surfaces, stopSurfaces := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSurfaces()
	var wg sync.WaitGroup
	var unserved error
	tells := streams.NewNarrator(ctx, store, log, s.how.counts.Take)
	keep := func(ctx context.Context, what string, work func(context.Context)) {
		wg.Go(func() { s.defects.Keep(ctx, defect.Place{Part: defect.Surface, Name: what}, work) })
	}
	keep(surfaces, "journal in the log", tells.Run)
	keep(surfaces, "streams", s.streams.Run)
	keep(working, "pools of load balancers", s.pools.Run)
	keep(working, "lists of machines", s.lists.Run)
	keep(working, "reload", func(ctx context.Context) { d.listen(ctx, a.opts.Hangups) })
	keep(working, "what hale lacks", s.troubles.Run)
	keep(surfaces, "tests of fences", s.fencing.Run)
	keep(surfaces, "porter", s.porter.Run)
	supervised := systemd.By(s.engine.Stuck, log)
	supervised.Ends = a.opts.ends
	keep(working, "systemd", supervised.Run)
	keep(working, "the end in the log", a.sayEnd)
	signs := lifeSigns{teller: s.teller, idle: s.engine.Idle, acting: s.how.counts.Beat, panics: s.teller.panics,
		log: log}
	keep(working, "signs of life", signs.run)
	wg.Go(func() {
		defer stopWork()
		defer s.defects.Catch(defect.Place{Part: defect.Surface, Name: "api"}, "its work", func(p *defect.Panic) {
			unserved = p
		})
		unserved = at.Serve(surfaces, server.Door{Listener: listener}, s.porter.Door())
	})
	wg.Go(func() {
		defer s.defects.Catch(defect.Place{Part: defect.Surface, Name: "page of a lost store"}, "its work", nil)
		tellLost(working, store, s.engine)
	})
	log.Info("hale is up", "version", a.opts.Version, "data", a.opts.DataDir, "socket", a.opts.Socket, "fleets",
		len(s.config.Fleets))
	err = s.run(working)
	stopSurfaces()
	wg.Wait()
	return errors.Join(err, unserved)
}
