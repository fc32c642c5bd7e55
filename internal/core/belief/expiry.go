package belief

import (
	"time"

	"hale/internal/core/fleet"
)

// Expiry is the end of a time that was promised. It is over when both clocks say so: Until in wall time, which survives
// restarts, and Ends on the owner's clock, which no step of the wall clock shortens (L15).
type Expiry struct {
	Until time.Time
	Ends  fleet.Instant
}

// ExpiryIn returns the end of a time that begins now.
func ExpiryIn(d time.Duration, now fleet.Now) Expiry { return Expiry{now.Wall.Add(d), now.Mono.Add(d)} }

// Over reports whether the time is over.
func (e *Expiry) Over(now fleet.Now) bool {
	return now.Reached(e.Until) && (e.Ends == 0 || now.Due(e.Ends))
}

// restart makes it good for a new owner with another clock: what is left by wall time is left by its clock.
func (e *Expiry) restart(now fleet.Now) { e.Ends = now.Mono.Add(max(0, e.Until.Sub(now.Wall))) }

// stretch keeps what is left by the owner's clock when the wall clock was set.
func (e *Expiry) stretch(now fleet.Now) {
	if until := now.Wall.Add(max(0, e.Ends.Sub(now.Mono))); until.After(e.Until) {
		e.Until = until
	}
}

// Leaving is the time for which something is kept at the provider, and how its removal goes.
type Leaving struct {
	Expiry
	// RetryAt is when its removal may be tried again; Paged says that a person was told that it would not go.
	RetryAt fleet.Instant `json:",omitempty"`
	Paged   bool          `json:",omitempty"`
}

// MayGo reports whether its time is over, and its removal may be tried.
func (l *Leaving) MayGo(now fleet.Now) bool {
	return l.Over(now) && (l.RetryAt == 0 || now.Due(l.RetryAt))
}

func (l *Leaving) restart(now fleet.Now) {
	l.Expiry.restart(now)
	l.RetryAt = 0
}
