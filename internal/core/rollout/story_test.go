package rollout_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/rollout"
	"hale/internal/core/round"
	"hale/internal/core/situation"
	"hale/internal/core/spares"
)

// story is a fleet of so many healthy machines of edition 1, with an update to edition 2 on its way that has proven
// itself.
type story struct {
	t *testing.T
	r *round.Round
	l *belief.Ledger
}

var begin = time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)

func tell(t *testing.T, machines int, u policy.Update) *story {
	t.Helper()
	spec := policy.Spec{Name: "web", Size: machines, Update: u, Limits: policy.Limits{InRepair: machines}}
	wanted := spec
	wanted.Template.Image = "new"
	l := &belief.Ledger{Size: machines, Edition: 1, Editions: 2, Template: policy.Template{Image: "old"},
		Update: &belief.Update{Template: wanted.Template, Edition: 2, Order: "o1", By: "alice", Proven: true}}
	s := &story{t: t, l: l, r: &round.Round{S: situation.Situation{Wanted: &wanted}}}
	s.r.S.Spec, s.r.S.Now = spec, fleet.Now{Mono: fleet.Instant(time.Hour), Wall: begin}
	for n := 1; n <= machines; n++ {
		m := belief.Machine{Name: fleet.Name("web").Machine(n), Health: belief.Health{Verdict: belief.VerdictHealthy}}
		m.Current = belief.Incarnation{ID: fleet.InstanceID(m.Name + "-vm"), Edition: 1, Certified: true}
		s.r.S.Machines = append(s.r.S.Machines, situation.View{Machine: m})
	}
	return s
}

func (s *story) machine(n int) *belief.Machine { return &s.r.S.Machines[n-1].Machine }

// changed has the update end on the machine.
func (s *story) changed(n int) {
	m := s.machine(n)
	m.Current.Edition = s.l.Update.Edition
	m.Change = &belief.Change{Order: s.l.Update.Order, Ended: fleet.ReasonUpdated}
}

// goes lets rounds follow until none is to follow at once, and returns the machines that are chosen then.
func (s *story) goes(after time.Duration) []fleet.MachineName {
	s.r.S.Now.Mono, s.r.S.Now.Wall = s.r.S.Now.Mono.Add(after), s.r.S.Now.Wall.Add(after)
	for s.r.Again = true; s.r.Again; {
		s.r.Again = false
		s.l = rollout.Book(s.r, s.l)
		s.r.Sit.Whole.Ledger = s.l
	}
	s.r.Chosen, s.r.Relieved, s.r.S.Open = nil, nil, nil
	if s.l.Update.Goes() {
		rollout.Choose(s.r, s.l)
	}
	slices.Sort(s.r.Chosen)
	return s.r.Chosen
}

func (s *story) chose(after time.Duration, want ...fleet.MachineName) {
	s.t.Helper()
	if got := s.goes(after); !slices.Equal(got, want) {
		s.t.Errorf("%v are changed next, want %v", got, want)
	}
}

// said returns how often the fleet's records gave the reason.
func (s *story) said(why fleet.Reason) int {
	n := 0
	for _, r := range s.r.Records {
		if r.Kind == record.Change && r.Reason == why {
			n++
		}
	}
	return n
}

func TestTheNextBatchWaitsForTheLastOneAndThePause(t *testing.T) {
	t.Parallel()
	s := tell(t, 5, policy.Update{Batch: policy.Portion{Number: 2}, Pause: time.Minute})
	s.chose(0, "web-4", "web-5")
	s.changed(5)
	s.chose(0, "web-4")
	s.machine(4).Change = &belief.Change{Order: "o1", Ended: fleet.ReasonUpdated}
	s.machine(4).Current.Edition = 2
	s.machine(4).Health.Verdict = belief.VerdictUnhealthy
	s.chose(10 * time.Minute)
	s.machine(4).Health.Verdict = belief.VerdictHealthy
	s.chose(0)
	s.chose(59 * time.Second)
	s.chose(time.Second, "web-2", "web-3")
	if s.said(fleet.ReasonBatchDone) != 1 {
		t.Error("it is not said once that a batch is well")
	}
}

func TestNoneIsTakenWhileTooFewServe(t *testing.T) {
	t.Parallel()
	s := tell(t, 3, policy.Update{InService: policy.Portion{Percent: 67}})
	s.chose(0, "web-3")
	s.machine(1).Health.Verdict = belief.VerdictUnhealthy
	s.chose(0)
	if s.said(fleet.ReasonRolloutWaits) != 1 {
		t.Error("it is not said once why it waits")
	}
	s.goes(0)
	if s.said(fleet.ReasonRolloutWaits) != 1 {
		t.Error("it is said again")
	}
}

// What hale just built is well before it is in its pool again: until then no further one is taken away (S39).
func TestNoneIsTakenBeforeThePoolsSendToTheLastOne(t *testing.T) {
	t.Parallel()
	s := tell(t, 3, policy.Update{InService: policy.Portion{Number: 2}})
	serves := fleet.Membership{Balancer: "edge", State: fleet.MemberServes, Asked: 2}
	pools := func(said ...fleet.Membership) { s.r.S.Machines[2].Members = said }
	s.r.S.Spec.Pools = []policy.Pool{{Balancer: "edge"}}
	for i := range s.r.S.Machines {
		s.r.S.Machines[i].Members = []fleet.Membership{serves}
	}
	s.changed(3)
	s.machine(3).Acted = 1
	pools(fleet.Membership{Balancer: "edge", State: fleet.MemberOut, Asked: 2})
	s.chose(0)
	pools(fleet.Membership{Balancer: "edge", State: fleet.MemberServes, Verdict: fleet.MemberDown, Asked: 2})
	s.chose(0)
	pools(serves, fleet.Membership{Balancer: "former", State: fleet.MemberOut, Asked: 2}) // the fleet has left that one
	s.chose(0, "web-2")
	pools(serves)
	s.chose(0, "web-2")
	s.machine(3).Acted = 2 // it was built after the balancer said that, which says nothing since
	s.chose(0)
	pools()
	s.chose(0)
}

// While a fleet that comes first does not serve, or is not heard of, no further machine is taken, and that is said
// once.
func TestNoneIsTakenBeforeAFleetThatComesFirstServes(t *testing.T) {
	t.Parallel()
	s := tell(t, 3, policy.Update{Batch: policy.Portion{Number: 1}})
	s.r.S.Unready = []situation.Ahead{{Fleet: "db"}}
	s.chose(0)
	s.chose(time.Minute)
	if n := s.said(fleet.ReasonRolloutWaits); n != 1 || s.r.Records[0].Detail != string(fleet.ReasonAfter) {
		t.Errorf("it is said %d times what it waits for: %+v", n, s.r.Records)
	}
	s.r.S.Unready = nil
	s.chose(0, "web-3")
}

func TestWhichGoFirst(t *testing.T) {
	t.Parallel()
	for order, want := range map[policy.UpdateOrder]fleet.MachineName{"": "web-3", policy.UpdateHighest: "web-3",
		policy.UpdateLowest: "web-1", policy.UpdateOldest: "web-2"} {
		s := tell(t, 3, policy.Update{Batch: policy.Portion{Number: 1}, Order: order})
		for n, built := range []time.Duration{2 * time.Hour, 0, time.Hour} {
			v := &s.r.S.Machines[n]
			v.Seen = []fleet.Sighting{{Asked: 1, Instance: fleet.Instance{ID: v.Machine.Current.ID,
				Power: fleet.PowerRunning, Mark: fleet.Mark{Built: begin.Add(built)}}}}
		}
		s.chose(0, want)
	}
}

// A metric speaks of a template only once a machine has it.
func TestAMetricBeyondItsBound(t *testing.T) {
	t.Parallel()
	most := 5.0
	u := policy.Update{OnFailure: policy.UpdateUndo, Query: &policy.UpdateQuery{Metric: "errors", Above: &most,
		For: time.Minute, Own: &policy.Metric{Name: "errors", Every: 10 * time.Second, Late: time.Hour}}}
	s := tell(t, 3, u)
	reads := func(value float64) {
		g := fleet.Gauge{Metric: "errors"}
		if len(s.r.S.Gauges) > 0 {
			g = s.r.S.Gauges[0]
		}
		g.Points = append(slices.Clone(g.Points), fleet.Point{At: s.r.S.Now.Mono, Value: value})
		s.r.S.Gauges = []fleet.Gauge{g}
	}
	s.chose(0) // it was never read
	reads(9)
	s.chose(2 * time.Minute)
	reads(9)
	s.chose(0) // it says nothing about a template that no machine has
	reads(1)
	s.chose(0, "web-1", "web-2", "web-3")
	s.changed(3)
	s.goes(10 * time.Second)
	reads(6)
	s.chose(0)
	s.goes(time.Minute)
	reads(7)
	s.chose(0, "web-3") // it goes back
	if u := s.l.Update; u.Undoes == nil || u.Undoes.Edition != 2 || u.Edition != 1 ||
		s.said(fleet.ReasonRollsBack) != 1 {
		t.Errorf("the update is %+v", u)
	}
	if tmpl := s.l.TemplateOf(2, s.r.S.Wanted); tmpl.Image != "new" {
		t.Errorf("what edition 2 was built from is taken to be %q", tmpl.Image)
	}
	s.changed(3)
	s.goes(0)
	if s.l.Update != nil || s.l.Edition != 1 || s.said(fleet.ReasonRolledBack) != 1 {
		t.Errorf("it is not as before: %+v", s.l.Update)
	}
}

// Taken back, the order of an update stops it where it is, and the order of a pause lets it go on.
func TestAnOrderAboutARolloutIsTakenBack(t *testing.T) {
	t.Parallel()
	takesBack := func(s *story, id fleet.OrderID) bool {
		if !rollout.Carries(s.l, id) {
			return false
		}
		s.l = rollout.Withdraw(s.r, s.l, &fleet.Order{ID: "o9", Kind: fleet.OrderCancel, After: id, By: "bob"})
		return true
	}
	s := tell(t, 3, policy.Update{Batch: policy.Portion{Number: 1}})
	s.l = rollout.Heed(s.r, s.l, &fleet.Order{ID: "o2", Kind: fleet.OrderRolloutPause, By: "bob"})
	s.chose(0)
	if takesBack(s, "o7") || !takesBack(s, "o2") || takesBack(s, "o2") {
		t.Error("it is not the pause that is taken back, once")
	}
	s.chose(0, "web-3")
	s.changed(3)
	if !takesBack(s, "o1") || takesBack(s, "o1") {
		t.Error("it is not the update that is taken back, once")
	}
	s.chose(0)
	if u := s.l.Update; u.Stopped != fleet.ReasonWithdrawn || s.l.Edition != 1 || s.machine(3).Current.Edition != 2 {
		t.Errorf("it is not stopped where it is: %+v", u)
	}
	for _, why := range []fleet.Reason{fleet.ReasonRolloutResumed, fleet.ReasonWithdrawn} {
		if s.said(why) != 1 {
			t.Errorf("%s is not said once", why)
		}
	}
}

func TestOrdersAboutARollout(t *testing.T) {
	t.Parallel()
	order := func(s *story, kind fleet.OrderKind) fleet.Reason {
		o := &fleet.Order{ID: "o2", Kind: kind, Fleet: "web", By: "bob"}
		refused := rollout.Refuses(s.r, s.l, o)
		if refused == "" {
			s.l = rollout.Heed(s.r, s.l, o)
		}
		return refused
	}
	s := tell(t, 2, policy.Update{})
	for _, c := range []struct {
		kind    fleet.OrderKind
		refused fleet.Reason
		next    []fleet.MachineName
	}{
		{fleet.OrderRolloutResume, fleet.ReasonNotPaused, []fleet.MachineName{"web-1", "web-2"}},
		{fleet.OrderRolloutPause, "", nil},
		{fleet.OrderRolloutMend, fleet.ReasonUpdating, nil},
		{fleet.OrderRolloutResume, "", []fleet.MachineName{"web-1", "web-2"}},
		{fleet.OrderRolloutUndo, "", nil}, // no machine was changed: everything is as before
		{fleet.OrderRolloutUndo, fleet.ReasonNoRollout, nil},
		{fleet.OrderRolloutPause, fleet.ReasonNoRollout, nil},
		{fleet.OrderRolloutMend, fleet.ReasonNoDrift, nil},
	} {
		if got := order(s, c.kind); got != c.refused {
			t.Errorf("%s is refused for %q, want %q", c.kind, got, c.refused)
		}
		s.chose(0, c.next...)
	}
	s.machine(2).Current.Edition = 7
	if got := rollout.Drifts(s.l, s.r.S.Machines, &s.r.S.Spec); len(got) != 1 || got[0].Machine != "web-2" {
		t.Errorf("%+v differ from the template", got)
	}
	if got := order(s, fleet.OrderRolloutMend); got != "" {
		t.Errorf("to mend is refused for %q", got)
	}
	s.chose(0, "web-2")
	s.changed(2)
	s.goes(0)
	if s.l.Update != nil || s.said(fleet.ReasonMended) != 1 {
		t.Errorf("it is not over: %+v", s.l.Update)
	}
}

// What a provider does not tell is no difference.
func TestAMachineThatDiffersInFact(t *testing.T) {
	t.Parallel()
	s := tell(t, 3, policy.Update{})
	s.l.Update, s.l.Template = nil, policy.Template{Memory: 2 << 30, CPUs: 2}
	s.r.S.Spec.Template = s.l.Template
	for n, size := range []fleet.Size{{}, {Memory: 1 << 30, CPUs: 2}, {Memory: 2 << 30, CPUs: 2}} {
		v := &s.r.S.Machines[n]
		v.Seen = []fleet.Sighting{{Asked: 1, Instance: fleet.Instance{ID: v.Machine.Current.ID,
			Power: fleet.PowerRunning, Size: size}}}
	}
	got := rollout.Drifts(s.l, s.r.S.Machines, &s.r.S.Spec)
	want := rollout.Fact{Key: "memory", Is: "1024MiB", Wanted: "2048MiB"}
	if len(got) != 1 || got[0].Machine != "web-2" || got[0].Edition ||
		!slices.Equal(got[0].Facts, []rollout.Fact{want}) {
		t.Fatalf("%+v differ", got)
	}
	o := &fleet.Order{ID: "o2", Kind: fleet.OrderRolloutMend, Fleet: "web", By: "bob"}
	if refused := rollout.Refuses(s.r, s.l, o); refused != "" {
		t.Fatalf("to mend is refused for %q", refused)
	}
	s.l = rollout.Heed(s.r, s.l, o)
	s.chose(0, "web-2")
}

// What failed before the old instance was removed tells nothing of the template: the rollout stops, and those that have
// the new one keep it. So it does while a person has paused it. What failed with the new instance goes back.
func TestWhatTellsNothingOfTheTemplateIsNotUndone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edition uint64 // that the failed machine has
		paused  bool
		back    bool
	}{
		"it could not leave":    {edition: 1},
		"the new one failed":    {edition: 2, back: true},
		"a person looks at it":  {edition: 2, paused: true},
		"its successor is none": {back: true},
	} {
		s := tell(t, 3, policy.Update{OnFailure: policy.UpdateUndo})
		s.changed(3)
		if c.paused {
			u := *s.l.Update
			u.Paused = belief.Paused{By: "bob", At: begin}
			s.l = s.l.Updated(&u)
		}
		m := s.machine(2)
		m.Change, m.Current.Edition = &belief.Change{Order: "o1", Ended: fleet.ReasonHookFailed}, c.edition
		if c.edition == 0 {
			m.Current = belief.Incarnation{}
		}
		s.goes(0)
		if back := s.l.Update != nil && s.l.Update.Undoes != nil; back != c.back {
			t.Errorf("%s: it goes back: %t; %+v", name, back, s.l.Update)
		}
	}
}

// handOut has spares take the places that they are to, and says who stands by then.
func (s *story) handOut() []fleet.MachineName {
	s.t.Helper()
	var all []spares.One
	for i := range s.r.S.Machines {
		m := &s.r.S.Machines[i].Machine
		all = append(all, spares.One{Machine: m.Name, Spare: s.l.IsSpare(m.Name), Fitness: spares.Ready,
			Renewed: s.l.Update.Stands(m), Relieved: slices.Contains(s.r.Relieved, m.Name)})
	}
	spares.Assign(all, spares.Need{Serving: s.r.S.Wanted.Size, Spares: s.r.S.Wanted.Spares.Count})
	var idle []fleet.MachineName
	for _, o := range all {
		if o.Spare {
			idle = append(idle, o.Machine)
		}
	}
	s.l = s.l.WithSpares(idle)
	if n := s.l.Serving(); n != s.r.S.Wanted.Size {
		s.t.Errorf("%d have a place among those that serve, and %d are to", n, s.r.S.Wanted.Size)
	}
	return s.l.Spares
}

// stoodBy has the last machine be a spare, and a template be tried.
func stoodBy(t *testing.T, serving int, u policy.Update) *story {
	t.Helper()
	s := tell(t, serving+1, u)
	s.r.S.Wanted.Size, s.r.S.Wanted.Spares.Count = serving, 1
	s.l.Spares = []fleet.MachineName{s.machine(serving + 1).Name}
	for n := range s.r.S.Machines {
		s.machine(n + 1).Address = netip.MustParseAddr("10.0.0.1")
	}
	s.l.Update.Proven = false
	return s
}

// A spare serves no one: it is changed first, but it proves nothing before it serves. From then on the other machines
// are changed as spares, each after one of the new template took its place.
func TestASpareTakesThePlaceOfEachMachineBeforeItIsChanged(t *testing.T) {
	t.Parallel()
	s := stoodBy(t, 3, policy.Update{Soak: time.Minute, InService: policy.Portion{Percent: 100}})
	standsBy := func(want fleet.MachineName) {
		t.Helper()
		if got := s.handOut(); !slices.Equal(got, []fleet.MachineName{want}) {
			t.Errorf("%v stand by, want %s", got, want)
		}
	}
	s.chose(0, "web-4")
	s.changed(4)
	s.chose(time.Hour) // nobody was served by it
	standsBy("web-3")
	s.chose(0)
	s.chose(time.Minute - 1)
	s.chose(1, "web-3")
	for n, next := range []fleet.MachineName{"web-2", "web-1"} {
		s.changed(3 - n)
		s.chose(0)
		standsBy(next)
		s.chose(0, next)
	}
	s.changed(1)
	s.goes(0)
	if s.l.Update != nil || s.said(fleet.ReasonRolloutWaits) > 0 {
		t.Errorf("it is not over, or was in need of machines that serve: %+v", s.l.Update)
	}
}

// As many serve as are to at least: a spare that is not built from the template yet counts for nothing.
func TestASpareIsNoneThatServes(t *testing.T) {
	t.Parallel()
	s := stoodBy(t, 2, policy.Update{InService: policy.Portion{Number: 2}})
	s.machine(3).Health.Verdict = belief.VerdictUnknown
	s.chose(0)
	if s.said(fleet.ReasonRolloutWaits) != 1 {
		t.Error("it is not said once why it waits")
	}
}

// A metric that holds the rollout for long is a person's business, once, and again when it falls silent again.
func TestAMetricThatSaysNothingForLong(t *testing.T) {
	t.Parallel()
	most := 5.0
	s := tell(t, 3, policy.Update{Query: &policy.UpdateQuery{Metric: "errors", Above: &most,
		Own: &policy.Metric{Name: "errors", Every: 10 * time.Second, Late: time.Minute}}})
	s.r.S.Spec.BlindAfter = 5 * time.Minute
	s.r.S.Gauges = []fleet.Gauge{{Metric: "errors", Trouble: fleet.ReasonMetricSilent}}
	pages := func(want int) {
		t.Helper()
		n := 0
		for _, rec := range s.r.Records {
			if err := rec.Valid(); err != nil {
				t.Errorf("%+v: %v", rec, err)
			}
			if rec.Kind == record.Paged && rec.Reason == fleet.ReasonRolloutHeld {
				n++
			}
		}
		if n != want {
			t.Errorf("%d pages, want %d", n, want)
		}
	}
	s.chose(0)
	s.chose(5*time.Minute - 1)
	pages(0)
	s.chose(1)
	s.chose(time.Hour)
	pages(1)
	s.r.S.Gauges = []fleet.Gauge{{Metric: "errors", Points: []fleet.Point{{At: s.r.S.Now.Mono, Value: 1}}}}
	s.chose(0, "web-1", "web-2", "web-3")
	s.chose(2 * time.Minute)
	s.chose(5 * time.Minute)
	pages(2)
}
