package engine

import "time"

// StepClock moves the wall clock as seen by this engine.
func (e *Engine) StepClock(d time.Duration) { e.clock.skew.Add(int64(d)) }
