package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/provider/simulated"
	"hale/internal/state/memory"
)

// While the store takes minutes for a write, whatever it was given, a fleet is stuck until that is done. One that has
// nothing to do is not.
func TestAFleetIsStuckWhileItsStoreHolds(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		var holds atomic.Bool
		s.faults = func(_ context.Context, c memory.Call) memory.Effect {
			if c.Op == memory.OpCommit && holds.Load() {
				<-time.After(3 * time.Minute) // deaf to its context, as a disk is
			}
			return memory.Normal
		}
		s.grown()
		s.pass(time.Hour)
		if name, stuck := s.hale.engine.Stuck(30 * time.Second); stuck {
			t.Errorf("%s is stuck where nothing happens", name)
		}
		holds.Store(true)
		s.dies(2)
		s.await(2*time.Minute, "the fleet is stuck", func() bool {
			name, stuck := s.hale.engine.Stuck(30 * time.Second)
			return stuck && name == "web"
		})
		holds.Store(false)
		s.pass(5 * time.Minute)
		s.await(time.Hour, "it goes on", s.allHealthy)
		if name, stuck := s.hale.engine.Stuck(30 * time.Second); stuck {
			t.Errorf("%s is stuck when its store goes on", name)
		}
	})
}
