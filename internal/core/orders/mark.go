package orders

import (
	"cmp"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// mark takes a word from outside that the machine fails. It is evidence as any other: what follows is for the ladder,
// and for all that may hold it.
func (w ordered) mark(o *fleet.Order) fleet.Reason {
	m, s := w.M, w.Situation
	switch {
	case m.Current.Candidate():
		return fleet.ReasonCandidate
	case guard.Surplus(m, &s.Spec):
		return fleet.ReasonSurplus
	case m.Repair != nil && !m.Repair.Aside():
		return fleet.ReasonOccupied // by the time that it could be heeded it would be said of another machine
	case m.Current.None():
		return fleet.ReasonNoInstance
	}
	w.accept(o)
	m.Marked = &belief.Marked{Order: o.ID, By: o.By, Because: o.Reason, Instance: m.Current.ID,
		Until: s.Now.Wall.Add(cmp.Or(o.For, fleet.OrderLife))}
	return ""
}

// unmark takes that word back.
func (w ordered) unmark(o *fleet.Order) fleet.Reason {
	if w.M.Marked == nil {
		return fleet.ReasonNotMarked
	}
	w.accept(o)
	w.M.Marked = nil
	return ""
}
