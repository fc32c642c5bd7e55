// Package tenure is the arithmetic of owning a fleet by a lease (L7): how long a lease must be, which call its
// remaining time still allows, and how long a successor waits. It promises: if an owner sends by Cover, and its
// successor waits for Handover, the owner's last disruptive call ends before the successor begins. It reads no clock
// and holds no lease.
package tenure

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

const (
	// DisruptiveLimit bounds each disruptive call, whatever the step allows, so that the lease can cover it.
	DisruptiveLimit = 15 * time.Second
	// Margin is what must remain of the lease beyond the call's limit.
	Margin = 2 * time.Second
	// Handover is how long a new owner waits after a former one: as long as the last calls of that one may take at
	// most.
	Handover = DisruptiveLimit + Margin
)

// Lease returns the lease's length: enough to cover the longest disruptive call at any moment between renewals.
func Lease(spec policy.Spec) time.Duration {
	longest := policy.BuildCallLimit
	for _, s := range spec.Repair.Steps {
		longest = max(longest, s.Timeout)
	}
	return 2*min(longest, DisruptiveLimit) + 2*Margin
}

// Cover returns whether the stored intent may be sent while so much of the lease remains, and with which time limit.
// The caller reads the lease right before sending. Calls that cannot harm need no cover. What lets an instance run
// needs it: a late one could undo a successor's proof of off.
func Cover(in belief.Intent, remaining time.Duration) (limit time.Duration, ok bool) {
	if in.Op == fleet.OpRun ||
		in.Op == fleet.OpHook { // it may take longer than any lease: an owner that loses the lease kills it
		return in.Limit, remaining > Margin
	}
	if !in.Op.Disruptive() && in.Op != fleet.OpStart && in.Op != fleet.OpResume {
		return in.Limit, true
	}
	limit = min(in.Limit, DisruptiveLimit)
	return limit, remaining > limit+Margin
}
