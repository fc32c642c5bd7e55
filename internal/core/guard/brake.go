package guard

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// BrakeLimit returns how many machines may fail before the brake engages: max(at_least, floor(percent x size / 100)),
// and, but where the policy says so, never so many that all of three or more could fail.
func BrakeLimit(p policy.Brake, size int) int {
	limit := max(p.AtLeast, p.Percent*size/100)
	if size >= 3 && !p.All {
		limit = min(limit, size-1)
	}
	return limit
}

// StepBrake returns the brake after this round. It engages at once, and releases after the failures stayed at or below
// half the limit for the policy's time; or, above that, at or below the limit, and none came to them, for much longer:
// what fails then fails for itself, and would be repaired had the brake never engaged.
func StepBrake(b belief.Brake, p policy.Brake, settle time.Duration, t Tally, now fleet.Now) belief.Brake {
	limit := BrakeLimit(p, t.Size)
	switch {
	case t.Failing > limit || !b.Engaged:
		b.SteadySince, b.Steady = 0, 0
	case b.SteadySince == 0 || t.Rose || t.Failing > b.Steady:
		b.SteadySince, b.Steady = now.Mono, t.Failing
		now.Await(SteadyUntil(&b, p, settle))
	default:
		b.Steady = t.Failing
	}
	switch {
	case t.Failing > max(limit, b.Excused):
		if !b.Engaged {
			b.Engaged, b.Since = true, now.Wall
		}
		b.CalmSince, b.Excused = 0, 0
	case b.SteadySince != 0 && now.Due(SteadyUntil(&b, p, settle)):
		b = release(b)
	case !b.Engaged && b.Excused == 0:
	case t.Failing > limit/2:
		b.CalmSince = 0
	case b.CalmSince == 0:
		b.CalmSince = now.Mono
		now.Await(CalmUntil(&b, p))
	case now.Due(CalmUntil(&b, p)):
		b = release(b)
	}
	return b
}

func release(b belief.Brake) belief.Brake {
	b.Engaged, b.Since, b.Paged = false, time.Time{}, false
	b.CalmSince, b.Excused = 0, 0
	b.SteadySince, b.Steady = 0, 0
	return b
}

// steadyTimes is how many times as long as it must be calm no further machine may fail, for the brake to release while
// more fail than that.
const steadyTimes = 10

// SteadyFor is for how long no further machine may fail for the brake to release although it is not calm: as long as
// the checks need to tell, at least.
func SteadyFor(p policy.Brake, settle time.Duration) time.Duration {
	return max(steadyTimes*p.ReleaseAfter, settle)
}

// SteadyUntil returns until when no further machine may fail for the brake to release.
func SteadyUntil(b *belief.Brake, p policy.Brake, settle time.Duration) fleet.Instant {
	return b.SteadySince.Add(SteadyFor(p, settle))
}

// leastExcuse is how long at least it must have been calm before what was excused is so no more: no machine is known to
// fail for a while after a change of owner, too.
const leastExcuse = 10 * time.Minute

// CalmUntil returns until when it must stay calm for the brake to release, or for an excuse to lapse.
func CalmUntil(b *belief.Brake, p policy.Brake) fleet.Instant {
	if b.Engaged {
		return b.CalmSince.Add(p.ReleaseAfter)
	}
	return b.CalmSince.Add(max(p.ReleaseAfter, leastExcuse))
}

// TakeOff returns the brake after a person took it off: what fails now is excused, and one more engages it again.
func TakeOff(p policy.Brake, t Tally) belief.Brake {
	var b belief.Brake
	if t.Failing > BrakeLimit(p, t.Size) {
		b.Excused = t.Failing
	}
	return b
}

// Braked returns the brake under which a fleet stands: its own, or else the widest of those that are on and that it
// shares with others.
func Braked(own belief.Brake, w *belief.Whole) belief.Brake {
	if own.On() {
		return own
	}
	for _, b := range w.Brakes {
		if b.On() {
			return b
		}
	}
	return own
}

// BrakePolicy returns what the fleet's policy says of a brake.
func BrakePolicy(b *belief.Brake, l *policy.Limits) policy.Brake {
	for _, s := range l.Brakes {
		if s.Scope == b.Scope {
			return s.Policy
		}
	}
	return l.Brake
}

// Among returns the tally that a brake goes by: the fleet's own, with the other fleets' where it is shared.
func Among(b *belief.Brake, own Tally, tolls []belief.Toll) Tally {
	for _, o := range tolls {
		if o.Scope == b.Scope {
			own.Size += o.Size
			own.Failing += o.Failing
		}
	}
	return own
}
