package scaler

import (
	"math"
	"time"
)

// hpa keeps the mean use at the target: every 15 s it wants ceil(size * use / target), and stays within a tenth of the
// target. Up it goes at once, by 4 or by 100 % within 15 s; down by the greatest size that it wanted within 5 minutes.
// Machines that do not serve yet count as idle when it would grow, and as busy as the target when it would shrink.
// https://kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/
type hpa struct {
	target float64
	wanted []wish
}

type wish struct {
	at   time.Duration
	size int
}

const (
	hpaEvery     = 15 * time.Second
	hpaTolerance = 0.1
	hpaWindow    = 5 * time.Minute
)

// Every implements Scaler.
func (h *hpa) Every() time.Duration { return hpaEvery }

// Next implements Scaler.
func (h *hpa) Next(r Reading) int {
	if !r.OK {
		return r.Size
	}
	want := h.wants(r)
	for len(h.wanted) > 0 && h.wanted[0].at < r.At-hpaWindow {
		h.wanted = h.wanted[1:]
	}
	h.wanted = append(h.wanted, wish{r.At, want})
	if want > r.Size {
		return min(want, max(r.Size+4, 2*r.Size))
	}
	for _, w := range h.wanted {
		want = max(want, min(w.size, r.Size))
	}
	return want
}

// wants returns the size by the metric alone.
func (h *hpa) wants(r Reading) int {
	ratio := r.Busy / h.target
	missing := max(r.Size-r.Serving, 0)
	within := func(ratio float64) bool { return math.Abs(ratio-1) <= hpaTolerance }
	switch {
	case missing == 0:
		if within(ratio) {
			return r.Size
		}
		return ceil(ratio * float64(r.Serving))
	case ratio < 1:
		ratio = (r.Busy*float64(r.Serving) + h.target*float64(missing)) / h.target / float64(r.Size)
	default:
		ratio = r.Busy * float64(r.Serving) / h.target / float64(r.Size)
	}
	want := ceil(ratio * float64(r.Size))
	if within(ratio) || r.Busy/h.target > 1 && want < r.Size || r.Busy/h.target < 1 && want > r.Size {
		return r.Size
	}
	return want
}
