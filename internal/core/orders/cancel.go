package orders

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/ledger"
	"hale/internal/core/situation"
)

// about returns the index of the machine an order to which is taken back, as it stood when the round began, and whether
// there is one.
func (r *Orders) about(o *fleet.Order) (int, bool) {
	if o.Kind != fleet.OrderCancel {
		return 0, false
	}
	i := slices.IndexFunc(r.S.Machines, func(v situation.View) bool { return has(&v.Machine, o.After) })
	return i, i >= 0
}

// takesBack reports whether an order to the machine is taken back.
func (r *Orders) takesBack(o *fleet.Order, name fleet.MachineName) bool {
	i, is := r.about(o)
	return is && r.S.Machines[i].Machine.Name == name
}

// has reports whether something of the order waits on the machine, is under way or counts.
func has(m *belief.Machine, id fleet.OrderID) bool {
	return m.Wanted != nil && m.Wanted.Order == id || m.Marked != nil && m.Marked.Order == id ||
		m.Repair.CarriesOut(id) && (m.Repair.Kind.Chore() || m.Repair.Kind == belief.RepairUndo)
}

// isCancelled reports whether the order is taken back before it was ever taken up.
func (r *Orders) isCancelled(o *fleet.Order) bool {
	return slices.ContainsFunc(r.S.Orders, func(c fleet.Order) bool {
		return c.Kind == fleet.OrderCancel && c.After == o.ID
	})
}

// cancel takes back an order to the fleet as a whole, or says why not. What is of a machine's is taken back when its
// turn comes.
func (r *Orders) cancel(o *fleet.Order) {
	if _, ofOne := r.about(o); ofOne {
		return // see To
	}
	if slices.ContainsFunc(r.S.Orders, func(c fleet.Order) bool { return c.ID == o.After }) {
		r.Rule(o, "")
		return
	}
	own := func(h *belief.Hold) bool { return h.Order == o.After }
	if slices.ContainsFunc(r.Sit.Whole.Holds, func(h belief.Hold) bool { return own(&h) }) {
		r.Rule(o, "")
		r.endHolds(fleet.ReasonReleased, o, own)
		return
	}
	ledger.Withdraw(r.Round, o)
}

// withdraw takes back what the order wants of the machine, as far as that has not begun, or can end in order.
func (w ordered) withdraw(o *fleet.Order) fleet.Reason {
	m := w.M
	switch r := m.Repair; {
	case m.Marked != nil && m.Marked.Order == o.After:
		w.accept(o)
		m.Marked = nil
		return ""
	case m.Wanted != nil && m.Wanted.Order == o.After && (r == nil || r.Aside() || m.Wanted.Undo):
		w.accept(o)
		Unwant(w.Chart, fleet.ReasonWithdrawn)
		return ""
	case r.CarriesOut(o.After) && revocable(r):
		w.accept(o)
		r.Withdrawn = true
		return ""
	}
	return fleet.ReasonHasBegun
}

// revocable reports whether the work can end in order: it has made no call, or has only turned off what it replaces.
func revocable(r *belief.Repair) bool {
	switch {
	case r.Removed, r.Intent != nil && r.Proof.Off():
		return false
	case r.Calls == 0, r.Phase == belief.PhaseLeave:
		return true
	}
	return r.Kind == belief.RepairReplace
}
