package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"hale/internal/adapters"
	"hale/internal/app/eyes"
	"hale/internal/app/fencing"
	"hale/internal/app/lists"
	"hale/internal/app/pools"
	"hale/internal/app/porter"
	"hale/internal/app/streams"
	"hale/internal/app/troubles"
	"hale/internal/config"
	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/engine"
	"hale/internal/engine/beside"
	"hale/internal/engine/poller"
	"hale/internal/hook"
	"hale/internal/hook/ways"
	"hale/internal/kinds"
	"hale/internal/metrics"
	"hale/internal/probe"
	"hale/internal/probe/bulkprobe"
	"hale/internal/probe/heartbeat"
	"hale/internal/probe/netprobe"
	"hale/internal/probe/quorum"
	"hale/internal/probe/satellite"
	"hale/internal/program"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/state"
	"hale/internal/state/beliefs"
)

// adapter is one provider of the configuration, connected.
type adapter struct {
	kinds.Connected
	config config.Provider // that it was connected by
	// world is the simulated provider's; nil for real ones.
	world *simulated.World
}

// connect makes the adapter of a provider. It connects to nothing yet.
func (s *site) connect(c *config.Config, p config.Provider) (adapter, error) {
	if p.Settings == nil {
		return adapter{}, fault.New(fault.Invalid, "app.connect", string(p.Name),
			fmt.Errorf("there is no provider type %q", p.Type))
	}
	made, err := p.Settings.Connect(context.Background(), kinds.Connection{
		Name: p.Name, Hosts: p.Hosts, Logger: s.log.With("provider", p.Name), Panics: s.panics(p.Name),
		Network: s.network, Checks: checksOf(p.Name, c.Fleets), Canaries: vantageOf(c.Vantage, s.log).Canaries,
	})
	world, _ := made.Transport.(*simulated.World)
	return adapter{config: p, Connected: made, world: world}, err
}

// checksOf returns what the machines of the provider are asked.
func checksOf(p fleet.ProviderName, fleets []policy.Spec) []policy.Check {
	var checks []policy.Check
	for _, f := range fleets {
		if f.Provider == p {
			checks = append(append(checks, f.Checks...), f.Tells...)
		}
	}
	return checks
}

// site is the adapters of a configuration and, once staffed, the engine with its probes.
type site struct {
	config   *config.Config
	log      *slog.Logger
	network  *netprobe.Net
	pool     *bulkprobe.Pool // nil: this system has none
	defects  *defect.Register
	vantage  beside.Vantage
	adapters []adapter // in the configuration's order
	how      staffing
	watches  watches
	engine   *engine.Engine
	teller   *teller
	fencing  *fencing.Fencing // nil: no host has a fence
	receiver *heartbeat.Receiver
	// satellites is where probes in other networks report.
	satellites *satellite.Hub
	eyes       *eyes.Reception  // where servers that stand by report; nil: nowhere
	gauges     *adapters.Gauges // nil: it is not staffed
	porter     *porter.Porter   // nil: there is no API
	streams    *streams.Streams
	pools      *pools.Pools
	lists      *lists.Lists
	troubles   *troubles.Troubles // nil: not looked for
	machines   atomic.Bool        // whether each has metrics of its own
	begun      chan struct{}      // closed when launch may be called
	launch     func(w *watch)     // lets a watch work
}

type watches map[fleet.Name]*watch

// prober is a probe engine that works while Run runs.
type prober interface {
	probe.Engine
	Run(ctx context.Context) error
}

// watch is one fleet's probe engine.
type watch struct {
	prober
	fleet     fleet.Name
	transport probe.Transport
	agents    provider.GuestPinger
	shared    bool                // satellites look at its machines, too
	beats     *heartbeat.Register // nil: its machines report to the transport
	stop      func()              // ends its work, and waits for that
}

// newSite makes the adapters. The caller closes the site. A provider keeps its old connection while its new address
// waits for a person's word: see connections.
func newSite(c *config.Config, were connections, log *slog.Logger) (*site, error) {
	s := &site{teller: &teller{}, config: c, log: log, defects: defect.NewRegister(log),
		network: netprobe.Network(), vantage: vantageOf(c.Vantage, log), begun: make(chan struct{})}
	s.machines.Store(c.Metrics.Machines)
	s.receiver = heartbeat.New(log, s.defects.Witness(defect.Heartbeats, ""))
	s.receiver.Take(placeOf(c.Heartbeats), c.Fleets)
	s.satellites = satellite.New(log, s.defects.Witness(defect.Probes, ""))
	s.pool = poolOf(log, s.defects.Witness(defect.Probes, ""))
	for _, p := range c.Providers {
		known := were.inForce(p)
		if !p.SameAddress(known) {
			log.Warn("the provider has another address in the configuration, which waits for a person's word: see "+
				"hale apply; until then it is asked where it was", "provider", p.Name)
		}
		a, err := s.connect(c, known)
		if err != nil {
			s.close()
			return nil, err
		}
		s.adapters = append(s.adapters, a)
	}
	return s, nil
}

// poolOf returns the shards that probe the network; nil where this system has none, and all is asked in the ordinary
// way.
func poolOf(log *slog.Logger, panics defect.Witness) *bulkprobe.Pool {
	pool, err := bulkprobe.New(bulkprobe.Options{Panics: panics})
	if err != nil {
		log.Info("checks are made in the ordinary way, which costs more where there are many", "err", err)
		return nil
	}
	return pool
}

// vantageOf returns the canaries as configured, with the gateway where it is asked for and the system names one.
func vantageOf(v config.Vantage, log *slog.Logger) beside.Vantage {
	out := beside.Vantage{Canaries: slices.Clone(v.Canaries), Every: v.Every, Timeout: v.Timeout}
	if !v.Gateway {
		return out
	}
	gateway, err := netprobe.Gateway()
	switch {
	case err != nil || !gateway.IsValid():
		log.Warn("the system names no default gateway to be a canary", "err", err)
	case !slices.Contains(out.Canaries, gateway):
		out.Canaries = append(out.Canaries, gateway)
	}
	return out
}

// close ends the connections of all adapters.
func (s *site) close() {
	for _, a := range s.adapters {
		s.disconnect(a)
	}
	if s.gauges != nil {
		s.gauges.Close()
	}
	if s.pool != nil {
		s.pool.Close()
	}
	if err := s.network.Close(); err != nil {
		s.log.Warn("the probes' sockets were not closed well", "err", err)
	}
}

func (s *site) disconnect(a adapter) {
	if err := provider.Guarded(a.Provider, s.panics(a.config.Name)).Close(); err != nil {
		s.log.Warn("a provider was not closed well", "provider", a.config.Name, "err", err)
	}
}

// restore puts the machines that the store believes in back into the simulated worlds, which live in memory only:
// there, a restart of hale is no failure of all machines.
func (s *site) restore(ctx context.Context, store state.Store) error {
	for _, a := range s.adapters {
		if err := a.restore(ctx, store, s.config.Fleets); err != nil {
			return err
		}
	}
	return nil
}

// restore puts the fleets' machines back into the adapter's world, if it is a simulated one.
func (a adapter) restore(ctx context.Context, store state.Store, fleets []policy.Spec) error {
	if a.world == nil {
		return nil
	}
	installation, err := beliefs.Installation(ctx, store)
	if err != nil {
		return err
	}
	for _, spec := range fleets {
		if spec.Provider != a.config.Name {
			continue
		}
		beliefs, err := beliefs.All(ctx, store, spec.Name)
		if err != nil {
			return err
		}
		for _, b := range beliefs {
			if err := plant(a.world, installation, spec, b.Machine); err != nil {
				return err
			}
		}
	}
	return a.populate()
}

// populate makes the machines of other owners, unless they are there already. Each has the same id at every start of
// hale.
func (a adapter) populate() error {
	hosts := []fleet.HostName{""}
	if len(a.config.Hosts) > 0 {
		hosts = nil
		for _, h := range a.config.Hosts {
			hosts = append(hosts, h.Name)
		}
	}
	settings, _ := a.config.Settings.(simulated.Settings)
	for i, name := range settings.Machines {
		id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(string(a.config.Name)+"/"+name)).String()
		err := a.world.Plant(fleet.Instance{ID: fleet.InstanceID(id), Name: name, Host: hosts[i%len(hosts)]})
		if err != nil && !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return nil
}

func plant(world *simulated.World, installation fleet.Installation, spec policy.Spec, m belief.Machine) error {
	if m.Current.None() {
		return nil
	}
	if m.Current.Adopted {
		return world.Plant(fleet.Instance{
			ID: m.Current.ID, Name: m.Alias, Host: m.Current.Host, Network: m.Current.Network,
			Metadata: spec.Adopt.Select.Metadata, Tags: fleet.TagsOf(spec.Adopt.Select.Tags),
		})
	}
	return world.Plant(fleet.Instance{
		ID: m.Current.ID, Name: string(m.Name), Host: m.Current.Host, Network: m.Current.Network,
		Metadata: spec.Template.Metadata,
		Mark: fleet.Mark{
			Installation: installation, Fleet: spec.Name, Machine: m.Name, Generation: m.Current.Generation,
			Certified: m.Current.Certified,
		},
	})
}

// adapterOf returns the one of the name. A sound configuration has it.
func adapterOf(adapters []adapter, name fleet.ProviderName) adapter {
	for _, a := range adapters {
		if a.config.Name == name {
			return a
		}
	}
	return adapter{}
}

// staffing says how a site is worked.
type staffing struct {
	store  state.Store
	server string
	specs  []policy.Spec
	// wrap decorates each provider.
	wrap func(provider.Provider) provider.Provider
	// counts is what calls and writes are counted in; nil: they are not.
	counts *metrics.Counts
	log    *slog.Logger
	// version is hale's, as it calls itself to sources of metrics.
	version string
}

// staff makes the engine and a probe engine for each fleet.
func (s *site) staff(how staffing) error {
	s.how, s.gauges = how, adapters.NewGauges(how.version)
	setup, all := s.setup(s.config, s.adapters, how.specs)
	setup.Vantage, s.watches = s.vantage, all
	options := engine.Options{
		Store: how.store, Server: how.server, Vantage: setup.Vantage, Sources: setup.Sources, Fleets: setup.Fleets,
		Logger: how.log, Post: engine.Post{Find: s.teller.find, Words: s.teller.words.Message}, Defects: s.defects,
		Room: roomOf(how.store), Gauges: s.gauges.Open, Members: s.pools.Said,
	}
	if how.counts != nil {
		options.Called, options.Committed = how.counts.Called, how.counts.Committed
	}
	var err error
	s.engine, err = engine.New(options)
	return err
}

// roomOf returns what tells how much room a store has; nil: it has no disk.
func roomOf(s state.Store) func() (state.Space, error) {
	if on, ok := s.(state.Measured); ok {
		return on.Space
	}
	return nil
}

// addresses returns those that the operator names.
func addresses(hosts []kinds.Host) map[fleet.HostName]netip.Addr {
	out := map[fleet.HostName]netip.Addr{}
	for _, h := range hosts {
		if h.Address.IsValid() {
			out[h.Name] = h.Address
		}
	}
	return out
}

// setup is what the engine is told to look after, and by which probe engines. A fleet that is probed in the same way as
// before keeps its own.
func (s *site) setup(c *config.Config, adapters []adapter, specs []policy.Spec) (engine.Setup, watches) {
	var setup engine.Setup
	for _, p := range c.Providers {
		a := adapterOf(adapters, p.Name)
		setup.Sources = append(setup.Sources, poller.Source{
			Name: p.Name, Adapter: s.how.wrap(a.Provider), Watcher: a.Watcher, Poll: p.Poll, ListWithin: p.ListWithin,
			Runner: a.Runner, Hooks: s.hooksOf(a), Fencer: s.fencing.Of(p.Name), Addresses: addresses(p.Hosts),
		})
	}
	all := watches{}
	for _, spec := range specs {
		a := adapterOf(adapters, spec.Provider)
		transport := a.Transport
		agents, _ := a.Provider.(provider.GuestPinger) // nil where it cannot: then they are unknown
		w := s.watches[spec.Name]
		if w == nil || w.transport != transport || w.agents != agents || w.shared != spec.Shared() {
			w = s.watch(&spec, a, transport, agents)
		}
		all[spec.Name] = w
		setup.Fleets = append(setup.Fleets, engine.Fleet{Spec: spec, Probes: w.prober})
	}
	return setup, all
}

// hooksOf is what runs hooks for the provider's machines: for real, unless these are simulated.
func (s *site) hooksOf(a adapter) hook.Runner {
	if a.Hooks != nil {
		return a.Hooks
	}
	return ways.Ways{Programs: program.Here{}, Version: s.how.version}
}

// watch makes a probe engine for the fleet. Simulated machines report, and are in pools, within their world.
func (s *site) watch(spec *policy.Spec, a adapter, transport probe.Transport, agents provider.GuestPinger) *watch {
	name := spec.Name
	w := &watch{fleet: name, transport: transport, agents: agents, shared: spec.Shared()}
	options := netprobe.Options{Agents: agents, Panics: s.defects.Witness(defect.Check, string(name))}
	if a.world == nil {
		w.beats = s.receiver.Register(name)
		options.Hearing, options.Pools = w.beats, s.pools
	}
	w.prober = s.prober(transport, options)
	if w.shared {
		w.prober = quorum.New(s.how.server, w.prober, s.satellites.Panel())
	}
	return w
}

// satellitesOf is where satellites report, and which there are.
func satellitesOf(c config.Satellites, server string) satellite.Settings {
	return satellite.Settings{Tokens: c.Tokens, StaleAfter: c.Stale(), Server: server,
		Place: satellite.Place{Listen: c.Listen, Certificate: c.Certificate, Key: c.Key}}
}

// placeOf is where is listened for heartbeats.
func placeOf(h config.Heartbeats) heartbeat.Place {
	return heartbeat.Place{Listen: h.Listen, Address: h.Address, Certificate: h.Certificate, Key: h.Key}
}

// prober makes the engine that probes over the transport: the network by the pool's shards, as far as there are any and
// they can ask what a check asks.
func (s *site) prober(transport probe.Transport, options netprobe.Options) prober {
	ordinary := netprobe.New(transport, options)
	if s.pool == nil || transport != probe.Transport(s.network) {
		return ordinary
	}
	return s.pool.Engine(ordinary)
}

// run works until ctx ends. The probes begin before the engine and end after it.
func (s *site) run(ctx context.Context) error {
	probing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var wg sync.WaitGroup
	var failures problems
	s.launch = func(w *watch) {
		own, stop := context.WithCancel(probing)
		ended := make(chan struct{})
		wg.Go(func() {
			defer close(ended)
			defer s.defects.Catch(defect.Place{Part: defect.Probes, Of: string(w.fleet)}, "its work",
				func(p *defect.Panic) {
					failures.add(p)
				})
			failures.add(w.Run(own))
			if w.beats != nil {
				w.beats.Close()
			}
		})
		w.stop = func() {
			stop()
			<-ended
		}
	}
	shards, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var pool sync.WaitGroup
	if s.pool != nil {
		pool.Go(func() {
			defer s.defects.Catch(defect.Place{Part: defect.Probes}, "its work", func(p *defect.Panic) {
				failures.add(p)
			})
			failures.add(s.pool.Run(shards))
		})
	}
	pool.Go(func() { s.defects.Keep(shards, defect.Place{Part: defect.Heartbeats}, s.receiver.Run) })
	pool.Go(func() { s.defects.Keep(shards, defect.Place{Part: defect.Probes}, s.satellites.Run) })
	pool.Go(func() { s.defects.Keep(shards, defect.Place{Part: defect.Probes}, s.eyes.Run) })
	for _, w := range s.watches {
		s.launch(w)
	}
	close(s.begun)
	err := s.engine.Run(ctx)
	stop()
	wg.Wait()
	end()
	pool.Wait()
	return errors.Join(err, failures.all())
}

// panics is who is told of those of a provider's adapter, on goroutines of its own too.
func (s *site) panics(p fleet.ProviderName) defect.Witness {
	return s.defects.Witness(defect.Provider, string(p))
}

// problems gathers errors from several goroutines.
type problems struct {
	mu   sync.Mutex
	errs []error
}

func (p *problems) add(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errs = append(p.errs, err)
}

func (p *problems) all() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.errs...)
}

// unwrapped is the provider itself.
func unwrapped(p provider.Provider) provider.Provider { return p }
