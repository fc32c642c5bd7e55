package probe

import (
	"context"
	"fmt"
	"time"
)

// Hearing is where machines report by themselves: heartbeat checks wait there, and send nothing.
type Hearing interface {
	// Watch has the beats of a target noted from now on. Earlier ones, of another instance or for another epoch, do not
	// count.
	Watch(target Target)
	// Forget ends that.
	Forget(id ID)
	// Await returns the target's newest beat, as soon as there is one no older than the check's interval. When there is
	// none until ctx ends, the error is a SilentError. It is a LocalError where a beat might not have been heard.
	Await(ctx context.Context, target Target) (Beat, error)
}

// Beat is what a machine says of itself.
type Beat struct {
	At     time.Time
	OK     bool
	Detail string // in the machine's words
}

// SilentError says that a machine was silent although hale listened all the time.
type SilentError struct{ Last time.Time } // zero: nothing ever was

// Error implements error.
func (e SilentError) Error() string {
	if e.Last.IsZero() {
		return "no heartbeat has come yet"
	}
	return fmt.Sprintf("the last heartbeat came at %s", e.Last.UTC().Format("15:04:05 UTC"))
}
