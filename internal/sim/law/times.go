package law

import (
	"time"

	"hale/internal/core/policy"
)

// What the policy allows is worked out once more here, from the policy alone.

// Proven is how long a machine must have served before it counts as healthy: the time in which its own checks call it
// up.
func Proven(spec *policy.Spec) time.Duration {
	var longest time.Duration
	for _, c := range spec.Checks {
		longest = max(longest, time.Duration(max(c.UpAfter-1, 0))*c.Every)
	}
	return longest
}

// Steady is how long one who knows nothing yet may disrupt nothing: until its checks can speak (L9).
func Steady(spec *policy.Spec) time.Duration {
	if len(spec.Checks) == 0 {
		return 0
	}
	quickest := time.Hour
	for _, c := range spec.Checks {
		quickest = min(quickest, time.Duration(max(c.DownAfter-1, 0))*c.Every)
	}
	return quickest
}

// Detection is how long the checks, or the provider's listings, need to tell of a failure.
func Detection(spec *policy.Spec, poll time.Duration) time.Duration {
	detect := poll
	for _, c := range spec.Checks {
		detect = max(detect, time.Duration(c.DownAfter+1)*c.Every+c.Timeout)
	}
	return detect
}

// OnePass is how long the policy may take to detect a failure and to go up the whole ladder once, with as many machines
// before this one as there were.
func OnePass(spec *policy.Spec, poll time.Duration, queue int) time.Duration {
	var ladder time.Duration
	for _, step := range spec.Repair.Steps {
		ladder += 2 * step.Timeout
		if step.Kind.Builds() {
			ladder += spec.BuildWithin
		} else {
			ladder += step.VerifyWithin
		}
	}
	turns := 1 + queue/max(spec.Places(), 1)
	return 2*Detection(spec, poll) + time.Duration(turns)*ladder
}

// Utmost is how long the policy may take until a machine is healed, or a person told: every attempt with its wait.
func Utmost(spec *policy.Spec, poll time.Duration, queue int) time.Duration {
	total := spec.BlindAfter + spec.Repair.ExternalStopHold + time.Hour
	backoff := spec.Repair.Backoff
	for range max(spec.Repair.Attempts, 1) {
		total += OnePass(spec, poll, queue) + min(backoff, 30*time.Minute)
		backoff *= 2
	}
	return total
}
