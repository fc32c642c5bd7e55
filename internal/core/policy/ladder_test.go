package policy_test

import (
	"testing"
	"time"

	"hale/internal/core/policy"
)

func TestBackoffDoublesUpToHalfAnHour(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{0: 10 * time.Second, 1: 10 * time.Second, 2: 20 * time.Second,
		3: 40 * time.Second, 20: 30 * time.Minute, 1000: 30 * time.Minute} {
		if got := policy.Backoff(10*time.Second, n); got != want {
			t.Errorf("after %d attempts %v, want %v", n, got, want)
		}
	}
}
