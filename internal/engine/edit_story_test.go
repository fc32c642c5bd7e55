package engine_test

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
)

// What the configuration forbids is forbidden at once: also to work that was confirmed, or is under way.

// rootIsKept says that the root disk is to be kept, which the instances in these stories lose.
func rootIsKept(spec *policy.Spec) { spec.Template.Disks = []policy.Disk{{Name: "root"}} }

func TestL02AnUpdateObeysAnEditThatKeepsADisk(t *testing.T) {
	t.Parallel()
	spec := web(4)
	spec.Template.Image, spec.Update = "v1", policy.Update{Pilots: 1, Soak: 2 * time.Minute}
	spec.Template.Disks = []policy.Disk{{Name: "root", Ephemeral: true}}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		s.reload(func(spec *policy.Spec) { spec.Template.Image = "v2" })
		s.confirm()
		s.await(2*time.Minute, "one tries it", func() bool { return s.built("v2") == 1 && s.healthy(4) })
		began := time.Now()
		s.reload(rootIsKept)
		s.pass(30 * time.Minute)
		s.spared(began, 1, 2, 3, 4)
		if n := s.count(kind(record.Paged)); n != 1 || !s.has(fleet.ReasonUpdateStopped) || !s.allHealthy() {
			t.Errorf("a person is told %d times, stopped: %v, all healthy: %v", n, s.has(fleet.ReasonUpdateStopped),
				s.allHealthy())
		}
	})
}

// The old instance is off already when the edit comes.
func TestL02ARepairUnderWayObeysAnEditThatKeepsADisk(t *testing.T) {
	t.Parallel()
	spec := ladder(web(3), fleet.StepRecreate)
	spec.Template.Disks = []policy.Disk{{Name: "root", Ephemeral: true}}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		lift := s.inject(simulated.Calls{Op: fleet.OpDelete, Effect: simulated.Fails, Kind: fault.Throttled})
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoNetwork,
			Cure: simulated.ByRecreate}})
		s.await(5*time.Minute, "it is off", func() bool { r := s.machine(2).Repair; return r != nil && r.Retries > 2 })
		s.reload(rootIsKept)
		s.pass(time.Minute)
		lift()
		s.pass(30 * time.Minute)
		s.spared(time.Time{}, 2)
		if s.count(kind(record.Paged)) == 0 {
			t.Error("it stays off, and nobody is told")
		}
	})
}

func TestL02AMachineThatIsProtectedAfterTheConfirmationStays(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(5), func(s *story) {
		s.grown()
		s.reload(func(spec *policy.Spec) { spec.Size = 3 })
		s.inject(simulated.Calls{Op: fleet.OpPowerOff, Effect: simulated.Slow, Delay: 5 * time.Second})
		s.confirm()
		s.await(time.Minute, "the first one goes", func() bool {
			return s.machine(4).Repair != nil ||
				s.machine(5).Repair != nil
		})
		began := time.Now()
		other := 4
		if s.machine(4).Repair != nil {
			other = 5
		}
		if s.machine(other).Repair != nil {
			t.Fatal("both at once")
		}
		s.reload(func(spec *policy.Spec) { spec.Protected = []int{other} })
		s.pass(20 * time.Minute)
		s.spared(began, other)
		if !s.healthy(other) || s.status().Spec.Size != 4 {
			t.Errorf("the other one is %s, and the fleet has %d", s.machine(other).Health.Verdict, s.status().Spec.Size)
		}
	})
}

func TestL02AMachineThatIsProtectedAfterTheOrderIsNotExchanged(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, keeper(3), func(s *story) {
		s.grown()
		s.replaced(2)
		lift := s.inject(simulated.Outage{})
		s.pass(time.Minute)
		undo := s.orders(fleet.Order{Kind: fleet.OrderUndo, Machine: "web-2"})
		s.pass(time.Minute)
		if s.machine(2).Wanted == nil {
			t.Fatal("the undo does not wait")
		}
		began := time.Now()
		s.reload(func(spec *policy.Spec) { spec.Protected = []int{2} })
		lift()
		s.pass(10 * time.Minute)
		s.spared(began, 2)
		over := func(r record.Record) bool {
			return r.Kind == record.Order && r.Order == undo.ID && r.Reason == fleet.ReasonProtected
		}
		if s.machine(2).Wanted != nil || s.count(over) != 1 {
			t.Error("nobody says that the order is over")
		}
	})
}

// A build that takes too long may serve somebody all the same: a person is told, and it is certified when it becomes
// healthy.
func TestL02AProtectedMachineThatTakesTooLongIsNotBuiltAnew(t *testing.T) {
	t.Parallel()
	spec := web(3)
	spec.Protected = []int{2}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.inject(simulated.NextBuilds{Machine: "web-2", Times: 1, Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByReboot}})
		s.start()
		s.pass(20 * time.Minute)
		s.spared(time.Time{}, 2)
		if n := s.count(because(record.Paged, fleet.ReasonProtected)); n != 1 {
			t.Errorf("a person is told %d times", n)
		}
		i, _ := s.world.Instance("web-2")
		person := s.world.Open("person")
		if err := person.Reboot(t.Context(), provider.Ref{ID: i.ID, Host: i.Host, Mark: i.Mark}); err != nil {
			t.Fatal(err)
		}
		if err := person.Close(); err != nil {
			t.Fatal(err)
		}
		s.await(5*time.Minute, "it is well", func() bool { return s.healthy(2) })
	})
}

// What the file does not select any more is let go between two calls, and a repair that was begun before does not go
// on.
func TestL02WhatIsNotSelectedAnyMoreIsNotReplaced(t *testing.T) {
	t.Parallel()
	spec := rungs(db(), policy.Step{Kind: fleet.StepRecreate, Timeout: 30 * time.Second,
		OnDeleteFailure: policy.DeleteFailureStop})
	spec.Adopt.Replaceable = true
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.existing("db-main", "db-one", "db-two")
		s.adopts("db-main", "db-one", "db-two")
		lift := s.inject(simulated.Calls{Op: fleet.OpPowerOff, Effect: simulated.Fails, Kind: fault.Throttled})
		s.inject(simulated.Broken{Instance: "db-one", Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.await(time.Minute, "it is to be replaced", func() bool {
			r := s.called("db-one").Repair
			return r != nil &&
				r.Retries > 0
		})
		s.reload(func(spec *policy.Spec) { spec.Adopt.Select.Except = []string{"db-one"} })
		lift()
		s.pass(10 * time.Minute)
		for _, c := range append(s.calls(fleet.OpPowerOff, time.Time{}), s.calls(fleet.OpDelete, time.Time{})...) {
			t.Errorf("L2: %s of %s, which the file does not select any more", c.Op, c.Instance)
		}
		if s.count(because(record.Adoption, fleet.ReasonNotSelected)) != 1 {
			t.Error("nothing says that it was let go")
		}
	})
}

// spared checks that nothing of the machines is powered off or deleted from the time on.
func (s *story) spared(since time.Time, ordinals ...int) {
	s.t.Helper()
	ops := []fleet.Op{fleet.OpDelete}
	if !since.IsZero() || len(s.spec.Protected) > 0 {
		ops = append(ops, fleet.OpPowerOff)
	}
	for _, op := range ops {
		for _, c := range s.calls(op, since) {
			if n, _ := c.Machine.Ordinal(); slices.Contains(ordinals, n) {
				s.t.Errorf("L2: %s of %s (%s) at %s", c.Op, c.Machine, c.Instance, c.At.Format(time.StampMilli))
			}
		}
	}
}

// Whoever puts the former template back before an update is through wants nothing more to be replaced: what tried the
// other one waits for a confirmed plan, and nobody is told of a failure.
func TestATemplateThatIsPutBackStopsTheUpdate(t *testing.T) {
	t.Parallel()
	spec := web(5)
	spec.Template.Image, spec.Update = "v1", policy.Update{Pilots: 1, Soak: 2 * time.Minute}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		s.reload(func(spec *policy.Spec) { spec.Template.Image = "v2" })
		s.confirm()
		s.await(2*time.Minute, "one tries it", func() bool { return s.built("v2") == 1 && s.healthy(5) })
		s.reload(func(spec *policy.Spec) { spec.Template.Image = "v1" })
		s.pass(30 * time.Minute)
		if n := s.built("v2"); n != 1 {
			t.Errorf("%d machines were built from v2, and the file says v1 since the first", n)
		}
		if n := s.count(func(r record.Record) bool { return r.Kind == record.Paged }); n != 0 {
			t.Errorf("%d pages", n)
		}
		s.confirm()
		s.await(5*time.Minute, "the one that tried it is built as the others are",
			func() bool { return s.allHealthy() && s.built("v2") == 0 })
	})
}
