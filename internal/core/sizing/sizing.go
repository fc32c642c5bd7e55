package sizing

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/resized"
)

// Beat is the least time between two moves in one direction: what Pace.Most bounds, it bounds for so long.
const Beat = 15 * time.Second

// Said is what one opinion came to, with its numbers.
type Said struct {
	Opinion fleet.OpinionName
	Metric  fleet.MetricName
	// Value is the metric's, smoothed where that is asked for; Total is what of it there is in the whole fleet, and
	// Goal what each machine is to have of it.
	Value, Total, Goal float64
	// Low and High are the least and the greatest size that it wants within its windows, and Wants is the one it wants
	// by the newest reading.
	Low, High, Wants int
	// Why it has no opinion; empty: it has one. ReasonNoSay is not missing: it has no say now.
	Why    fleet.Reason
	Detail string
	// Young says that its window is not full yet, or that the newest reading failed: it wants no fewer machines.
	Young bool
}

// Missing reports whether it should have an opinion and has none: then nothing is scaled in.
func (s *Said) Missing() bool { return s.Why != "" && s.Why != fleet.ReasonNoSay }

// Verdict is what the rule comes to.
type Verdict struct {
	// Size is the one to have from now on: that asked for, or another one.
	Size int
	// Wants is what the opinions want, whatever bounds it, and By is the index of the one that counts in Said; -1: none
	// has one. Wants may differ from Size by Why.
	Wants, By int
	Why       fleet.Reason
	// Until is when Why is over, where that is known.
	Until fleet.Instant
	// Said is what each opinion said, in their order.
	Said []Said
}

// Case is all that the rule goes by.
type Case struct {
	Policy *policy.Sizing
	// Size is how many machines are asked for now; Coming of them are being built or started, and are no help yet.
	Size, Coming int
	Gauges       []fleet.Gauge
	Now          fleet.Now
	Moved        *resized.State // nil: the size never moved
	// Pinned says that a person pinned the size, until Until.
	Pinned bool
	Until  fleet.Instant
}

// Judge says what size the opinions want.
func (h *Hours) Judge(c *Case) Verdict {
	h.of(c.Policy)
	v := Verdict{By: -1}
	for i := range c.Policy.Opinions {
		v.Said = append(v.Said, h.ask(c, &c.Policy.Opinions[i]))
	}
	v.combine(c)
	v.pace(c)
	return v
}

// combine takes the greatest of the sizes that the opinions want. One that has none wants no fewer machines than there
// are.
func (v *Verdict) combine(c *Case) {
	low, high, heard, missing := 0, 0, -1, false
	lowest, highest := -1, -1
	for i := range v.Said {
		s := &v.Said[i]
		if s.Why != "" {
			missing = missing || s.Missing()
			continue
		}
		if lowest < 0 || s.Low > low {
			low, lowest = s.Low, i
		}
		if highest < 0 || s.High > high {
			high, highest = s.High, i
		}
		if heard < 0 || s.Wants > v.Said[heard].Wants {
			heard = i
		}
	}
	v.Size, v.Wants, v.By = c.Size, c.Size, heard
	switch {
	case heard < 0:
	case c.Size < low:
		v.Wants, v.By = low, lowest
	case c.Size > high && missing:
		v.Wants, v.By, v.Why = high, highest, fleet.ReasonNoOpinion
	case c.Size > high:
		v.Wants, v.By = high, highest
	}
	if v.Why == "" {
		v.Size = c.Policy.Bound(v.Wants)
	}
	if v.Size < v.Wants && v.Why == "" { // fewer than the least are wanted whenever there is little to do
		v.Why = fleet.ReasonBounds
	}
}

// pace holds a move back that comes too soon, and makes one smaller that is too large.
func (v *Verdict) pace(c *Case) {
	if v.Size == c.Size {
		return
	}
	if c.Pinned {
		v.Size, v.Why, v.Until = c.Size, fleet.ReasonPinned, c.Until
		return
	}
	if at := Rests(c.Policy, c.Moved, c.Size, v.Size); at != 0 && !c.Now.Due(at) {
		v.Size, v.Why, v.Until = c.Size, fleet.ReasonCooldown, at
		return
	}
	if v.Size > c.Size {
		v.Size = min(v.Size, c.Size+Most(c.Policy.Up, c.Size))
	} else {
		v.Size = max(v.Size, c.Size-Most(c.Policy.Down, c.Size))
	}
}

// Most returns by how many machines one move may change the size.
func Most(p policy.Pace, size int) int {
	if p.Most == 0 && p.MostPercent == 0 {
		return fleet.LargestSize
	}
	return max(1, p.Most, size*p.MostPercent/100)
}

// Rests returns until when the size rests before it may move from one to the other; zero: it does not. After it rose
// nothing goes before what it rose by had the whole window to show whether it is needed.
func Rests(s *policy.Sizing, moved *resized.State, from, to int) fleet.Instant {
	last := moved.Moved()
	if last == 0 {
		return 0
	}
	if to > from {
		return later(last, s.Up.Cooldown, moved.Up, Beat)
	}
	return max(later(last, s.Down.Cooldown, moved.Down, Beat), later(moved.Up, s.Down.Stabilise, 0, 0))
}

// later returns the later of two ends of a time after a move; zero: there was none.
func later(a fleet.Instant, for1 time.Duration, b fleet.Instant, for2 time.Duration) fleet.Instant {
	var end fleet.Instant
	if a != 0 && for1 > 0 {
		end = a.Add(for1)
	}
	if b != 0 && for2 > 0 {
		end = max(end, b.Add(for2))
	}
	return end
}
