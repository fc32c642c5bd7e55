package engine

import (
	"sync/atomic"
	"time"

	"hale/internal/core/fleet"
)

// clock reads both clocks of this process.
type clock struct {
	start time.Time
	// skew is added to wall time, in nanoseconds: Engine.StepClock.
	skew atomic.Int64
}

// firstInstant keeps Instants away from zero, which means "not set".
const firstInstant = fleet.Instant(time.Second)

func newClock() *clock { return &clock{start: time.Now()} }

func (c *clock) now() fleet.Now {
	t := time.Now()
	wall := t.Round(0).UTC().Add(time.Duration(c.skew.Load()))
	return fleet.Now{Mono: firstInstant.Add(t.Sub(c.start)), Wall: wall}
}

// instant returns the Instant of a time read in this process.
func (c *clock) instant(t time.Time) fleet.Instant { return firstInstant.Add(t.Sub(c.start)) }

// unset returns the present as it would be had the wall clock not been set since it had the drift.
func (c *clock) unset(drift time.Duration) fleet.Now {
	now := c.now()
	now.Wall = now.Wall.Add(drift - c.drift(now))
	return now
}

// drift is how far wall time has moved beyond monotonic time since the start.
func (c *clock) drift(now fleet.Now) time.Duration {
	return now.Wall.Sub(c.start.Round(0)) - now.Mono.Sub(firstInstant)
}

// tolerance is the gap between the clocks beyond which everything is judged afresh (L9).
const tolerance = 2 * time.Second
