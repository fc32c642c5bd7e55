package sizing

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Hours remembers of each window of a policy whether it is open until its next edge, since to look for that takes long.
// It is no more than what the time says: the zero value is ready.
type Hours struct {
	policy *policy.Sizing
	edges  map[*policy.Window]edge
}

type edge struct {
	open        bool
	from, until time.Time
}

// of forgets the windows of another policy.
func (h *Hours) of(s *policy.Sizing) {
	if h.policy != s {
		h.policy, h.edges = s, nil
	}
}

// open reports whether one of the windows is open.
func (h *Hours) open(all []policy.Window, now fleet.Now) bool {
	open := false
	for i := range all {
		open = h.isOpen(&all[i], now) || open
	}
	return open
}

func (h *Hours) isOpen(w *policy.Window, now fleet.Now) bool {
	e, known := h.edges[w]
	if at := now.Wall; !known || at.Before(e.from) || now.Reached(e.until) {
		e.from = at
		e.open, e.until = w.Open(at)
		now.Reached(e.until)
		if h.edges == nil {
			h.edges = map[*policy.Window]edge{}
		}
		h.edges[w] = e
	}
	return e.open
}

// counts reports whether the opinion has a say now.
func (h *Hours) counts(o *policy.Opinion, now fleet.Now) bool {
	return (len(o.Only) == 0 || h.open(o.Only, now)) && !h.open(o.Not, now)
}
