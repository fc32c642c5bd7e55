package scaler

import (
	"math"
	"time"
)

// warmUp is how long a new machine counts as not yet there, and cooldown how long after growing nothing shrinks: the
// defaults of Amazon EC2 Auto Scaling.
const (
	warmUp   = 300 * time.Second
	cooldown = 300 * time.Second
)

// warming is the machines that were added and count as not yet there.
type warming []added

// added are machines that were added together.
type added struct {
	at time.Duration
	n  int
}

// now returns how many are warming up at a time.
func (w *warming) now(at time.Duration) (n int) {
	for len(*w) > 0 && (*w)[0].at+warmUp <= at {
		*w = (*w)[1:]
	}
	for _, a := range *w {
		n += a.n
	}
	return n
}

// tracking is target tracking: an alarm when the use was above the target for three minutes, and one when it was more
// than a tenth below it for fifteen. It grows and shrinks in proportion; while machines warm up it grows beyond them
// only, and does not shrink.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-scaling-target-tracking.html
type tracking struct {
	minutes
	warming   warming
	target    float64
	high, low alarm
}

func newTracking(target float64) *tracking {
	return &tracking{target: target, high: alarm{beyond: above(target), periods: 3},
		low: alarm{beyond: below(0.9 * target), periods: 15}}
}

// Every implements Scaler.
func (t *tracking) Every() time.Duration { return readEvery }

// Next implements Scaler.
func (t *tracking) Next(r Reading) int {
	mean, ok, over := t.each(r)
	if !over {
		return r.Size
	}
	up, down := t.high.period(mean, ok), t.low.period(mean, ok)
	warm := t.warming.now(r.At)
	switch {
	case up:
		want := ceil(float64(max(r.Size-warm, 1)) * mean / t.target)
		if want > r.Size {
			t.warming = append(t.warming, added{r.At, want - r.Size})
			return want
		}
	case down && warm == 0:
		return min(r.Size, max(ceil(float64(r.Size)*mean/t.target), 1))
	}
	return r.Size
}

// steps is step scaling as its documentation has it for an example: ten and twenty percent beyond the target the size
// goes by 10 % and by 30 %, at least by one machine.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-scaling-simple-step.html
type steps struct {
	minutes
	warming   warming
	target    float64
	high, low alarm
	grown     time.Duration // when it grew last; 0: it did not
	shrunk    time.Duration
}

func newSteps(target float64) *steps {
	return &steps{target: target, high: alarm{beyond: above(target), periods: 3},
		low: alarm{beyond: below(target - 20), periods: 15}}
}

// Every implements Scaler.
func (s *steps) Every() time.Duration { return readEvery }

// Next implements Scaler.
func (s *steps) Next(r Reading) int {
	mean, ok, over := s.each(r)
	if !over {
		return r.Size
	}
	up, down := s.high.period(mean, ok), s.low.period(mean, ok)
	warm := s.warming.now(r.At)
	switch {
	case up:
		share := 0.1
		if mean >= min(s.target+20, 100) {
			share = 0.3
		}
		there := r.Size - warm
		if want := there + adjust(there, share); want > r.Size {
			s.warming = append(s.warming, added{r.At, want - r.Size})
			s.grown = r.At
			return want
		}
	case down && warm == 0 && (s.grown == 0 || r.At-s.grown >= cooldown) &&
		(s.shrunk == 0 || r.At-s.shrunk >= cooldown):
		share := 0.1
		if mean <= s.target-40 {
			share = 0.3
		}
		s.shrunk = r.At
		return max(r.Size-adjust(r.Size, share), 1)
	}
	return r.Size
}

// adjust is a share of the size, as it is rounded there: towards zero, but what is below one is one.
func adjust(size int, share float64) int { return max(int(math.Floor(float64(size)*share+1e-9)), 1) }
