package engine_test

import (
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/sim/verbs"
)

// lost returns the instance that the lost call built.
func (s *story) lost(n int) (id fleet.InstanceID) {
	s.t.Helper()
	for _, r := range s.records() {
		if r.Kind == record.Outcome && r.Op == fleet.OpCreate && r.Outcome == fleet.OutcomeUnknown &&
			r.Machine == s.spec.Name.Machine(n) {
			id = r.Instance
		}
	}
	return id
}

// L1: while a call to build may yet be carried out on another host, nothing is brought back beside it; when it is
// carried out, that instance makes way as any other.
func TestL1NothingIsBroughtBackBesideALateBuild(t *testing.T) {
	t.Parallel()
	spec := keeper(3)
	spec.Template.Disks = []policy.Disk{{Name: "data", Size: 1 << 30}, {Name: "root", Ephemeral: true}}
	tell(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2"},
		Places: map[fleet.HostName]fleet.Place{"h1": {Storage: "s"}, "h2": {Storage: "s"}}}, spec, func(s *story) {
		s.grown()
		n := 0
		for i := 1; i <= 3; i++ {
			for k := 1; k <= 3; k++ {
				if k != i && s.machine(i).Current.Host == s.machine(k).Current.Host {
					n = i // its successor is built on the other host
				}
			}
		}
		old := s.id(n)
		lift := s.inject(simulated.Calls{Op: fleet.OpCreate, Effect: simulated.Fails, Kind: fault.Permanent})
		s.inject(simulated.Calls{Op: fleet.OpCreate, Effect: simulated.ActsLate, Delay: 110 * time.Second, Times: 1})
		s.inject(simulated.Broken{Instance: old, Illness: simulated.Illness{Symptom: simulated.NoNetwork,
			Cure: simulated.ByReboot}})
		s.await(5*time.Minute, "its successor was asked for in vain",
			func() bool { m := s.machine(n); return m.Anchor != nil && m.Repair == nil })
		if s.machine(n).Anchor.Host == s.machine(n).Kept[0].Host {
			t.Fatal("the same host")
		}
		late := s.lost(n)
		s.named = append(s.named, late)
		s.orders(fleet.Order{Kind: fleet.OrderUndo, Machine: s.spec.Name.Machine(n)})
		for range 300 {
			s.pass(time.Second)
			if len(s.world.Attached(old)) > 0 && len(s.world.Attached(late)) > 0 {
				t.Fatalf("the data disk is attached to both %s and %s", old, late)
			}
		}
		lift()
		s.await(time.Minute, "the old one is back", func() bool {
			return s.healthy(n) &&
				s.machine(n).Current.ID == old
		})
		if !s.has(fleet.ReasonLateCall) {
			t.Error("nobody was told why it waited")
		}
	})
}

// L1: what was told to start, and did not, does not do so when it was put aside since.
func TestL1WhatWasPutAsideDoesNotStartLate(t *testing.T) {
	t.Parallel()
	spec := keeper(3)
	spec.Repair.Steps = append([]policy.Step{rung(fleet.StepStart)}, spec.Repair.Steps...)
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		old := s.id(2)
		s.inject(simulated.Calls{Op: fleet.OpStart, Effect: simulated.Fails, Kind: fault.Permanent})
		s.inject(simulated.Calls{Op: fleet.OpStart, Effect: simulated.ActsLate, Delay: 110 * time.Second, Times: 1})
		s.inject(simulated.Crash{Instance: old})
		s.pass(10 * time.Minute)
		if m := s.machine(2); m.KeptAt(old) < 0 || !s.healthy(2) {
			t.Errorf("it is %+v", m)
		}
	})
}

// L1: somebody starts what was put aside: two of the machine run, and a person is told.
func TestL1WhatWasPutAsideAndRunsIsTold(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, keeper(3), func(s *story) {
		s.twins = true
		s.grown()
		old := s.replaced(2)
		s.inject(simulated.PersonMends{Instance: old})
		s.await(time.Minute, "a person is told", func() bool {
			return s.count(because(record.Paged,
				fleet.ReasonSecondRunning)) == 1
		})
		s.inject(simulated.PersonPowersOff{Instance: old})
		s.await(time.Minute, "all is well", func() bool { return len(s.machine(2).Strays) == 0 })
		s.pass(time.Hour)
		if m := s.machine(2); m.KeptAt(old) < 0 || m.Current.ID == old || s.count(kind(record.Paged)) != 1 {
			t.Errorf("it is %+v", m)
		}
	})
}

// L8, L10: an undo ends when the old instance is gone, a person is told, and the machine is healed as any other.
func TestL8AnUndoOfWhatHasGoneEnds(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, keeper(3), func(s *story) {
		s.grown()
		old := s.replaced(2)
		s.inject(simulated.Vanishes{Instance: old})
		s.pass(time.Minute)
		s.orders(fleet.Order{Kind: fleet.OrderUndo, Machine: "web-2"})
		s.await(time.Minute, "it is given up", func() bool {
			return s.has(fleet.ReasonGivenUp) &&
				s.machine(2).Repair == nil
		})
		if m := s.machine(2); len(m.Kept) != 0 {
			t.Errorf("it still counts on %+v", m.Kept)
		}
		s.replaced(2)
	})
}

// L8: an undo that cannot learn what became of the old instance ends, too.
func TestL8AnUndoThatIsNotAnsweredEnds(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, keeper(3), func(s *story) {
		s.grown()
		old := s.replaced(2)
		s.inject(simulated.Calls{Op: provider.OpGet, Instance: old, Effect: simulated.Fails})
		s.inject(simulated.Happens{Verb: verbs.ListsStale, Arg: "1h"})
		s.orders(fleet.Order{Kind: fleet.OrderUndo, Machine: "web-2"})
		s.await(10*time.Minute, "it is given up", func() bool {
			return s.has(fleet.ReasonGivenUp) &&
				s.machine(2).Repair == nil
		})
		if m := s.machine(2); !s.healthy(2) || len(m.Kept) != 1 {
			t.Errorf("it is %+v", m)
		}
	})
}

// waits has an order wait: the provider does not answer until the returned function is called.
func (s *story) waits(o fleet.Order) (taken fleet.Order, lift func()) {
	s.t.Helper()
	lift = s.inject(simulated.Outage{})
	s.pass(time.Minute)
	taken = s.orders(o)
	s.pass(time.Minute)
	n, _ := o.Machine.Ordinal()
	if w := s.machine(n).Wanted; w == nil || w.Order != taken.ID {
		s.t.Fatalf("it does not wait: %+v", w)
	}
	return taken, lift
}

// over counts how often the order was said to be over.
func (s *story) over(o fleet.Order, why fleet.Reason) int {
	s.t.Helper()
	return s.count(func(r record.Record) bool {
		return r.Order == o.ID && r.Kind == record.Order &&
			r.Reason == why
	})
}

// L12: an order that waits, and that another one takes the place of, is said to be over: a heal of the undo, and an
// undo of the heal.
func TestL12NoOrderThatWaitsIsForgotten(t *testing.T) {
	t.Parallel()
	for first, second := range map[fleet.OrderKind]fleet.OrderKind{
		fleet.OrderUndo: fleet.OrderHeal, fleet.OrderHeal: fleet.OrderUndo,
	} {
		t.Run(string(first), func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, keeper(3), func(s *story) {
				s.grown()
				old := s.replaced(2)
				lift := s.inject(simulated.Outage{})
				s.pass(time.Minute)
				s.inject(simulated.Broken{Instance: s.machine(2).Current.ID,
					Illness: simulated.Illness{Symptom: simulated.NoNetwork}})
				s.pass(time.Minute)
				one := s.orders(fleet.Order{Kind: first, Machine: "web-2"})
				s.pass(time.Minute)
				two := s.orders(fleet.Order{Kind: second, Machine: "web-2"})
				s.pass(time.Minute)
				if w := s.machine(2).Wanted; w == nil || w.Order != two.ID || w.Undo != (second == fleet.OrderUndo) {
					t.Errorf("what waits is %+v", w)
				}
				lift()
				s.await(10*time.Minute, "it is well again", func() bool { return s.healthy(2) })
				if s.over(one, fleet.ReasonOverruled) != 1 {
					t.Errorf("the %s was taken up, never carried out, and never said to be over", first)
				}
				if back := s.machine(2).Current.ID == old; back != (second == fleet.OrderUndo) {
					t.Errorf("the old instance is back: %v", back)
				}
			})
		})
	}
}

// L12: an undo brings back what had been replaced last when it was ordered, and not what was put aside since.
func TestL12AnUndoBringsBackWhatWasMeant(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, keeper(3), func(s *story) {
		s.grown()
		first := s.replaced(2)
		second := s.id(2)
		lift := s.inject(simulated.Calls{Op: fleet.OpKeep, Effect: simulated.Fails, Kind: fault.Throttled})
		s.inject(simulated.Broken{Instance: second, Illness: simulated.Illness{Symptom: simulated.NoNetwork,
			Cure: simulated.ByRecreate}})
		s.await(5*time.Minute, "it is about to be put aside", func() bool {
			r := s.machine(2).Repair
			return r != nil &&
				r.Retries > 1
		})
		s.orders(fleet.Order{Kind: fleet.OrderUndo, Machine: "web-2"}) // what was replaced last is the first instance
		s.pass(10 * time.Second)
		if m := s.machine(2); m.Wanted == nil || m.Wanted.Back != first || len(m.Kept) != 1 {
			t.Fatal("the story is another one")
		}
		lift()
		s.await(20*time.Minute, "one is brought back", func() bool {
			return s.healthy(2) &&
				s.count(because(record.RepairEnded, fleet.ReasonUndone)) == 1
		})
		if id := s.machine(2).Current.ID; id != first {
			t.Errorf("the person wanted %s back, and got %s, which hale itself had found sick: %v", first, id,
				id == second)
		}
	})
}

// L12: an undo that waits until what it would bring back has gone is said to be over.
func TestL12AnUndoThatComesTooLateIsOver(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, keeper(3), func(s *story) {
		s.grown()
		s.replaced(2)
		s.pass(24*time.Hour - 90*time.Second)
		undo, lift := s.waits(fleet.Order{Kind: fleet.OrderUndo, Machine: "web-2"})
		s.pass(time.Hour)
		lift()
		s.await(time.Minute, "it is over", func() bool { return s.over(undo, fleet.ReasonExpired) == 1 })
		s.await(10*time.Minute, "the old one goes", func() bool { return len(s.machine(2).Kept) == 0 })
	})
}
