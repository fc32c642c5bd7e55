package sim

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// noting is a run on two hosts, of three machines that only a new instance heals.
func noting(t *testing.T, plan ...script.Event) *stage {
	t.Helper()
	spec := exemplar.Fleet(3)
	spec.Repair.Steps = spec.Repair.Steps[2:]
	hosts := []world.Host{{Name: "h1"}, {Name: "h2"}}
	s, err := newStage(Options{Spec: spec, Hosts: hosts, Horizon: 2 * time.Hour, Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// playsOn plays the run until then, and the laws hold.
func (s *stage) playsOn(t *testing.T, until time.Duration) {
	t.Helper()
	s.w.At(until, func() {})
	if s.w.Now() == 0 {
		for _, c := range s.servers {
			c.start()
		}
	}
	for s.settle(); s.w.Now() < until && s.w.Step(); s.settle() {
	}
	if len(s.judge.Broke()) > 0 {
		t.Errorf("the judge says %v", s.judge.Broke())
	}
}

// Nothing is noted while there is nothing to build or destroy, and a start stands for all that it does.
func TestAStartIsNotedBeforeItBuilds(t *testing.T) {
	t.Parallel()
	s := noting(t,
		script.Event{At: 10 * time.Minute, Subject: "web-1", Verb: verbs.LosesDisk},
		script.Event{At: 30 * time.Minute, Subject: "web-2", Verb: verbs.LosesDisk},
		script.Event{At: 50 * time.Minute, Subject: "hale-1", Verb: script.Dies, For: time.Minute},
		script.Event{At: 60 * time.Minute, Subject: "web-3", Verb: verbs.LosesDisk})
	for _, step := range []struct {
		until time.Duration
		noted int
	}{{9 * time.Minute, 0}, {29 * time.Minute, 1}, {59 * time.Minute, 1}, {80 * time.Minute, 2}} {
		s.playsOn(t, step.until)
		if n := s.w.Noted(installation); len(n) != step.noted {
			t.Errorf("after %s %v are noted", step.until, n)
		}
	}
	if s.score.Repairs != 3 || down(s) != 0 {
		t.Errorf("%d repairs, %d machines are down", s.score.Repairs, down(s))
	}
}

// L1: a start that a person has believed is a new one. So the copy of the store, which knew the one before, is held in
// turn.
func TestL1OfTwoCopiesABelievedOneStopsTheOther(t *testing.T) {
	t.Parallel()
	s := noting(t,
		script.Event{At: 5 * time.Minute, Subject: "web-1", Verb: verbs.LosesDisk},
		script.Event{At: 20 * time.Minute, Subject: "hale", Verb: script.StartedTwice, For: time.Hour},
		script.Event{At: 25 * time.Minute, Subject: "operator", Verb: script.Holds, Arg: "web", For: time.Hour},
		script.Event{At: 30 * time.Minute, Subject: "web-2", Verb: verbs.LosesDisk},
		script.Event{At: 40 * time.Minute, Subject: "operator", Verb: script.Believes})
	s.playsOn(t, 39*time.Minute)
	if o := s.store.Overall.Whole.Older; o == nil || s.double.store.Overall.Whole.Older != nil {
		t.Fatalf("the first is held by %+v, and the copy by %+v", o, s.double.store.Overall.Whole.Older)
	}
	s.playsOn(t, 41*time.Minute)
	o := s.double.store.Overall.Whole.Older
	if s.store.Overall.Whole.Older != nil || o == nil || o.Start != s.servers[0].roll.Own {
		t.Errorf("the first is held by %+v, and the copy by %+v", s.store.Overall.Whole.Older, o)
	}
}

// A note that the store does not take is not written, and nothing is built or destroyed until it is.
func TestNothingIsDestroyedWhileAStartCannotBeNoted(t *testing.T) {
	t.Parallel()
	s := noting(t)
	s.playsOn(t, time.Minute)
	c := s.servers[0]
	a := situation.Action{Machine: "web-1", Instance: "planted-1", Host: "h1",
		Intent: belief.Intent{Op: fleet.OpPowerOff}}
	start := a
	start.Intent.Op = fleet.OpStart
	for name, trouble := range map[string]func() func(){
		"the store is full":          func() func() { s.store.full++; return func() { s.store.full-- } },
		"the store is away":          func() func() { s.store.cut[c]++; return func() { s.store.cut[c]-- } },
		"the provider is silent":     func() func() { return s.w.Cutoff("") },
		"the call's host is silent":  func() func() { return s.w.Darkness(world.Domain{Kind: "host", Name: "h1"}) },
		"all calls fail for a while": func() func() { return s.w.Upset(world.Trouble{Fails: 1, Reads: true}) },
	} {
		c.roll.Believe(nil) // so this is another start, which is noted nowhere
		lift := trouble()
		if c.permit(a) == "" || c.permit(start) != "" {
			t.Errorf("%s: a power-off is permitted, or a start is not", name)
		}
		lift()
		if why := c.permit(a); why != "" || !slices.Contains(s.w.OnHost("h2", installation), string(c.roll.Own)) {
			t.Errorf("%s: after that it is not permitted: %s", name, why)
		}
	}
}

// A machine that fails while the notes are silent is held with that reason: no attempt is spent on it, no person is
// called, and it is healed when they can be read again.
func TestARepairWaitsForTheNotes(t *testing.T) {
	t.Parallel()
	s := noting(t, script.Event{At: 10 * time.Minute, Subject: "web-1", Verb: verbs.LosesDisk})
	lift := s.w.Upset(world.Trouble{Op: world.Notes, Fails: 1, Reads: true})
	s.playsOn(t, 40*time.Minute)
	if m := s.store.Beliefs[0]; m.Waiting != fleet.ReasonPlaceSilent || s.score.Actions+s.score.Paged != 0 {
		t.Errorf("it waits for %q, %d actions, %d pages", m.Waiting, s.score.Actions, s.score.Paged)
	}
	lift()
	s.playsOn(t, 50*time.Minute)
	if s.score.Repairs != 1 || down(s) != 0 {
		t.Errorf("%d repairs, %d machines are down", s.score.Repairs, down(s))
	}
}

// What hale believes of an instance by a person's word, the provider has to say once more, and a listing of that very
// instant does not: the world lets hale ask again, as its polls do, though nothing in it changes. The machine crashed
// while the fleet was held.
func TestWhatIsBelievedIsListedOnceMore(t *testing.T) {
	t.Parallel()
	s := noting(t,
		script.Event{At: 10 * time.Minute, Subject: "web-1", Verb: verbs.LosesDisk},
		script.Event{At: 30 * time.Minute, Subject: "store", Verb: script.IsRolledBack, Arg: "5m"},
		script.Event{At: 40 * time.Minute, Subject: "web-1", Verb: verbs.Crashes},
		script.Event{At: 60 * time.Minute, Subject: "operator", Verb: script.Believes})
	s.playsOn(t, 59*time.Minute)
	if s.store.Overall.Whole.Older == nil || down(s) != 1 {
		t.Fatalf("held by %+v, %d machines are down", s.store.Overall.Whole.Older, down(s))
	}
	s.playsOn(t, 70*time.Minute)
	if down(s) != 0 {
		t.Errorf("%d machines are down: %+v", down(s), s.store.Beliefs[0].Health)
	}
}

// down is how many machines do not serve.
func down(s *stage) int {
	n := 0
	for i := range s.spec.Size {
		if vm := s.w.Current(string(s.spec.Name.Machine(i + 1))); vm == nil || !vm.Serving() {
			n++
		}
	}
	return n
}
