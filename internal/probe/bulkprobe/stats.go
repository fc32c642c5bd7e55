package bulkprobe

import (
	"math/bits"
	"time"
)

// Stats are what shards have done since they began, and how they stand.
type Stats struct {
	Targets  int
	Started  uint64 // probes
	Answered uint64 // with whatever answer, within their time
	Skipped  uint64 // probes that came too late to be started
	PutOff   uint64 // times that a probe had to wait for the next slot, for want of room
	Local    uint64 // probes that failed on our side
	Stalls   uint64 // times that a shard was stalled
	Edges    uint64
	Lateness Histogram     // of a probe's start, behind its due time
	Late     time.Duration // all of it together
	// Stalest is the longest time for which nothing was heard about a target that was heard of at all.
	Stalest time.Duration
}

// plus returns the sum of both.
func (s Stats) plus(o Stats) Stats {
	s.Targets += o.Targets
	s.Started += o.Started
	s.Answered += o.Answered
	s.Skipped += o.Skipped
	s.PutOff += o.PutOff
	s.Local += o.Local
	s.Stalls += o.Stalls
	s.Edges += o.Edges
	s.Late += o.Late
	for i, n := range o.Lateness {
		s.Lateness[i] += n
	}
	s.Stalest = max(s.Stalest, o.Stalest)
	return s
}

// Histogram counts times in buckets. Each is at most an eighth wider than the one before; the first ends at 16 µs.
type Histogram [18 * 8]uint64

const finest = 14 // the first bucket ends at 1<<finest ns

func (h *Histogram) add(ns int64) {
	ns = max(ns, 0)
	width := bits.Len64(uint64(ns) >> finest)
	i := 0
	if width > 0 {
		i = width*8 + int(ns>>(finest+width-4)&7)
	}
	h[min(i, len(h)-1)]++
}

// Quantile returns a bound below which the share q of all times lies; 0 when there are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	var total, seen uint64
	for _, n := range h {
		total += n
	}
	if total == 0 {
		return 0
	}
	want := uint64(q * float64(total))
	for i, n := range h {
		seen += n
		if seen > want || seen == total {
			return upper(i)
		}
	}
	return upper(len(h) - 1)
}

// Within returns how many times surely lay within the bound: those of a bucket that it cuts are not counted.
func (h *Histogram) Within(bound time.Duration) (n uint64) {
	for i, in := range h {
		if upper(i) > bound {
			break
		}
		n += in
	}
	return n
}

// upper returns where a bucket ends.
func upper(i int) time.Duration {
	if i < 8 {
		return 1 << finest
	}
	width := i / 8
	return time.Duration(9+i%8) << (finest + width - 4)
}
