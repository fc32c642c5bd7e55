package belief_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// A call to build without an answer may be carried out for as long as it was given: a new owner waits for as
// long, too.
func TestALostBuildIsWaitedForAsLongAsItMayTake(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]time.Duration{time.Minute: policy.BuildCallLimit,
		15 * time.Minute: 15 * time.Minute} {
		spec := policy.Spec{Repair: policy.Repair{Steps: []policy.Step{{Kind: fleet.StepReboot, Timeout: time.Hour},
			{Kind: fleet.StepRecreate, Timeout: limit}}}}
		now := fleet.Now{Mono: fleet.Instant(time.Hour)}
		m := belief.Machine{Anchor: &belief.Anchor{Host: "h1", Until: 1}}
		if until := m.Restart(now, spec).Anchor.Until; until != now.Mono.Add(want) {
			t.Errorf("with %v for the call it waits until %v, want %v", limit, until, now.Mono.Add(want))
		}
	}
}
