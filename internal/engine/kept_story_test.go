package engine_test

import (
	"testing"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider/simulated"
)

// keeper is a fleet whose only step puts the old instance aside for a day.
func keeper(size int) fleet.Spec {
	return rungs(web(size), fleet.Step{Kind: fleet.StepRecreate, Timeout: 30 * time.Second, OnDeleteFailure: fleet.DeleteFailureStop, KeepOld: 24 * time.Hour})
}

// replaced has the machine replaced, and returns its old instance, which is kept.
func (s *story) replaced(n int) (old fleet.InstanceID) {
	s.t.Helper()
	old = s.id(n)
	s.inject(simulated.Broken{Instance: old, Illness: simulated.Illness{Symptom: simulated.NoNetwork, Cure: simulated.ByRecreate}})
	s.await(5*time.Minute, "it is replaced", func() bool { return s.healthy(n) && s.machine(n).Current.ID != old })
	if m := s.machine(n); m.KeptAt(old) < 0 {
		s.t.Fatalf("%s is not kept", old)
	}
	return old
}

// lost returns the instance whose order was lost.
func (s *story) lost(n int) (id fleet.InstanceID) {
	s.t.Helper()
	for _, r := range s.records() {
		if r.Kind == fleet.RecordOutcome && r.Op == fleet.OpCreate && r.Outcome == fleet.OutcomeUnknown && r.Machine == s.spec.Name.Machine(n) {
			id = r.Instance
		}
	}
	return id
}

// L1: while an order to build may yet be carried out on another host, nothing is brought back beside it; when it is carried out, that
// instance makes way as any other.
func TestL1NothingIsBroughtBackBesideALateBuild(t *testing.T) {
	t.Parallel()
	spec := keeper(3)
	spec.Template.Disks = []fleet.Disk{{Name: "data", Size: 1 << 30}, {Name: "root", Ephemeral: true}}
	tell(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}, Places: map[fleet.HostName]fleet.Place{"h1": {Storage: "s"}, "h2": {Storage: "s"}}}, spec, func(s *story) {
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
		s.inject(simulated.Broken{Instance: old, Illness: simulated.Illness{Symptom: simulated.NoNetwork, Cure: simulated.ByReboot}})
		s.await(5*time.Minute, "its successor was ordered in vain", func() bool { m := s.machine(n); return m.Anchor != nil && m.Repair == nil })
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
		s.await(time.Minute, "the old one is back", func() bool { return s.healthy(n) && s.machine(n).Current.ID == old })
		if !s.has(fleet.ReasonLateOrder) {
			t.Error("nobody was told why it waited")
		}
	})
}

// L1: what was ordered to start, and did not, does not do so when it was put aside since.
func TestL1WhatWasPutAsideDoesNotStartLate(t *testing.T) {
	t.Parallel()
	spec := keeper(3)
	spec.Repair.Steps = append([]fleet.Step{rung(fleet.StepStart)}, spec.Repair.Steps...)
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
		s.await(time.Minute, "a person is told", func() bool { return s.count(because(fleet.RecordPaged, fleet.ReasonSecondRunning)) == 1 })
		s.inject(simulated.PersonPowersOff{Instance: old})
		s.await(time.Minute, "all is well", func() bool { return len(s.machine(2).Strays) == 0 })
		s.pass(time.Hour)
		if m := s.machine(2); m.KeptAt(old) < 0 || m.Current.ID == old || s.count(kind(fleet.RecordPaged)) != 1 {
			t.Errorf("it is %+v", m)
		}
	})
}

// L8, L10: an undo whose old instance has gone ends, a person is told, and the machine is healed as any other.
func TestL8AnUndoOfWhatHasGoneEnds(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, keeper(3), func(s *story) {
		s.grown()
		old := s.replaced(2)
		s.inject(simulated.Vanishes{Instance: old})
		s.pass(time.Minute)
		s.orders(fleet.Order{Kind: fleet.OrderUndo, Machine: "web-2"})
		s.await(time.Minute, "it is given up", func() bool { return s.has(fleet.ReasonGivenUp) && s.machine(2).Repair == nil })
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
		s.inject(simulated.Calls{Op: simulated.OpGet, Instance: old, Effect: simulated.Fails})
		s.inject(simulated.StaleLists{Age: time.Hour})
		s.orders(fleet.Order{Kind: fleet.OrderUndo, Machine: "web-2"})
		s.await(10*time.Minute, "it is given up", func() bool { return s.has(fleet.ReasonGivenUp) && s.machine(2).Repair == nil })
		if m := s.machine(2); !s.healthy(2) || len(m.Kept) != 1 {
			t.Errorf("it is %+v", m)
		}
	})
}
