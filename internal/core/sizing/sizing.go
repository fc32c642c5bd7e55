package sizing

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Said is what one opinion came to, with its numbers.
type Said struct {
	Opinion fleet.OpinionName
	Metric  fleet.MetricName
	// Value is the metric's, smoothed where that is asked for; Total is what of it there is in the whole fleet, and Goal
	// what each machine is to have of it.
	Value, Total, Goal float64
	// Low and High are the least and the greatest size that it may want by its windows, and Wants is the one it wants.
	Low, High, Wants int
	// Why it has no opinion; empty: it has one. ReasonClosed is not missing: it has no say now.
	Why    fleet.Reason
	Detail string
	// Since is how long it has had none.
	Since time.Duration
}

// Missing reports whether it should have an opinion and has none: then nothing is scaled in.
func (s *Said) Missing() bool { return s.Why != "" && s.Why != fleet.ReasonClosed }

// Verdict is what the rule comes to.
type Verdict struct {
	// Size is the one to have from now on: that asked for, or another one.
	Size int
	// Wants is the greatest that an opinion wants, and By is that opinion. They may differ from Size by Why.
	Wants int
	By    *Said // nil: no opinion has one
	Why   fleet.Reason
	// Until is when Why is over, where that is known.
	Until fleet.Instant
	// Said is what each opinion said, in their order.
	Said []Said
}

// Judge says what size the opinions want, where size is asked for now.
func Judge(s *policy.Sizing, size int, _ []fleet.Gauge, _ fleet.Now, _ *belief.SizeState) Verdict {
	size = s.Bound(size)
	return Verdict{Size: size, Wants: size}
}

// Reach is how far back the rule looks at a metric: points must be kept for as long, and the one before.
func Reach(s *policy.Sizing, _ fleet.MetricName) time.Duration {
	return max(s.Up.Stabilise, s.Down.Stabilise)
}
