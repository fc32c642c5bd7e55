package sizing

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// readSteps finds which of the opinion's steps apply, and takes the one that wants the most machines. A step applies
// when every reading was beyond its threshold for its time, and for the window in which a size is to be stable, if that
// is longer. Readings from before the size moved last say nothing of it.
func (w *window) readSteps(s *Said) {
	s.Wants = w.c.Size
	some, everIn := false, false
	for i := range w.o.Steps {
		step := &w.o.Steps[i]
		size, pace := w.to(step.Change), w.c.Policy.Up
		in := size < w.c.Size
		everIn = everIn || in
		if in {
			pace = w.c.Policy.Down
		}
		applies := w.beyond(step, max(step.For, pace.Stabilise), in)
		if in && (w.failed || w.troubled) {
			s.Young, applies = true, false
		}
		if applies && (!some || size > s.Wants) {
			s.Wants, s.Goal, some = size, step.Threshold(), true
		}
	}
	s.Low, s.High, s.Value, s.Total = s.Wants, s.Wants, w.mean, w.mean
	if !some && !everIn {
		s.Why = fleet.ReasonNoSay // whoever never asks for fewer machines does not keep others from it
	}
}

// to returns the size to which the change leads. What is still coming up was added for the same reason, and is not
// added once more.
func (w *window) to(c fleet.SizeChange) int {
	size := c.To(w.c.Size)
	if size > w.c.Size && c.Exact == 0 {
		size = max(c.To(max(w.c.Size-w.c.Coming, 1)), w.c.Size)
	}
	return max(size, 1)
}

// beyond reports whether the readings have been beyond the step's threshold for the time. In a step to fewer machines,
// those that serve and have no value may be busy.
func (w *window) beyond(step *policy.SizeStep, lasts time.Duration, in bool) bool {
	w.since, w.last, w.failed = 0, 0, false
	moved, from, n := w.c.Moved.Moved(), fleet.Instant(0), 0
	for i := range w.points {
		p := &w.points[i]
		value, ok := w.take(p)
		switch {
		case !ok:
			continue
		case !step.Applies(value) || p.At <= moved || in && p.Missing > 0:
			n = 0
			continue
		case n == 0 || w.since == p.At: // the first one, or the first after a gap
			from, n = p.At, 0
		}
		n++
	}
	return n >= max(step.Readings, 1) && w.last.Sub(from) >= lasts
}
