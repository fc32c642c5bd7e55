package fleet

import "time"

// Instant is a moment on the owner's monotonic clock: nanoseconds since the owner's process began.
// Deadlines whose end permits harm (grace, verification, backoff) are Instants; they mean nothing to another
// process and start anew at take-over (law L15). Zero means "not set".
type Instant time.Duration

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// Now is the present, on both clocks. Wall is for records and for deadlines whose end forbids harm (holds).
type Now struct {
	Mono Instant
	Wall time.Time
}

// Due reports whether the deadline is reached: due means not before, so it is true at the instant itself.
// A deadline that is not set is never due.
func (n Now) Due(deadline Instant) bool { return deadline != 0 && n.Mono >= deadline }
