package decide_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/ledger"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// sized is a fleet of machines whose size opinions move between two bounds, played round by round. Its machines are
// built, and go, within a round.
type sized struct {
	t       teller
	decider decide.Decider
	s       situation.Situation
	records []record.Record // of the last round
	ids     int
}

// teller is a test, drawn or not.
type teller interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// between are bounds with one opinion, that the load of each machine be 50.
func between(least, most int) *policy.Sizing {
	return &policy.Sizing{
		Min: least, Max: most, Mode: policy.ModeAct,
		Metrics: []policy.Metric{{Name: "load", Every: 15 * time.Second, Late: time.Minute, Most: 1000}},
		Opinions: []policy.Opinion{{Name: "busy", Kind: policy.OpinionTarget, Metric: "load", Target: 50,
			PerMachine: true,
			Tolerance:  0.1}},
		Up: policy.Pace{Most: 4, MostPercent: 100}, Down: policy.Pace{Stabilise: 5 * time.Minute, Most: 1},
		Leave: []policy.LeaveRule{policy.LeaveUnhealthy, policy.LeaveHighestNumber}, TellAfter: 10 * time.Minute,
	}
}

// newSized is a fleet of so many machines, which all stand.
func newSized(t teller, z *policy.Sizing, size int) *sized {
	f := &sized{t: t, s: crowd(size, 0)}
	f.s.Spec.Sizing = z
	f.s.Spec.Size = max(z.Desired, z.Min)
	wanted := f.s.Spec
	f.s.Wanted = &wanted
	f.s.Whole.Ledger = &belief.Ledger{Size: size, Template: wanted.Template, Provider: wanted.Provider}
	f.s.Spec = f.s.Whole.Ledger.Force(wanted)
	f.s.Gauges = []fleet.Gauge{{Metric: "load", Since: f.s.Now.Mono}}
	return f
}

// round decides once, and has the world follow.
func (f *sized) round() round.Decision {
	d := f.decider.Decide(f.s)
	for _, o := range f.s.Orders {
		if !slices.ContainsFunc(d.Orders, func(r fleet.Ruling) bool { return r.Order == o.ID }) {
			f.t.Errorf("order %s was not ruled on", o.ID)
		}
	}
	f.s.Orders = nil
	f.records = append(f.records, d.Records...)
	f.s.Brake, f.s.Whole = d.Brake, d.Whole
	f.s.Spec = f.s.Whole.Ledger.Force(*f.s.Wanted)
	for _, m := range d.Machines {
		v := &f.s.Machines[m.Index]
		v.Machine, v.Due, v.Outcome = m.Belief, false, nil
		for _, rec := range m.Records {
			if err := rec.Valid(); err != nil {
				f.t.Error(err)
			}
		}
		f.carryOut(v, m.Actions)
	}
	for _, rec := range d.Records {
		if err := rec.Valid(); err != nil {
			f.t.Error(err)
		}
	}
	for n := 1; n <= f.s.Spec.Top(); n++ {
		if n > len(f.s.Machines) {
			f.s.Machines = append(f.s.Machines, situation.View{Due: true, Machine: belief.Machine{
				Name: f.s.Spec.Name.Machine(n)}, Checks: []fleet.CheckState{{Check: "page"}}})
		}
	}
	return d
}

// carryOut has each call succeed at once, and what is built be healthy.
func (f *sized) carryOut(v *situation.View, actions []situation.Action) {
	for _, a := range actions {
		if a.Kind == situation.ActionObserve && len(v.Seen) > 0 {
			v.Seen[0].Asked, v.Due = f.s.Now.Mono+1, true
		}
		if a.Kind != situation.ActionCall {
			continue
		}
		v.Outcome, v.Due = &fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeDone}, true
		i := fleet.Instance{ID: a.Instance, Host: a.Host, Power: fleet.PowerRunning, Mark: a.Mark}
		switch a.Intent.Op {
		case fleet.OpPowerOff:
			i.Power = fleet.PowerOff
		case fleet.OpDelete:
			i.Power = fleet.PowerGone
		}
		v.Seen = []fleet.Sighting{{Asked: f.s.Now.Mono + 1, Instance: i}}
	}
}

// rounds decides until nothing more follows at once.
func (f *sized) rounds() {
	for range 20 {
		f.s.Now.Mono++
		f.ids++
		for i := range f.s.Machines {
			f.s.Machines[i].FreshID = fleet.InstanceID("fresh-" + strconv.Itoa(f.ids) + "-" + strconv.Itoa(i))
		}
		if d := f.round(); d.Next != f.s.Now.Mono+1 && !slices.ContainsFunc(f.s.Machines,
			func(v situation.View) bool { return v.Outcome != nil || v.Due }) {
			return
		}
	}
	f.t.Error("the fleet does not come to rest")
}

// pass lets time go by.
func (f *sized) pass(d time.Duration) {
	f.s.Now.Mono, f.s.Now.Wall = f.s.Now.Mono.Add(d), f.s.Now.Wall.Add(d)
}

// read plays readings of the load for a while, one each 15 s, and decides after each.
func (f *sized) read(load float64, lasts time.Duration) {
	f.records = nil
	for range max(int(lasts/(15*time.Second)), 1) {
		f.pass(15 * time.Second)
		g := f.s.Gauges[0]
		g.Points = append(slices.Clone(g.Points), fleet.Point{At: f.s.Now.Mono, Value: load, Serving: f.serving(),
			Size: f.s.Spec.Size})
		g.Since, g.Trouble = f.s.Now.Mono, ""
		f.s.Gauges = []fleet.Gauge{g}
		f.rounds()
	}
}

// silent lets time go by in which the metric is asked in vain.
func (f *sized) silent(lasts time.Duration) {
	f.records = nil
	for range int(lasts / (15 * time.Second)) {
		f.pass(15 * time.Second)
		g := f.s.Gauges[0]
		g.Trouble, g.Detail = fleet.ReasonMetricSilent, "no answer"
		f.s.Gauges = []fleet.Gauge{g}
		f.rounds()
	}
}

func (f *sized) serving() int {
	n := 0
	for i := range f.s.Machines {
		if f.s.Machines[i].Machine.Health.Verdict == belief.VerdictHealthy {
			n++
		}
	}
	return n
}

// is fails the test unless the fleet has the size, and as many machines with instances.
func (f *sized) is(size int) {
	f.t.Helper()
	if f.s.Spec.Size != size {
		f.t.Errorf("the size is %d, want %d: %s", f.s.Spec.Size, size, f.told())
	}
}

// told writes what the whole fleet recorded.
func (f *sized) told() string {
	var out []string
	for _, r := range f.records {
		out = append(out, string(r.Kind)+" "+string(r.Reason)+" "+string(r.Machine)+" "+strconv.Itoa(r.Limit)+"→"+
			strconv.Itoa(r.Size))
	}
	return strings.Join(out, "; ")
}

// recorded reports whether there is such a record of the fleet.
func (f *sized) recorded(kind record.Kind, why fleet.Reason) bool {
	return slices.ContainsFunc(f.records, func(r record.Record) bool { return r.Kind == kind && r.Reason == why })
}

// order gives an order of a size.
func (f *sized) order(o fleet.Order) {
	f.ids++
	o.ID, o.Kind, o.Fleet, o.By, o.At = fleet.OrderID("o"+strconv.Itoa(f.ids)), fleet.OrderScale, "web", "alice",
		f.s.Now.Wall
	if err := o.Check(); err != nil {
		f.t.Fatal(err)
	}
	f.records, f.s.Orders = nil, []fleet.Order{o}
	f.pass(time.Second)
	f.rounds()
}

// settled has all machines that are being built be healthy.
func (f *sized) settled() {
	for i := range f.s.Machines {
		v := &f.s.Machines[i]
		well := v.Machine.Health.Verdict == belief.VerdictHealthy && v.Machine.Repair == nil
		if n, _ := v.Machine.Name.Ordinal(); f.s.Spec.Has(n) && !well &&
			f.s.Whole.Ledger.Removal(v.Machine.Name) == nil {
			*v = crowd(n, 0).Machines[n-1]
		}
	}
}

func TestLoadMovesTheSizeUpAndDownWithinItsBounds(t *testing.T) {
	t.Parallel()
	f := newSized(t, between(2, 6), 2)
	f.read(120, 0)
	f.is(5) // 2 x 120 = 240 is 50 for each of 5
	if !f.recorded(record.Size, fleet.ReasonOpinion) || !f.recorded(record.Change, fleet.ReasonSizeUp) {
		t.Error(f.told())
	}
	f.settled()
	f.read(900, 15*time.Second)
	f.is(6)
	f.settled()
	f.read(10, 5*time.Minute)
	f.is(6)
	f.read(10, 15*time.Second)
	if !f.recorded(record.Change, fleet.ReasonLeaves) {
		t.Error(f.told())
	}
	f.read(10, 10*time.Minute)
	f.is(2)
	f.read(0, 20*time.Minute)
	f.is(2)
}

// Two more are ordered, and at once that they are too many: those that serve stay as long as no others do.
func TestThoseThatServeStayWhileOthersAreBuilt(t *testing.T) {
	t.Parallel()
	f := newSized(t, between(2, 6), 2)
	f.order(fleet.Order{Size: 4})
	f.order(fleet.Order{Size: 2})
	f.is(4)
	if n := f.serving(); n != 2 {
		t.Errorf("%d machines serve of two at least", n)
	}
	f.settled()
	f.rounds()
	f.is(2)
	for i := range f.s.Machines {
		m := &f.s.Machines[i].Machine
		if m.Waiting != "" || f.s.Spec.Has(i+1) == m.Current.None() {
			t.Errorf("%s has instance %q, and waits: %s", m.Name, m.Current.ID, m.Waiting)
		}
	}
}

func TestOneMachineGoesAtATime(t *testing.T) {
	t.Parallel()
	f := newSized(t, between(2, 6), 6)
	f.read(10, 5*time.Minute+15*time.Second)
	if n := len(f.s.Whole.Ledger.Removals) + 6 - f.s.Spec.Size; n != 1 {
		t.Errorf("%d machines go at once: %s", n, f.told())
	}
}

// While an opinion has none nothing is scaled in, what has not begun to go stays, and a person is told in time.
func TestASilentMetricScalesNothingInAndPages(t *testing.T) {
	t.Parallel()
	f := newSized(t, between(2, 6), 6)
	f.s.Spec.Sizing.Grace = time.Hour
	f.read(10, 5*time.Minute)
	f.read(10, 15*time.Second)
	if len(f.s.Whole.Ledger.Removals) != 1 {
		t.Fatal(f.told())
	}
	f.silent(2 * time.Minute)
	if !f.recorded(record.Metric, fleet.ReasonMetricSilent) ||
		!f.recorded(record.Change, fleet.ReasonWithdrawn) || len(f.s.Whole.Ledger.Removals) > 0 {
		t.Error(f.told())
	}
	f.silent(9 * time.Minute)
	if !f.recorded(record.Paged, fleet.ReasonMetricSilent) {
		t.Error(f.told())
	}
	f.silent(time.Hour)
	f.is(6)
	if f.recorded(record.Paged, fleet.ReasonMetricSilent) {
		t.Error("a person is paged again")
	}
	f.read(50, 15*time.Second)
	if !slices.ContainsFunc(f.records, func(r record.Record) bool { return r.Reason == fleet.ReasonUp && r.Paged }) {
		t.Error("it is not said that what was told is over: " + f.told())
	}
}

// What stops scale-in does not stop scale-out.
func TestWhatStopsScaleIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(*situation.Situation)
		why  fleet.Reason
	}{
		"the brake": {func(s *situation.Situation) { s.Brake.Engaged, s.Brake.By = true, "bob" }, fleet.ReasonBrake},
		"amnesty": {func(s *situation.Situation) { s.SteadyAt = s.Now.Mono.Add(24 * time.Hour) },
			fleet.ReasonAmnesty},
		"doubt": {func(s *situation.Situation) { s.Whole.Doubt = belief.Doubt{Reason: fleet.ReasonVantageDoubtful} },
			fleet.ReasonVantageDoubtful},
		"a provider that is down": {func(s *situation.Situation) { s.Provider.Standing = fleet.ProviderDown },
			fleet.ReasonProviderDown},
		"a hold of the fleet": {func(s *situation.Situation) {
			s.Whole.Holds = []belief.Hold{{By: "bob", Expiry: belief.ExpiryIn(240*time.Hour, s.Now)}}
		}, fleet.ReasonHold},
		"a domain that fails": {func(s *situation.Situation) {
			s.Whole.Parents = []belief.Parent{{ID: "web/p1", Domain: fleet.Domain{Kind: fleet.DomainHost, Name: "h1"},
				Since: s.Now.Mono}}
		}, fleet.ReasonSharedFate},
		"an update": {func(s *situation.Situation) {
			s.Whole.Ledger = s.Whole.Ledger.Updated(&belief.Update{Edition: 7, Template: s.Wanted.Template, Order: "o"})
		}, fleet.ReasonUpdating},
	} {
		f := newSized(t, between(2, 6), 4)
		f.read(50, 10*time.Minute)
		was := f.s
		for i := range f.s.Gauges[0].Points {
			f.s.Gauges[0].Points[i].Value = 10
		}
		f.s.Whole.Ledger.Updated(nil)
		c.edit(&f.s)
		d := decide.Decide(f.s)
		f.records = d.Records
		if len(d.Whole.Ledger.Removals) > 0 || !f.recorded(record.Size, c.why) {
			t.Errorf("%s: %s", name, f.told())
		}
		f.s = was
		last := len(f.s.Gauges[0].Points) - 1
		f.s.Gauges[0].Points[last].Value = 90
		c.edit(&f.s)
		if d := decide.Decide(f.s); d.Whole.Ledger.Size != 6 {
			t.Errorf("%s: nothing is scaled out: %d", name, d.Whole.Ledger.Size)
		}
	}
}

// A person's order is the last word until an opinion has another one, and no longer in question while it is pinned.
func TestAPersonsOrderAndItsPin(t *testing.T) {
	t.Parallel()
	f := newSized(t, between(2, 6), 4)
	f.read(50, 10*time.Minute)
	f.order(fleet.Order{Size: 6, For: 2 * time.Hour})
	f.is(6)
	f.settled()
	f.read(10, time.Hour)
	f.is(6)
	if !f.s.Whole.Ledger.Ordered.Pinned(f.s.Now) {
		t.Error("the pin is over")
	}
	f.read(10, time.Hour)
	f.read(10, 10*time.Minute)
	f.is(2)
	f.order(fleet.Order{Size: 5})
	f.settled()
	f.order(fleet.Order{Size: 3}) // within bounds, fewer go at once
	f.is(3)
	if len(f.s.Whole.Ledger.Removals) != 0 {
		t.Error(f.told())
	}
	f.order(fleet.Order{Change: fleet.SizeChange{By: 1}})
	f.is(4)
	f.settled()
	f.order(fleet.Order{Change: fleet.SizeChange{Percent: -10, AtLeast: 2}})
	f.is(2)
}

func TestBoundsCutAnOrderOrRefuseIt(t *testing.T) {
	t.Parallel()
	f := newSized(t, between(2, 6), 4)
	f.order(fleet.Order{Size: 9})
	f.is(6)
	if !f.recorded(record.Size, fleet.ReasonBounds) {
		t.Error(f.told())
	}
	f = newSized(t, between(2, 6), 4)
	f.s.Wanted.Sizing.Strict = true
	f.order(fleet.Order{Size: 9})
	f.is(4)
	if !f.recorded(record.Order, fleet.ReasonBounds) {
		t.Error(f.told())
	}
}

func TestASignalIsHeldBackByCooldownAndPin(t *testing.T) {
	t.Parallel()
	z := between(2, 6)
	z.Up.Cooldown = 10 * time.Minute
	f := newSized(t, z, 2)
	f.order(fleet.Order{Change: fleet.SizeChange{By: 1}, Signal: true})
	f.is(3)
	moved := f.s.Whole.Sizing.Up
	f.order(fleet.Order{Change: fleet.SizeChange{By: 1}, Signal: true})
	f.is(3)
	if !slices.ContainsFunc(f.records, func(r record.Record) bool {
		return r.Reason == fleet.ReasonCooldown && r.Until.Equal(f.s.Now.When(moved.Add(10*time.Minute)))
	}) {
		t.Error(f.told())
	}
	f.pass(10 * time.Minute)
	f.order(fleet.Order{Change: fleet.SizeChange{By: 1}, Signal: true})
	f.is(4)
	f.order(fleet.Order{Size: 4, For: time.Hour})
	f.pass(30 * time.Minute)
	f.order(fleet.Order{Change: fleet.SizeChange{By: 1}, Signal: true})
	f.is(4)
	if !f.recorded(record.Order, fleet.ReasonPinned) {
		t.Error(f.told())
	}
	plain := newSized(t, between(2, 6), 4)
	plain.s.Wanted.Sizing, plain.s.Spec.Sizing, plain.s.Wanted.Size = nil, nil, 4
	plain.order(fleet.Order{Size: 5, Signal: true})
	if !plain.recorded(record.Order, fleet.ReasonPlainSize) {
		t.Error(plain.told())
	}
}

// An edit that would destroy waits for a person's word, within bounds and beyond them.
func TestAnEditOfTheSizeStillWaits(t *testing.T) {
	t.Parallel()
	z := between(2, 6)
	z.Desired = 5
	f := newSized(t, z, 5)
	f.read(50, time.Minute)
	for name, edit := range map[string]func(*policy.Sizing){
		"desired": func(z *policy.Sizing) { z.Desired = 3 },
		"max":     func(z *policy.Sizing) { z.Max, z.Desired = 3, 3 },
	} {
		g := newSized(t, between(2, 6), 5)
		g.s = f.s
		g.s.Machines = slices.Clone(f.s.Machines)
		edited := *z
		edit(&edited)
		wanted := *f.s.Wanted
		wanted.Sizing, wanted.Size = &edited, edited.Desired
		g.s.Wanted, g.s.Spec.Sizing = &wanted, &edited
		g.rounds()
		if len(g.s.Whole.Ledger.Removals) > 0 || g.s.Spec.Size != 5 {
			t.Errorf("%s: %s", name, g.told())
		}
		g.read(20, 10*time.Minute) // 2 would do, and an opinion may go there by itself
		g.is(2)
	}
}

func TestWhereTheFileSaysNoSizeItStaysAsItIs(t *testing.T) {
	t.Parallel()
	f := newSized(t, between(2, 6), 5) // a plain size of 5 became bounds
	f.rounds()
	f.is(5)
	if len(f.s.Whole.Ledger.Removals) > 0 {
		t.Error(f.told())
	}
}

// What is only watched is recorded, as it would go on.
func TestAWatchedSizeIsOnlyRecorded(t *testing.T) {
	t.Parallel()
	z := between(2, 6)
	z.Mode = policy.ModeObserve
	f := newSized(t, z, 2)
	f.read(120, 15*time.Second)
	f.is(2)
	if !f.recorded(record.Size, fleet.ReasonObserve) || f.s.Whole.Sizing.Would != 5 {
		t.Errorf("%s: %+v", f.told(), f.s.Whole.Sizing)
	}
	f.read(120, time.Hour)
	if f.recorded(record.Size, fleet.ReasonObserve) {
		t.Error("it is recorded again: " + f.told())
	}
	f.read(10, 15*time.Minute)
	if f.s.Whole.Sizing.Would != 2 {
		t.Errorf("%+v", f.s.Whole.Sizing)
	}
	f.is(2)
}

// A machine has some time left between the choice and the first call. One that fails is not waited for.
func TestGraceBeforeAMachineGoes(t *testing.T) {
	t.Parallel()
	z := between(2, 6)
	z.Grace = 2 * time.Minute
	f := newSized(t, z, 3)
	f.read(10, 5*time.Minute+15*time.Second)
	f.is(3)
	if r := f.s.Whole.Ledger.Removals; len(r) != 1 || f.s.Machines[2].Machine.Repair != nil {
		t.Fatalf("%+v: %s", r, f.told())
	}
	f.read(60, 15*time.Second) // it is needed again
	if len(f.s.Whole.Ledger.Removals) != 0 || !f.recorded(record.Change, fleet.ReasonWithdrawn) {
		t.Error(f.told())
	}
	f.read(10, 5*time.Minute+30*time.Second)
	f.is(3)
	f.read(10, 2*time.Minute)
	f.is(2)
}

// A machine that is held against scale-in alone is not chosen, and is taken back where it was.
func TestAMachineHeldAgainstScaleInStays(t *testing.T) {
	t.Parallel()
	z := between(2, 6)
	z.Grace = 2 * time.Minute
	f := newSized(t, z, 4)
	f.read(10, 5*time.Minute+15*time.Second)
	if f.s.Whole.Ledger.Removal("web-4") == nil {
		t.Fatal(f.told())
	}
	f.s.Whole.Holds = []belief.Hold{{Machine: "web-4", Only: fleet.HoldScaleIn, By: "bob",
		Expiry: belief.ExpiryIn(24*time.Hour, f.s.Now)}}
	f.read(10, 15*time.Second)
	if f.s.Whole.Ledger.Removal("web-4") != nil || f.s.Whole.Ledger.Removal("web-3") == nil {
		t.Error(f.told())
	}
	f.read(10, 20*time.Minute)
	if f.is(2); !f.s.Spec.Has(4) {
		t.Error("it went")
	}
}

// What begins to stop scale-in after a machine was chosen has it wait.
func TestAMachineThatWasChosenWaits(t *testing.T) {
	t.Parallel()
	z := between(2, 6)
	z.Grace = time.Minute
	f := newSized(t, z, 3)
	f.read(10, 5*time.Minute+15*time.Second)
	if f.s.Whole.Ledger.Removal("web-3") == nil {
		t.Fatal(f.told())
	}
	f.s.Whole.Foreign = []belief.Foreign{{Installation: "another"}}
	f.read(10, 3*time.Minute)
	if f.is(3); f.s.Machines[2].Machine.Repair != nil {
		t.Error("it goes: " + f.told())
	}
}

// What an edit of the bounds makes too many waits for a person's word, though opinions brought it there.
func TestLowerBoundsTakeNothingByThemselves(t *testing.T) {
	t.Parallel()
	f := newSized(t, between(2, 6), 2)
	f.read(120, 15*time.Second)
	f.is(5)
	f.settled()
	f.read(50, 10*time.Minute)
	edited := *f.s.Wanted.Sizing
	wanted := *f.s.Wanted
	edited.Max, wanted.Sizing = 4, &edited
	f.s.Wanted = &wanted
	f.read(50, 10*time.Minute)
	f.is(5)
	if p := change.Pending(&wanted, f.s.Whole.Ledger, f.s.Machines, f.s.Hosts); p.From != 5 || p.To != 4 {
		t.Errorf("what waits is %+v", p)
	}
}

// A machine whose build is not finished is not chosen: it comes to be healthy, or goes by itself.
func TestWhatIsBeingBuiltIsNotChosen(t *testing.T) {
	t.Parallel()
	f := newSized(t, between(2, 6), 4)
	f.read(10, 5*time.Minute)
	f.s.Machines[3].Machine.Current.Certified = false
	f.read(10, 15*time.Second)
	if !slices.ContainsFunc(f.records, func(r record.Record) bool {
		return r.Reason == fleet.ReasonLeaves && r.Machine == "web-3"
	}) {
		t.Error(f.told())
	}
}

func TestProtectedMachinesDoNotGo(t *testing.T) {
	t.Parallel()
	z := between(1, 6)
	z.Stay = []int{3}
	f := newSized(t, z, 3)
	f.s.Wanted.Protected, f.s.Spec.Protected = []int{2}, []int{2}
	f.read(1, 20*time.Minute)
	f.is(2)
	if !f.s.Spec.Has(3) || !f.s.Spec.Has(2) || f.s.Spec.Has(1) {
		t.Errorf("left are %+v", f.s.Whole.Ledger)
	}
}

// Who asks for the opinions hears what is followed.
func TestWhoAsksHearsWhatIsFollowed(t *testing.T) {
	t.Parallel()
	f := newSized(t, between(2, 6), 4)
	f.read(50, time.Minute)
	f.pass(15 * time.Second)
	f.s.Gauges[0].Points[len(f.s.Gauges[0].Points)-1].Value = 70
	_, v := ledger.Opine(&f.s.State, f.s.Wanted, f.s.Machines)
	if d := decide.Decide(f.s); v.Size != 6 || d.Whole.Ledger.Size != 6 || v.Said[v.By].Value != 70 {
		t.Errorf("%+v is said, and %d is the size", v, d.Whole.Ledger.Size)
	}
}

// Who asks hears, too, what keeps machines from going; and of a size that is only watched, that nothing does.
func TestWhoAsksHearsWhatKeepsMachines(t *testing.T) {
	t.Parallel()
	for mode, want := range map[policy.Mode]int{policy.ModeAct: 4, policy.ModeObserve: 3} {
		z := between(2, 6)
		z.Mode = mode
		f := newSized(t, z, 4)
		f.s.Brake.Engaged, f.s.Brake.By = true, "bob"
		f.read(10, 5*time.Minute)
		f.pass(15 * time.Second)
		c, v := ledger.Opine(&f.s.State, f.s.Wanted, f.s.Machines)
		if c.Size != 4 || v.Size != want || (v.Why == fleet.ReasonBrake) != (want == 4) {
			t.Errorf("%s: %d, %+v", mode, c.Size, v)
		}
	}
}

// The laws of a size, whatever happens: it stays within its bounds, no machine is chosen by an opinion's word while the
// metric says nothing or the brake is on, none of those that are protected, and one at a time.
func TestTheLawsOfASizeWhateverHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		z := between(2, 6)
		z.Grace = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "grace")
		f := newSized(t, z, rapid.IntRange(2, 6).Draw(t, "size"))
		f.s.Wanted.Protected, f.s.Spec.Protected = []int{1}, []int{1}
		for range rapid.IntRange(5, 30).Draw(t, "steps") {
			silent := false
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			default:
				f.read(rapid.Float64Range(0, 150).Draw(t, "load"),
					time.Duration(rapid.IntRange(0, 400).Draw(t, "lasts"))*
						time.Second)
			case 0, 1:
				silent = true
				f.silent(time.Duration(rapid.IntRange(90, 900).Draw(t, "lasts")) * time.Second)
			case 2:
				f.order(fleet.Order{Size: rapid.IntRange(1, 9).Draw(t, "ordered")})
			case 3:
				f.order(fleet.Order{Change: fleet.SizeChange{By: rapid.SampledFrom([]int{-2, -1, 1, 2}).Draw(t, "by")},
					Signal: true})
			case 4:
				f.settled()
			case 5:
				f.s.Brake.Engaged = !f.s.Brake.Engaged
			}
			f.lawful(silent)
		}
	})
}

// lawful fails the test where the last rounds broke a law of sizes.
func (f *sized) lawful(silent bool) {
	l := f.s.Whole.Ledger
	if f.s.Spec.Size > 6 || l.Staying() < 2 {
		f.t.Errorf("%d machines, of which %d stay, in 2 to 6: %s", f.s.Spec.Size, l.Staying(), f.told())
	}
	going := 0
	for _, r := range l.Removals {
		if r.Machine == "web-1" {
			f.t.Error("a protected machine goes: " + f.told())
		}
		if r.Opinion != "" {
			going++
		}
	}
	if going > 1 {
		f.t.Errorf("%d machines go at once by opinions", going)
	}
	late := 0 // readings in silence that a metric may be late by
	for _, r := range f.records {
		if silent && r.Reason == fleet.ReasonMetricSilent {
			late++
		}
		if late > 0 && r.Reason == fleet.ReasonLeaves && r.Opinion != "" {
			f.t.Error("a machine is chosen while the metric says nothing: " + f.told())
		}
	}
}

// Equal situations give equal decisions, whatever was decided before in the same memory.
func TestEqualSizesAreDecidedEqually(t *testing.T) {
	t.Parallel()
	f := newSized(t, between(2, 6), 4)
	f.read(10, 5*time.Minute)
	f.pass(15 * time.Second)
	one, two := f.decider.Decide(f.s), decide.Decide(f.s)
	if !one.Whole.Equal(two.Whole) || one.Next != two.Next {
		t.Errorf("%+v, and %+v", one.Whole, two.Whole)
	}
}

// The laws of what opinions make of a size.
func TestTheLawsOfAMove(t *testing.T) {
	t.Parallel()
	now := fleet.Now{Mono: 1}
	was := &belief.Ledger{Size: 4}
	wanted := &policy.Spec{Name: "web", Sizing: &policy.Sizing{Min: 2, Max: 6, Stay: []int{4}}, Protected: []int{3}}
	to := func(size int, gone ...fleet.MachineName) *belief.Ledger {
		l := *was
		l.Ordered = &belief.OrderedSize{Size: size, Opinion: "busy", Within: true}
		for _, m := range gone {
			l.Removals = append(l.Removals, belief.Removal{Machine: m, Opinion: "busy"})
		}
		return &l
	}
	if err := ledger.CheckMove(to(3, "web-2"), &ledger.Move{Was: was, Wanted: wanted, Now: now}); err != nil {
		t.Error(err)
	}
	pinned := *was
	pinned.Ordered = &belief.OrderedSize{Size: 4, Pin: belief.ExpiryIn(time.Hour, now)}
	for name, err := range map[string]error{
		"beyond the greatest": ledger.CheckMove(to(7), &ledger.Move{Was: was, Wanted: wanted, Now: now}),
		"below the least":     ledger.CheckMove(to(1), &ledger.Move{Was: was, Wanted: wanted, Now: now}),
		"fewer left than may": ledger.CheckMove(to(2, "web-1", "web-2", "web-9"), &ledger.Move{Was: was, Wanted: wanted,
			Missing: false, Now: now}),
		"while one is missing": ledger.CheckMove(to(3, "web-2"), &ledger.Move{Was: was, Wanted: wanted, Missing: true,
			Now: now}),
		"one that is to stay": ledger.CheckMove(to(3, "web-4"), &ledger.Move{Was: was, Wanted: wanted, Missing: false,
			Now: now}),
		"one that is protected": ledger.CheckMove(to(3, "web-3"), &ledger.Move{Was: was, Wanted: wanted, Missing: false,
			Now: now}),
		"what was pinned just now": ledger.CheckMove(to(3), &ledger.Move{Was: &pinned, Wanted: wanted, Missing: false,
			Now: now}),
	} {
		if err == nil {
			t.Errorf("%s: no law is broken", name)
		}
	}
}

// BenchmarkThousandFleets is one round, whole, of each of a thousand fleets of ten machines with ten opinions on their
// size: targets, steps, schedules and sizes by eight metrics, with windows of five minutes. At one round each 15 s, a
// tenth of a core is 1.5 s for all of them.
func BenchmarkThousandFleets(b *testing.B) {
	fleets := make([]*sized, 1000)
	for i := range fleets {
		fleets[i] = newSized(b, tenOpinions(), 10)
		fleets[i].s.Gauges = nil
		for _, m := range fleets[i].s.Spec.Sizing.Metrics {
			g := fleet.Gauge{Metric: m.Name}
			for k := range 40 {
				g.Points = append(g.Points,
					fleet.Point{At: fleets[i].s.Now.Mono.Add(-time.Duration(39-k) * 15 * time.Second),
						Value: 50, Serving: 10})
			}
			fleets[i].s.Gauges = append(fleets[i].s.Gauges, g)
		}
		fleets[i].s.Whole = fleets[i].decider.Decide(fleets[i].s).Whole
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range fleets {
			f.pass(15 * time.Second)
			for i := range f.s.Gauges { // the readings come along with the time
				for k := range f.s.Gauges[i].Points {
					f.s.Gauges[i].Points[k].At += fleet.Instant(15 * time.Second)
				}
			}
			f.s.Whole = f.decider.Decide(f.s).Whole
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/15, "cores")
}

// tenOpinions is a policy of all sorts of them.
func tenOpinions() *policy.Sizing {
	const daily = ^uint64(0)
	z := between(2, 20)
	z.Metrics, z.Opinions, z.Forecast = nil, nil, true
	for i := range 8 {
		name := "m" + strconv.Itoa(i)
		m := policy.Metric{Name: fleet.MetricName(name), Every: 15 * time.Second, Late: time.Minute, Most: 1000}
		o := policy.Opinion{Name: fleet.OpinionName(name), Metric: m.Name, Target: 50, PerMachine: true, Tolerance: 0.1,
			Kind: policy.OpinionTarget}
		above, below := 80.0, 20.0
		switch {
		case i >= 6:
			o.Kind = policy.OpinionSize
		case i >= 4:
			o.Kind = policy.OpinionSteps
			o.Steps = []policy.SizeStep{{Above: &above, For: 2 * time.Minute, Change: fleet.SizeChange{By: 2}},
				{Below: &below, For: 5 * time.Minute, Change: fleet.SizeChange{Percent: -10, AtLeast: 1}}}
		case i >= 2:
			m.Smooth = time.Minute
		}
		z.Metrics, z.Opinions = append(z.Metrics, m), append(z.Opinions, o)
	}
	for i := range 2 {
		z.Opinions = append(z.Opinions, policy.Opinion{Name: fleet.OpinionName("s" + strconv.Itoa(i)),
			Kind: policy.OpinionSchedule, Size: 4 + i, Windows: []policy.Window{{Minutes: 1, Hours: 1 << (8 + i),
				Days:   daily,
				Months: daily, Weekdays: daily, For: 9 * time.Hour, Zone: time.UTC}}})
	}
	return z
}
