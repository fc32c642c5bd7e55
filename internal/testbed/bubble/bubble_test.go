package bubble

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	notified "hale/internal/notify/memory"
	"hale/internal/provider/simulated"
	"hale/internal/sim"
	"hale/internal/sim/law"
	"hale/internal/sim/load"
	"hale/internal/sim/source"
	"hale/internal/sim/world"
	"hale/internal/state/journal"
	"hale/internal/state/memory"
)

// room is one play: a world, a store that outlives the servers, the servers, and what is going to happen. All of it
// belongs to the test's own goroutine, apart from what is atomic or guarded.
type room struct {
	t       *testing.T
	o       sim.Options
	spec    policy.Spec
	wanted  policy.Spec // as the operator edited it
	world   *simulated.World
	backing *memory.Backing
	servers []*server
	double  func()                    // ends the second hale; nil: there is none
	pasts   map[time.Duration]holding // what the store held, where that is brought back
	dice    *rand.Rand
	judge   *judge
	pager   notified.Target  // that all fleets' people have
	saidOff []fleet.HostName // by a person
	epoch   time.Time        // when the world's time began
	// Guarded by the world's lock: what was seen and is still to be judged, and when hale last asked for an instance.
	unjudged []func()
	looked   map[fleet.InstanceID]time.Duration
	// blindly says that healthy machines which the sender cannot see are counted when they are hit, and no broken law.
	blindly bool

	began    time.Time
	agenda   []item // sorted by time
	lifts    map[int]func()
	lasting  int          // numbers the lifts
	full     atomic.Int32 // how many faults keep the store from taking writes
	deaths   chan *server
	arrivals chan arrival                           // of writes that were held up
	renewed  map[fleet.InstanceID]fleet.MachineName // by such a plan: these are replaced
	undoes   bool                                   // a person ordered that an update is taken back
	mends    bool                                   // or that what differs from its template is built anew
	swapped  map[fleet.MachineName]bool             // a person wanted the old instance back
	last     map[string]fleet.OrderID               // the last order to a machine, or to the fleet
	leaving  map[fleet.MachineName]bool             // that a person ordered removed, whichever instance they have
	named    map[fleet.InstanceID]fleet.MachineName // by a plan that a person confirmed: these may go
}

// item is something that is going to happen.
type item struct {
	at time.Duration // since the start
	do func()
}

// enter tells a tale in a bubble, about a fleet that stands as the simulator's does, with servers that have just
// started.
func enter(t *testing.T, o sim.Options, tale func(r *room)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t, o)
		switch {
		case o.Empty:
		case o.Spec.Adopt.Selects():
			r.plantStrangers()
		default:
			r.build()
		}
		r.open()
		defer r.close()
		tale(r)
	})
}

// These are the simulator's defaults, in the middle of what it draws from.
const (
	usualBoot    = 30 * time.Second
	usualLatency = 250 * time.Millisecond
	usualPoll    = 5 * time.Second
)

func newRoom(t *testing.T, o sim.Options) *room {
	t.Helper()
	o.Poll, o.Servers = cmp.Or(o.Poll, usualPoll), max(o.Servers, 1)
	if len(o.Hosts) == 0 {
		o.Hosts = append(o.Hosts, world.Host{}) // the single one of a world that names none
	}
	options := simulated.Options{
		Boot: usualBoot, Latency: usualLatency, Seed: o.Seed, Checks: slices.Concat(o.Spec.Checks, o.Spec.Tells),
		Ground: o.Hosts,
		Proven: law.Proven(&o.Spec),
	}
	if o.Boot != 0 {
		options.Boot = (o.Boot + max(o.Boot, o.BootMost)) / 2
	}
	if o.Latency != 0 {
		options.Latency = (o.Latency + max(o.Latency, o.LatencyMost)) / 2
	}
	r := &room{
		t: t, o: o, spec: o.Spec, wanted: o.Spec, world: simulated.NewWorld(options),
		backing: memory.New(memory.Options{}),
		dice:    rand.New(rand.NewPCG(o.Seed, 0x62)),
		lifts:   map[int]func(){}, deaths: make(chan *server, 9), arrivals: make(chan arrival, 9),
		looked: map[fleet.InstanceID]time.Duration{},
		named:  map[fleet.InstanceID]fleet.MachineName{}, renewed: map[fleet.InstanceID]fleet.MachineName{},
		swapped: map[fleet.MachineName]bool{},
		last:    map[string]fleet.OrderID{},
		leaving: map[fleet.MachineName]bool{}, pasts: map[time.Duration]holding{},
	}
	r.judge = newJudge(r)
	return r
}

// bear puts the load on the world, from now on.
func (r *room) bear() {
	b := r.o.Burden
	r.truth(func(t *world.World) {
		began := t.Now()
		t.Demand = load.Demand{
			Course:   func(at time.Duration) float64 { return b.Load.At(at - began) },
			Capacity: b.Capacity,
		}
	})
}

// gauge reads a metric of the load, as the adapters read those of a real one.
func (r *room) gauge(_ fleet.Name, m policy.Metric) gauge.Reader { return reader{r, m} }

type reader struct {
	r      *room
	metric policy.Metric
}

// Read implements gauge.Reader.
func (g reader) Read(context.Context, []gauge.Machine) (out gauge.Reading, err error) {
	r := g.r
	r.truth(func(t *world.World) {
		s := source.Source{World: t, Fleet: r.spec.Name, Most: r.o.Most(), Measures: r.o.Burden.Measures}
		out, err = s.Read(r.spec.Sizing, &g.metric)
	})
	return out, err
}

// build lets hale itself build the fleet, and puts the machines on the hosts on which the simulator plants them.
func (r *room) build() {
	r.t.Helper()
	spec := r.spec
	spec.Mode, spec.Limits.InBuild, spec.BuildWithin = policy.ModeAct, spec.Size, max(spec.BuildWithin, 10*time.Minute)
	spec.Sizing = nil             // it is no time for opinions
	spec.Spares = policy.Spares{} // the play's own hale builds them
	builder := &server{room: r, name: "builder"}
	r.began = time.Now()
	builder.start(spec)
	stands := func(n int) bool {
		m := believed(builder.life, spec.Name.Machine(n))
		return m.Health.Verdict == belief.VerdictHealthy && m.Repair == nil && m.Incident == nil && m.Current.Certified
	}
	r.await(time.Hour, "the fleet is built", func() bool { return all(spec.Size, stands) })
	for n := 1; n <= r.spec.Size; n++ {
		name := r.spec.Name.Machine(n)
		if i, _ := r.instance(name); i.Host != r.home(n) && !r.world.Migrate(i.ID, r.home(n)) {
			r.t.Fatalf("%s cannot move to %s", name, r.home(n))
		}
	}
	r.await(time.Minute, "the machines are seen where they are", func() bool {
		return all(spec.Size, func(n int) bool {
			return stands(n) && believed(builder.life, spec.Name.Machine(n)).Current.Host == r.home(n)
		})
	})
	builder.life.end()
}

// home is where the simulator plants the machine.
func (r *room) home(n int) fleet.HostName { return fleet.HostName(r.o.Standing()[n-1]) }

// open starts the servers, the first one first, as the simulator does. Time counts from here.
func (r *room) open() {
	for n := range r.o.Servers {
		r.servers = append(r.servers, &server{room: r, name: fmt.Sprintf("hale-%d", n+1)})
	}
	time.Sleep(untilItsDay())
	r.began = time.Now()
	r.bear()
	r.judge.listen()
	r.watch()
	for _, s := range r.servers {
		s.start(r.wanted)
		synctest.Wait()
	}
}

// untilItsDay is the time until it is as late as when the simulator begins, in the same week: midnight of a Thursday.
func untilItsDay() time.Duration {
	now := time.Now().UTC()
	day := now.Truncate(24 * time.Hour)
	for !day.After(now) || day.Weekday() != time.Thursday {
		day = day.Add(24 * time.Hour)
	}
	return day.Sub(now)
}

// close ends everything, and prints the journal of a play that failed.
func (r *room) close() {
	for _, s := range r.servers {
		s.kill()
	}
	r.endDouble()
	r.judge.finish()
	if r.t.Failed() {
		r.printJournal()
	}
}

// truth looks at the world as it is.
func (r *room) truth(look func(t *world.World)) {
	r.world.Strike(func(t *world.World) func() {
		look(t)
		return nil
	})
}

func (r *room) now() time.Duration { return time.Since(r.began) }

// at puts something on the agenda.
func (r *room) at(when time.Duration, do func()) {
	r.agenda = append(r.agenda, item{max(when, r.now()), do})
	slices.SortStableFunc(r.agenda, func(a, b item) int { return cmp.Compare(a.at, b.at) })
}

func (r *room) after(d time.Duration, do func()) { r.at(r.now()+d, do) }

// beat is how often the laws are looked at while time passes.
const beat = 2 * time.Second

// pass lets time pass until the condition holds or the moment has come, with all that is on the agenda, and has the
// laws looked at on each beat. It reports whether the condition held.
func (r *room) pass(until time.Duration, enough func() bool) bool {
	r.t.Helper()
	next := r.now()
	for {
		synctest.Wait()
		for len(r.agenda) > 0 && r.agenda[0].at <= r.now() {
			due := r.agenda[0]
			r.agenda = r.agenda[1:]
			r.judge.take()
			due.do()
			synctest.Wait()
		}
		if r.now() >= next {
			next = r.now() + beat
			r.judge.look()
			if enough != nil && enough() {
				return true
			}
		}
		if r.now() >= until {
			return false
		}
		wake := min(next, until)
		if len(r.agenda) > 0 {
			wake = min(wake, r.agenda[0].at)
		}
		r.sleep(wake - r.now())
	}
}

// sleep lets the time pass, less when a server dies at a write.
func (r *room) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case s := <-r.deaths:
		s.kill()
		r.after(r.between(time.Second, time.Minute), func() { r.revive(s) })
	}
}

// await lets time pass before the play begins, until the condition holds.
func (r *room) await(within time.Duration, what string, cond func() bool) {
	r.t.Helper()
	for began := time.Now(); ; time.Sleep(time.Second) {
		synctest.Wait()
		if cond() {
			return
		}
		if time.Since(began) > within {
			r.t.Fatalf("after %v still not: %s", within, what)
		}
	}
}

// revive starts a server that does not run.
func (r *room) revive(s *server) {
	if s.life == nil {
		s.start(r.wanted)
	}
}

func (r *room) between(least, most time.Duration) time.Duration {
	return least + time.Duration(r.dice.Int64N(int64(most-least)))
}

// most is how many machines there are by the file, spares included.
func (r *room) most() int { return r.spec.Size + r.spec.Spares.Count }

func (r *room) each(holds func(n int) bool) bool { return all(r.most(), holds) }

// all reports whether it holds of as many machines.
func all(most int, holds func(n int) bool) bool {
	for n := 1; n <= most; n++ {
		if !holds(n) {
			return false
		}
	}
	return true
}

func (r *room) some(holds func(n int) bool) bool {
	return !r.each(func(n int) bool { return !holds(n) })
}

func (r *room) must(err error) {
	if err != nil {
		r.t.Error(err)
	}
}

// believed returns what a process believes of the machine.
func believed(l *life, name fleet.MachineName) belief.Machine {
	for _, v := range l.engine.Status()[0].Machines {
		if v.Machine.Name == name {
			return v.Machine
		}
	}
	return belief.Machine{}
}

// owner returns the server that took the fleet over last; nil: it does not run any more, or none did.
func (r *room) owner() *server {
	for _, s := range r.servers {
		if s.name == r.judge.owner && s.life != nil {
			return s
		}
	}
	return nil
}

// machine returns what the owner believes of the machine, and whether there is an owner who acts.
func (r *room) machine(n int) (belief.Machine, bool) {
	s := r.owner()
	if s == nil {
		return belief.Machine{}, false
	}
	m := believed(s.life, r.spec.Name.Machine(n))
	return m, m.Name != "" && s.life.engine.Status()[0].Acting == ""
}

// healthy reports whether the machine is, by truth and by belief, with nothing left to do.
func (r *room) healthy(n int) bool {
	m, known := r.machine(n)
	if r.left(n) {
		return known && m.Current.None() && m.Repair == nil
	}
	return known && r.serves(n) && m.Health.Verdict == belief.VerdictHealthy && m.Repair == nil && m.Incident == nil
}

// serves reports whether the machine does, by truth.
func (r *room) serves(n int) bool {
	i, ok := r.instance(r.spec.Name.Machine(n))
	return ok && r.world.Healthy(i.ID)
}

// left reports whether the machine has gone, by truth, as a person ordered.
func (r *room) left(n int) bool {
	name := r.spec.Name.Machine(n)
	if r.leaving[name] && r.spec.Adopt.Selects() {
		return true // it is let go, and runs on
	}
	if _, exists := r.instance(name); exists {
		return false
	}
	for _, m := range r.named {
		if m == name {
			return true
		}
	}
	return r.leaving[name]
}

func (r *room) printJournal() {
	records, _, err := journal.Read(r.t.Context(), r.backing.Open(nil), r.spec.Name)
	r.must(err)
	var b strings.Builder
	for _, s := range r.judge.said {
		fmt.Fprintf(&b, "%s ! %s\n", s.at.Truncate(time.Millisecond), s.what)
	}
	for _, c := range r.world.Calls() {
		fmt.Fprintf(&b, "%s > %s %s %s %s effect=%v served=%v\n", c.Sent.Sub(r.began).Truncate(time.Millisecond),
			c.Client, c.Op, c.Machine, c.Instance, c.Effect, c.Served)
	}
	for _, rec := range records {
		fmt.Fprintf(&b, "%s %s %s %s %s %s/%s check=%s/%s step=%s op=%s out=%s gen=%d %s\n",
			rec.At.Sub(r.began.UTC()).Truncate(time.Millisecond), rec.Machine,
			rec.Kind, rec.Reason, rec.Verdict, rec.Was, rec.Cause, rec.Check, rec.Result, rec.Step, rec.Op, rec.Outcome,
			rec.Generation, rec.Detail)
	}
	r.t.Log("\n" + b.String())
}
