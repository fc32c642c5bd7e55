package sim

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/drains"
	"hale/internal/sim/judge"
	"hale/internal/sim/law"
	"hale/internal/sim/pool"
	"hale/internal/sim/score"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// Options are what one run consists of.
type Options struct {
	Spec  policy.Spec
	Hosts []world.Host // default: one without a name
	// Homes are the hosts that the machines stand on at the start, by their number; nil: they are spread evenly.
	Homes []string
	// Boot, BootMost, Latency and LatencyMost are the world's; zero means its defaults.
	Boot, BootMost, Latency, LatencyMost time.Duration
	Poll                                 time.Duration // between full listings; default DefaultPoll
	Servers                              int           // how many hale servers share the fleet; default 1
	Seed                                 uint64
	Horizon                              time.Duration // how long faults may begin
	// Calm is how much longer the run goes on without new faults, so that what was begun can end. Default 6 h.
	Calm time.Duration
	Plan []script.Event // what happens, sorted by time
	// Operator is the mean time after which a person who was paged mends what hale left to them; zero: no person comes.
	Operator time.Duration
	// Unbrakes has that person take a brake of hale's own off, too, when they come for it.
	Unbrakes bool
	// Burden is the load on the fleet, where it bears one.
	Burden Burden
	// Empty begins with nothing built; else every machine runs, certified, at the start.
	Empty bool
	Trace io.Writer // a line per event and record; nil: none
	// History is filled with what the run was like; nil: none is kept.
	History *chronicle.History
	// Rival replaces hale's judgement by a naive policy; empty: hale.
	Rival Rival

	settled func(*server) // is told of each round that was stored whole; may be nil
}

// DefaultPoll is the time between two full listings where a run does not say.
const DefaultPoll = 5 * time.Second

// Epoch is the wall time at which every simulated world begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const installation = "simulated"

// Result is how a run went.
type Result struct {
	Score      score.Score
	Violations []judge.Violation
}

// stage is one run.
type stage struct {
	options Options
	spec    policy.Spec
	wanted  policy.Spec // as the operator edited it
	w       *world.World
	store   *store
	servers crew
	hot     []*server
	double  *stage // of the second hale that was started on a copy of the store; nil: there is none
	first   *stage // of the first hale, where this is the second's; nil: it is the first
	judge   *judge.Judge
	// installation is what the marks of what this hale builds say.
	installation string
	score        *score.Score
	trace        *chronicle.Trace
	rival        *rival
	ways         map[script.Verb]act
	nonces       int          // that starts of hale were given; of the first hale's
	disks        []string     // the template's kept disks that outlive instances
	allUp        []fleet.Host // the hosts as a listing shows them when all answer
	beside       []*world.VM  // machines of other fleets
	pools        []*pool.Balancer
	drains       *drains.Judge
	ahead        []*situation.Ahead // the fleets that come first and do not serve, once for each event
}

// crew is the hale servers of a run.
type crew []*server

func (c crew) alone() bool { return len(c) == 1 }

// Run plays a run to its end. It is deterministic: equal options give equal results and equal traces.
func Run(o Options) (Result, error) {
	s, err := newStage(o)
	if err != nil {
		return Result{}, err
	}
	s.play()
	return s.result(), nil
}

func (s *stage) result() Result {
	s.score.Close()
	return Result{Score: *s.score, Violations: s.judge.Broke()}
}

// Check says what is wrong with a run before it begins: events about machines, hosts or servers that it does not have.
func Check(o Options) error {
	var problems []error
	for _, e := range o.Plan {
		if err := fits(e, o); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(append(problems, o.housed(), o.named())...)
}

// Standing returns the host that each machine stands on at the start, by its number.
func (o Options) Standing() []string {
	if o.Homes != nil {
		return o.Homes
	}
	names := []string{""}
	if len(o.Hosts) > 0 {
		names = names[:0]
		for _, h := range o.Hosts {
			names = append(names, h.Name)
		}
		slices.Sort(names)
	}
	homes := make([]string, o.Spec.Size)
	for i := range homes {
		homes[i] = names[i*len(names)/len(homes)]
	}
	return homes
}

// housed says what is wrong with where the machines stand.
func (o Options) housed() error {
	if o.Homes != nil && len(o.Homes) != o.Spec.Size {
		return fmt.Errorf("%d homes for %d machines", len(o.Homes), o.Spec.Size)
	}
	for _, name := range o.Homes {
		if !world.Has(o.Hosts, world.Domain{Kind: "host", Name: name}) {
			return fmt.Errorf("there is no host %q", name)
		}
	}
	return nil
}

// fits says why the event cannot happen in the run.
func fits(e script.Event, o Options) error {
	if err := e.Check(); err != nil {
		return err
	}
	switch script.SubjectKind(e.Subject) {
	case "machine", "person":
		return fitsMachine(e, o)
	case "metric", "hook", "fleet", "load":
		return fitsSpec(e, o)
	case "server":
		if n, ok := fleet.MachineName(e.Subject).Ordinal(); !ok || n > max(o.Servers, 1) {
			return fmt.Errorf("%s: the servers are hale-1 to hale-%d", e, max(o.Servers, 1))
		}
	case "operator":
		if e.Verb == script.Mistypes && !asksPort(o.Spec.Checks, e.Arg) {
			return fmt.Errorf("%s: fleet %s has no check %s that asks at a port", e, o.Spec.Name, e.Arg)
		}
		if e.Edits() {
			return nil
		}
		_, err := e.Order(o.Spec.Name, o.Hosts)
		return err
	case "domain":
		if d, err := verbs.ParseDomain(e.Subject); err != nil || d.Kind != "all" && !world.Has(o.Hosts, d) {
			return fmt.Errorf("%s: no host lies in %s", e, e.Subject)
		}
	}
	return nil
}

// hasHook reports whether the fleet has a hook of the name at any moment.
func hasHook(spec *policy.Spec, name fleet.HookName) bool {
	for _, h := range spec.AllHooks() {
		if h.Name == name {
			return true
		}
	}
	return false
}

// fitsSpec says what is wrong with an event about a part of the policy.
func fitsSpec(e script.Event, o Options) error {
	switch script.SubjectKind(e.Subject) {
	case "metric":
		if name, _ := verbs.ParseMetric(e.Subject); o.Spec.Metric(fleet.MetricName(name)) == nil {
			return fmt.Errorf("%s: fleet %s has no metric %s", e, o.Spec.Name, name)
		}
	case "hook":
		if name, _ := verbs.ParseHook(e.Subject); !hasHook(&o.Spec, fleet.HookName(name)) {
			return fmt.Errorf("%s: fleet %s has no hook %s", e, o.Spec.Name, name)
		}
	case "fleet":
		if name := ahead(e); !slices.Contains(o.Spec.After, name) {
			return fmt.Errorf("%s: fleet %s does not come after fleet %s: write after %s in the world", e, o.Spec.Name,
				name, name)
		}
	case "load":
		if o.Burden.Capacity == 0 {
			return fmt.Errorf("%s: nothing bears a load: say how much a machine takes, as capacity 100", e)
		}
	}
	return nil
}

// fitsMachine says why the event cannot happen to a machine of the fleet.
func fitsMachine(e script.Event, o Options) error {
	m := fleet.MachineName(e.Subject)
	if e.Verb == verbs.Copies {
		m = fleet.MachineName(e.Arg)
	}
	last := o.largest() + o.Spec.Beside()
	if n, ok := m.Ordinal(); !ok || m.Fleet() != o.Spec.Name || n > last {
		return fmt.Errorf("%s: fleet %s has machines %s to %s", e, o.Spec.Name, o.Spec.Name.Machine(1),
			o.Spec.Name.Machine(last))
	}
	named := func(c *policy.Check) bool { return string(c.Name) == e.Arg }
	if e.Verb == verbs.FailsCheck && !slices.ContainsFunc(o.Spec.Asked(), named) {
		return fmt.Errorf("%s: fleet %s has no check %s", e, o.Spec.Name, e.Arg)
	}
	return nil
}

func newStage(o Options) (*stage, error) {
	if err := Check(o); err != nil {
		return nil, err
	}
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	if o.Calm == 0 {
		o.Calm = 6 * time.Hour
	}
	o.Servers = max(o.Servers, 1)
	s := &stage{
		options: o, spec: o.Spec, wanted: o.Spec, score: &score.Score{},
		trace: chronicle.NewTrace(o.Trace, o.History), ways: ways(),
		installation: installation,
	}
	s.w = world.New(world.Options{
		Seed: o.Seed, Hosts: o.Hosts, Boot: o.Boot, BootMost: o.BootMost, Latency: o.Latency,
		LatencyMost: o.LatencyMost,
		Proven:      law.Proven(&o.Spec),
	})
	s.disks = attached(&o.Spec)
	o.History.Begin(o.Spec.Name)
	s.store = newStore(o.Most())
	s.judge = judge.New(s, s.eyes(), judge.Options{
		Spec: o.Spec, Installation: installation, Poll: o.Poll, Most: o.Most(), Hosts: o.Hosts, Naive: o.Rival != "",
		Horizon: o.Horizon, Calm: o.Calm, Operator: o.Operator, Unbrakes: o.Unbrakes,
	})
	s.w.Watch = watcher{s.judge, s}
	switch {
	case o.Empty:
	case o.Spec.Adopt.Selects():
		s.plantStrangers()
	default:
		s.plant()
	}
	s.plantNeighbours()
	s.open()
	s.bear()
	for i := range o.Servers {
		s.servers = append(s.servers, &server{s: s, name: "hale-" + strconv.Itoa(i+1)})
	}
	for i := range o.Plan {
		s.schedule(o.Plan[i])
	}
	return s, nil
}

// attached are the template's kept disks that outlive instances.
func attached(spec *policy.Spec) (names []string) {
	for _, d := range spec.Template.Disks {
		if d.Attached() {
			names = append(names, d.Name)
		}
	}
	return names
}

// plant gives every machine an instance that hale built and certified long ago.
func (s *stage) plant() {
	for i, h := range s.options.Standing() {
		n := i + 1
		name := s.spec.Name.Machine(n)
		id := "planted-" + strconv.Itoa(n)
		s.trace.Name(fleet.InstanceID(id)) // web-3's is vm-3
		vm := s.w.Plant(world.Status{ID: id, Name: string(name), Host: h, Metadata: string(s.spec.Template.Metadata),
			Mark: world.Mark{
				Installation: installation, Fleet: string(s.spec.Name), Machine: string(name), Generation: 1,
				Certified: true, Instance: id,
			}})
		vm.Image = s.spec.Template.Image
		s.store.Beliefs[n-1] = belief.Machine{
			Name: name, Generation: 1, Address: vm.Status.Address,
			Current: belief.Incarnation{ID: fleet.InstanceID(id), Generation: 1, Host: fleet.HostName(h),
				Certified: true},
			Health: belief.Health{Verdict: belief.VerdictHealthy, Since: epoch},
		}
		s.store.Name(fleet.InstanceID(id))
		if len(s.disks) > 0 {
			s.w.Equip(vm, s.disks)
			s.store.Beliefs[n-1].Volumes = &belief.Volumes{Host: fleet.HostName(h), Storage: vm.Storage, Made: s.disks}
			s.judge.Equipped(vm)
		}
	}
}

// play lets time pass until nothing can happen any more.
func (s *stage) play() {
	if s.options.Rival != "" {
		s.rival = newRival(s, s.options.Rival)
		s.rival.start()
	} else {
		for _, c := range s.servers {
			c.start()
		}
	}
	end := s.options.Horizon + s.options.Calm
	s.judge.Patrol()
	for {
		s.settle()
		next, ok := s.w.Next()
		if !ok || next > end {
			break
		}
		s.w.Step()
		for t, ok := s.w.Next(); ok && t == s.w.Now(); t, ok = s.w.Next() {
			s.w.Step()
		}
		s.judge.WeighAll()
	}
	s.judge.Finish(end)
}

// settle lets every server decide on what it heard in this instant.
func (s *stage) settle() {
	for len(s.hot) > 0 {
		c := s.hot[0]
		s.hot = s.hot[1:]
		c.hot = false
		c.round()
	}
	if s.double != nil {
		s.double.settle()
		if len(s.hot) > 0 {
			s.settle()
		}
	}
}

func (s *stage) wall(t time.Duration) time.Time { return epoch.Add(t) }

// fenceLimit is how long one try to cut a host's power may take.
const fenceLimit = 15 * time.Second

// fleetHosts returns the hosts as a listing shows them.
func (s *stage) fleetHosts(dark map[string]bool, now fleet.Instant) []fleet.Host {
	if len(dark) == 0 && s.allUp != nil && !s.w.AnyDisabled() {
		return s.allUp
	}
	hosts := s.w.Hosts()
	out := make([]fleet.Host, len(hosts))
	cuts := false
	for i, h := range hosts {
		out[i] = fleet.Host{Name: fleet.HostName(h.Name), Up: !dark[h.Name], Disabled: s.w.Disabled(h.Name),
			Independent: len(hosts) > 1,
			Place:       fleet.Place{Rack: h.Rack, Room: h.Room, Zone: h.Zone, Storage: h.Storage},
			Fence:       fleet.Means{Tries: h.Fence, Cuts: h.Cut, Limit: fenceLimit, Delay: h.Delay}}
		if slices.ContainsFunc(s.store.Beliefs, func(m belief.Machine) bool {
			return !m.Current.None() &&
				string(m.Current.Host) == h.Name
		}) {
			out[i].Fence.Delay += h.Heavier
		}
		if s.w.SaidOff(h.Name) {
			out[i].Fence.OffAt = now
		}
		if open, known := s.w.Access(h.Name); known {
			cuts, out[i].Fence.AccessAt, out[i].Fence.Access = true, now, fleet.AccessCut
			if open {
				out[i].Fence.Access = fleet.AccessOpen
			}
		}
	}
	if len(dark) == 0 && !cuts && !s.w.AnyDisabled() {
		s.allUp = out
	}
	return out
}

// watcher hears of the world: the judge, and the servers of what can change what probes hear.
type watcher struct {
	*judge.Judge
	s *stage
}

// Address implements world.Watcher.
func (w watcher) Address(a netip.Addr) {
	w.Judge.Address(a)
	w.s.addressChanged(a)
}

// Guest implements world.Watcher.
func (w watcher) Guest(id string) { w.s.guestChanged(id) }

func (s *stage) addressChanged(a netip.Addr) {
	for _, c := range s.servers {
		c.answersChanged(a)
	}
	if s.double != nil {
		s.double.addressChanged(a)
	}
	if s.rival != nil {
		s.rival.probes.Changed(a)
	}
}

func (s *stage) guestChanged(id string) {
	for _, c := range s.servers {
		c.guestChanged(id)
	}
	if s.double != nil {
		s.double.guestChanged(id)
	}
	if s.rival != nil {
		s.rival.probes.GuestChanged(id)
	}
}

// crashAndReturn kills a server in the middle of what it does; it is started again later.
func (s *stage) crashAndReturn(c *server) {
	s.trace.Say(s.w.Now(), "", c.name+" dies at this write")
	c.crash()
	s.w.After(s.w.Between(time.Second, time.Minute), func() {
		if !c.alive {
			c.start()
		}
	})
}
