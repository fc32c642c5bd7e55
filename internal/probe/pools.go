package probe

import (
	"context"
	"time"
)

// Pools is where pool checks learn what load balancers find of machines. They send nothing.
type Pools interface {
	// Find returns nil when the load balancer of the target's check finds the machine up, and a DownError when it finds
	// it down. By anything else it says nothing of the machine, or not in time; an UntoldError says why. It goes by an
	// answer to a question that was put at the instant or later, and waits for one until ctx ends.
	Find(ctx context.Context, t Target, from time.Time) error
}

// DownError says that the load balancer finds the machine down.
type DownError struct{ Detail string }

// Error implements error.
func (e DownError) Error() string { return e.Detail }

// UntoldError says why the load balancer says nothing of the machine.
type UntoldError struct{ Why string }

// Error implements error.
func (e UntoldError) Error() string { return e.Why }
