package orders

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// Bounds of what is stored together.
const (
	mostHolds    = 500 // of one fleet
	mostOnOne    = 8   // of one subject
	endingAtOnce = 32  // holds that end, in one round
)

// hold places a hold. One of the same name gives way to it, or without a name that of the same person on the same
// subject.
func (r *Orders) hold(o *fleet.Order) {
	all, onOne := 0, 0
	for i := range r.Sit.Whole.Holds {
		h := &r.Sit.Whole.Holds[i]
		if h.GivesWay(o) {
			continue
		}
		all++
		if h.Same(o.Machine, o.Host) {
			onOne++
		}
	}
	if all >= mostHolds || onOne >= mostOnOne {
		r.Rule(o, fleet.ReasonTooMany)
		return
	}
	r.Rule(o, "")
	r.endHolds(fleet.ReasonSuperseded, o, func(h *belief.Hold) bool { return h.GivesWay(o) })
	h := belief.HoldOf(o, r.S.Now)
	r.Sit.Whole.Holds = append(r.Sit.Whole.Holds, h)
	r.S.Now.Await(h.Ends)
}

// release ends the hold of the name, or else the person's own holds on the subject, or everybody's when that is asked
// for.
func (r *Orders) release(o *fleet.Order) {
	own := func(h *belief.Hold) bool { return h.EndsBy(o) }
	refused := fleet.ReasonNotHeld
	for i := range r.Sit.Whole.Holds {
		h := &r.Sit.Whole.Holds[i]
		switch {
		case own(h):
			r.Rule(o, "")
			r.endHolds(fleet.ReasonReleased, o, own)
			return
		case h.Same(o.Machine, o.Host) && o.Name == "":
			refused = fleet.ReasonHeldByOthers
		}
	}
	r.Rule(o, refused)
}

// endHolds takes the holds away that are to end, with a record each, and has what they held judged anew.
func (r *Orders) endHolds(why fleet.Reason, by *fleet.Order, ends func(*belief.Hold) bool) {
	var kept []belief.Hold
	for i := range r.Sit.Whole.Holds {
		h := r.Sit.Whole.Holds[i]
		if !ends(&h) {
			kept = append(kept, h)
			continue
		}
		rec := record.Record{
			Kind: record.HoldEnded, Reason: why, Machine: h.Machine, Host: h.Host, By: h.By, Detail: h.Reason,
			Took: r.S.Now.Wall.Sub(h.Given), Only: h.Only,
		}
		if by != nil {
			rec.Order = by.ID
		}
		r.Record(rec)
		if h.Only == "" && (why != fleet.ReasonSuperseded || by.Only != "" || !h.Same(by.Machine, by.Host)) {
			r.Freed = append(r.Freed, h)
		}
	}
	r.Sit.Whole.Holds = kept
}

// expireHolds ends the holds that are over: the first ones, when they are many.
func (r *Orders) expireHolds() {
	over := 0
	for i := range r.Sit.Whole.Holds {
		if r.Sit.Whole.Holds[i].Over(r.S.Now) {
			over++
		}
	}
	if over == 0 {
		return
	}
	left := endingAtOnce
	r.Again = r.Again || over > left // the next ones in the next round
	r.endHolds(fleet.ReasonExpired, nil, func(h *belief.Hold) bool {
		if left == 0 || !h.Over(r.S.Now) {
			return false
		}
		left--
		return true
	})
}

// IsFreed reports whether a hold of the machine just ended.
func (r *Orders) IsFreed(m *belief.Machine) bool {
	return slices.ContainsFunc(r.Freed, func(h belief.Hold) bool { return h.Covers(m) })
}

// Free has what lasted while the machine was held begin anew.
func Free(w *chart.Chart) {
	m, now := w.M, w.Situation.Now
	if m.Incident != nil {
		m.Incident.Freed = now.Wall
	}
	if m.Health.Verdict == belief.VerdictUnknown {
		m.Health.SinceMono = now.Mono
	}
}
