package process

import (
	"sync/atomic"
	"time"

	"hale/internal/core/fleet"
)

// Clock reads both clocks of this process.
type Clock struct {
	start time.Time
	// skew is added to wall time, in nanoseconds: Engine.StepClock.
	skew atomic.Int64
}

// firstInstant keeps Instants away from zero, which means "not set".
const firstInstant = fleet.Instant(time.Second)

// NewClock returns the clocks of a process that starts now.
func NewClock() *Clock { return &Clock{start: time.Now()} }

// Now reads both.
func (c *Clock) Now() fleet.Now {
	t := time.Now()
	wall := t.Round(0).UTC().Add(time.Duration(c.skew.Load()))
	return fleet.Now{Mono: firstInstant.Add(t.Sub(c.start)), Wall: wall}
}

// Step moves wall time, as if the clock had been set.
func (c *Clock) Step(by time.Duration) { c.skew.Add(int64(by)) }

// Instant returns the Instant of a time read in this process.
func (c *Clock) Instant(t time.Time) fleet.Instant { return firstInstant.Add(t.Sub(c.start)) }

// Unset returns the present as it would be had the wall clock not been set since it had the drift.
func (c *Clock) Unset(drift time.Duration) fleet.Now {
	now := c.Now()
	now.Wall = now.Wall.Add(drift - c.Drift(now))
	return now
}

// Drift is how far wall time has moved beyond monotonic time since the start.
func (c *Clock) Drift(now fleet.Now) time.Duration {
	return now.Wall.Sub(c.start.Round(0)) - now.Mono.Sub(firstInstant)
}

// Tolerance is the gap between the clocks beyond which everything is judged afresh (L9).
const Tolerance = 2 * time.Second
