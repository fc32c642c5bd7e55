package engine_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/provider/simulated"
)

// L12: a reset without an answer cannot be observed; it is not repeated, the machine's health decides.
func TestALostAnswerToAResetIsNotRepeated(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		at := time.Now()
		s.inject(simulated.Calls{Op: fleet.OpReboot, Times: 1, Effect: simulated.AnswerLost})
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.await(2*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		if n := len(s.calls(fleet.OpReboot, at)); n != 1 {
			t.Errorf("%d resets, want one", n)
		}
	})
}

// oneInstanceEach checks the truth: every machine has exactly one instance, it runs, and it is the certified one.
func (s *story) oneInstanceEach() {
	s.t.Helper()
	if !s.allHealthy() {
		s.t.Error("the fleet does not stand")
	}
	exist := make(map[fleet.MachineName]int)
	for _, l := range s.world.Lives() {
		if l.Removed.IsZero() {
			exist[l.Mark.Machine]++
		}
	}
	for n := 1; n <= s.spec.Size; n++ {
		name := s.spec.Name.Machine(n)
		if exist[name] != 1 || s.world.RunningCopies(name) != 1 {
			s.t.Errorf("%s has %d instances, %d running", name, exist[name], s.world.RunningCopies(name))
		}
		if i, _ := s.world.Instance(name); i.ID != s.machine(n).Current.ID || !i.Mark.Certified {
			s.t.Errorf("%s is %s (certified %v), hale believes %s", name, i.ID, i.Mark.Certified,
				s.machine(n).Current.ID)
		}
	}
}
