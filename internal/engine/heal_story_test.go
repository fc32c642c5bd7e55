package engine_test

import (
	"testing"
	"time"

	"hale/internal/fleet"
	"hale/internal/provider/simulated"
)

func TestAFleetIsBuiltAndCertified(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.start()
		s.await(time.Minute, "the fleet stands", s.allHealthy)
		for n := 1; n <= 3; n++ {
			i, _ := s.world.Instance(s.spec.Name.Machine(n))
			if !i.Mark.Certified || i.Mark.Generation != 1 {
				t.Errorf("%s bears %+v", i.Name, i.Mark)
			}
		}
	})
}

func TestACrashedMachineIsStarted(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		before, at := s.id(2), time.Now()
		s.inject(simulated.Crash{Instance: before})
		s.await(20*time.Second, "web-2 is healed", func() bool { return s.healthy(2) && s.heals(2) == 1 })
		if s.id(2) != before || len(s.calls(fleet.OpStart, at)) != 1 {
			t.Error("a crashed machine that can be started was not just started")
		}
	})
}
