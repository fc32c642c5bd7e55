package engine_test

import (
	"testing"
	"time"

	"hale/internal/provider"
	"hale/internal/provider/simulated"
)

// A cloud that lists slowly is down when nobody said that it may, and is not when somebody did: then its machines are
// healed all the same.
func TestAListingMayTakeAsLongAsTheConfigurationSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		within time.Duration
		heals  bool
	}{
		"longer than is usual":    {0, false},
		"shorter than is allowed": {30 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, db(), func(s *story) {
				s.within = c.within
				s.existing("db-main", "db-one", "db-two")
				s.adopts("db-main", "db-one", "db-two")
				s.inject(simulated.Calls{Op: provider.OpList, Effect: simulated.Slow, Delay: 15 * time.Second})
				s.pass(time.Minute)
				s.inject(simulated.Crash{Instance: "db-one"})
				s.pass(10 * time.Minute)
				if got := s.world.Healthy("db-one"); got != c.heals {
					t.Errorf("it is healed: %v", got)
				}
			})
		})
	}
}
