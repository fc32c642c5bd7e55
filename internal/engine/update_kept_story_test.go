package engine_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider/simulated"
)

// keepsOld is a fleet that keeps what it replaces for two hours, built from v1.
func keepsOld(soak time.Duration) policy.Spec {
	keeping := rung(fleet.StepRecreate)
	keeping.KeepOld = 2 * time.Hour
	spec := bare(3, keeping)
	spec.Template.Image, spec.Update = "v1", policy.Update{Pilots: 1, Soak: soak}
	return spec
}

// wantsBack lets a person order the machine's old instance back.
func (s *story) wantsBack(n int) {
	s.t.Helper()
	s.named = append(s.named, s.id(n))
	s.orders(fleet.Order{Kind: fleet.OrderUndo, Machine: s.spec.Name.Machine(n)})
}

// An update honours keep_old: what it replaces is put aside, is brought back by a person's order, and goes when its
// time is over.
func TestAnUpdateKeepsTheOldInstances(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, keepsOld(time.Minute), func(s *story) {
		s.grown()
		old := s.id(2)
		s.reload(func(spec *policy.Spec) { spec.Template.Image = "v2" })
		s.confirm()
		s.await(15*time.Minute, "all have it", func() bool {
			return s.built("v2") == 3 && s.allHealthy() &&
				s.status().Whole.Ledger.Update == nil
		})
		for n := 1; n <= 3; n++ {
			if kept := s.machine(n).Kept; len(kept) != 1 {
				t.Errorf("of web-%d are kept: %+v", n, kept)
			}
		}
		if n := len(s.calls(fleet.OpDelete, time.Time{})); n != 0 {
			t.Errorf("%d instances were deleted", n)
		}
		s.wantsBack(2)
		s.await(5*time.Minute, "the old one is back", func() bool { return s.healthy(2) && s.id(2) == old })
		s.pass(30 * time.Minute)
		if s.id(2) != old || !s.allHealthy() {
			t.Error("it was taken away again")
		}
		s.pass(2 * time.Hour)
		for n := 1; n <= 3; n++ {
			if kept := s.machine(n).Kept; len(kept) != 0 {
				t.Errorf("of web-%d are kept still: %+v", n, kept)
			}
		}
		if s.built("v1") != 1 || s.built("v2") != 2 {
			t.Errorf("%d of the old template and %d of the new one are left", s.built("v1"), s.built("v2"))
		}
	})
}

// Who brings a canary's old instance back while the update goes through stops it: nobody else gets the template before
// it is confirmed anew.
func TestAnUndoStopsTheUpdateThatGoesOn(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, keepsOld(20*time.Minute), func(s *story) {
		s.grown()
		old := s.id(3)
		s.reload(func(spec *policy.Spec) { spec.Template.Image = "v2" })
		s.confirm()
		s.await(5*time.Minute, "one tries it", func() bool { return s.built("v2") == 1 && s.healthy(3) })
		s.wantsBack(3)
		s.await(5*time.Minute, "the old one is back", func() bool { return s.healthy(3) && s.id(3) == old })
		s.pass(40 * time.Minute)
		if s.id(3) != old || s.built("v2") != 1 || !s.has(fleet.ReasonUpdateStopped) ||
			s.count(kind(record.Paged)) != 0 {
			t.Errorf("%d have it, stopped: %v, %d pages", s.built("v2"), s.has(fleet.ReasonUpdateStopped),
				s.count(kind(record.Paged)))
		}
		s.confirm()
		// one of them is put aside
		s.await(time.Hour, "all have it after all", func() bool { return s.built("v2") == 4 && s.allHealthy() })
	})
}

// Where no more can be kept, an update takes nothing, and a person is told why.
func TestAnUpdateThatCannotKeepStops(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, keepsOld(time.Second), func(s *story) {
		s.grown()
		for _, image := range []string{"v2", "v3", "v4"} {
			s.reload(func(spec *policy.Spec) { spec.Template.Image = image })
			s.confirm()
			s.await(30*time.Minute, image, func() bool {
				return s.built(image) == 3 && s.allHealthy() &&
					s.status().Whole.Ledger.Update == nil
			})
		}
		s.reload(func(spec *policy.Spec) { spec.Template.Image = "v5" })
		s.confirm()
		s.await(5*time.Minute, "it stops", func() bool { return s.has(fleet.ReasonUpdateStopped) })
		s.pass(10 * time.Minute)
		why := s.count(func(r record.Record) bool {
			return r.Kind == record.Paged && r.Reason == fleet.ReasonGivenUp &&
				r.Detail == string(fleet.ReasonTooManyKept)
		})
		if why != 1 || s.built("v5") != 0 || !s.allHealthy() {
			t.Errorf("told %d times, %d were built", why, s.built("v5"))
		}
	})
}
