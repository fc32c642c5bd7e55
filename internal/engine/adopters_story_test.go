package engine_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/state/memory"
)

// another starts another hale, with a data folder of its own, that selects the same machines.
func (s *story) another(server string) *story {
	s.t.Helper()
	other := &story{t: s.t, world: s.world, transport: s.transport, spec: s.spec, backing: memory.New(memory.Options{})}
	other.hale = other.controller(server)
	s.t.Cleanup(other.kill)
	return other
}

// elsewhere reports whether the hale leaves the machine to another one.
func (s *story) elsewhere(alias string) func() bool {
	return func() bool { return s.called(alias).Elsewhere != nil }
}

func (s *story) elsewherePages() int {
	return s.count(because(record.Paged, fleet.ReasonElsewhere))
}

// Two hales with a data folder each adopt the same machine: the first one heals it, the other one says why it does not
// and pages once; when the first has been gone for a day, the other one takes over, and the first leaves it alone when
// it comes back.
func TestOfTwoHalesThatAdoptOneMachineTheFirstHealsIt(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, db(), func(s *story) {
		s.existing("db-main")
		s.adopts("db-main")
		other := s.another("hale-other")
		defer other.kill()
		other.await(3*time.Minute, "the other hale sees the claim", other.elsewhere("db-main"))
		heals := func(by, not string, from *story) {
			t.Helper()
			began := time.Now()
			s.inject(simulated.Crash{Instance: "db-main"})
			from.await(5*time.Minute, "it is healed", func() bool {
				return s.world.Healthy("db-main") &&
					from.called("db-main").Incident == nil
			})
			from.pass(5 * time.Minute)
			if n, m := len(s.by(by, began)), len(s.by(not, began)); n != 1 || m != 0 {
				t.Errorf("%s did %d calls, and %s %d", by, n, not, m)
			}
		}
		for range 3 {
			heals("hale-1", "hale-other", s)
		}
		if s.elsewherePages() != 0 || other.elsewherePages() != 1 {
			t.Errorf("%d and %d pages", s.elsewherePages(), other.elsewherePages())
		}
		other.pass(30 * time.Hour)
		if !other.elsewhere("db-main")() {
			t.Error("a claim that is renewed is over")
		}
		s.kill()
		began := time.Now()
		s.inject(simulated.Crash{Instance: "db-main"})
		other.pass(22 * time.Hour)
		if m := other.called("db-main"); m.Waiting != fleet.ReasonElsewhere || len(s.by("hale-other", began)) != 0 {
			t.Errorf("while the claim stands it waits for %q, and calls are %v", m.Waiting, s.by("hale-other", began))
		}
		other.await(3*time.Hour, "the other one takes over", func() bool {
			return s.world.Healthy("db-main") &&
				other.called("db-main").Incident == nil
		})
		other.pass(time.Minute)
		s.start()
		s.await(5*time.Minute, "the first sees that the other took over", s.elsewhere("db-main"))
		s.pass(time.Minute)
		heals("hale-other", "hale-1", other)
	})
}

// Two that begin at the same moment: one of them does it, and only one.
func TestOfTwoHalesThatAdoptAMachineAtOnceOneHealsIt(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, db(), func(s *story) {
		s.existing("db-main")
		s.start()
		other := s.another("hale-other")
		defer other.kill()
		s.await(2*time.Minute, "both adopt it", func() bool {
			return s.adopted("db-main")() &&
				other.adopted("db-main")()
		})
		s.inject(simulated.Crash{Instance: "db-main"})
		s.await(10*time.Minute, "it is healed", func() bool { return s.world.Healthy("db-main") })
		s.pass(10 * time.Minute)
		if calls := s.world.Calls(); len(calls) != 1 {
			t.Errorf("calls: %+v", calls)
		}
		if s.elsewhere("db-main")() == other.elsewhere("db-main")() {
			t.Error("not one of the two leaves it alone")
		}
	})
}

// A hale that only watches claims nothing, and what is let go is claimed no more.
func TestAHaleThatWatchesOrLetsGoClaimsNothing(t *testing.T) {
	t.Parallel()
	spec := db()
	spec.Mode = policy.ModeObserve
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.existing("db-main", "db-one")
		s.adopts("db-main", "db-one")
		s.spec.Mode = policy.ModeAct
		other := s.another("hale-other")
		defer other.kill()
		other.await(2*time.Minute, "the other adopts them", other.adopted("db-main", "db-one"))
		other.pass(2 * time.Minute)
		if other.elsewhere("db-main")() || len(s.world.Noted(fleet.ClaimPlace)) != 3 {
			t.Errorf("noted are %v", s.world.Noted(fleet.ClaimPlace))
		}
		other.reload(func(spec *policy.Spec) { spec.Adopt.Select.Except = []string{"db-one"} })
		other.await(2*time.Minute, "one is claimed", func() bool { return len(s.world.Noted(fleet.ClaimPlace)) == 2 })
	})
}

// A hale that is alone heals although the place for its notes is silent.
func TestAnAdoptedMachineIsHealedWhileNotesFail(t *testing.T) {
	t.Parallel()
	for _, op := range []fleet.Op{provider.OpStarts, provider.OpNoteStart} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, db(), func(s *story) {
				s.existing("db-main")
				s.inject(simulated.Calls{Op: op, Effect: simulated.Fails})
				s.adopts("db-main")
				s.inject(simulated.Crash{Instance: "db-main"})
				s.await(5*time.Minute, "it is healed", func() bool {
					return s.world.Healthy("db-main") &&
						s.called("db-main").Incident == nil
				})
			})
		})
	}
}
