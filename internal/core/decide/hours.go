package decide

import (
	"time"

	"hale/internal/core/policy"
)

// hours is what the policy's windows say of the present, which is the same until the next of their edges.
type hours struct {
	of          *policy.Window // the first of them
	from, until time.Time
	closed      bool
}

// minuteHand says whether repairs may begin at this time of day.
func (r *deciding) minuteHand() {
	policy := &r.S.Spec.Repair
	if !policy.Windowed() {
		return
	}
	of, now := firstWindow(policy), r.S.Now.Wall
	if h := &r.hours; h.of != of || now.Before(h.from) || r.S.Now.Reached(h.until) {
		*h = hours{of: of, from: now}
		h.closed, h.until = policy.Closed(now)
		r.S.Now.Reached(h.until)
	}
	r.Sit.Closed = r.hours.closed
}

func firstWindow(p *policy.Repair) *policy.Window {
	if len(p.Windows) > 0 {
		return &p.Windows[0]
	}
	return &p.NotEvery[0]
}
