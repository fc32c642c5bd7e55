package decide

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/orders"
	"hale/internal/core/wanted"
)

// change goes on with what a person ordered for the machine, or begins it. It reports whether the machine is spoken
// for: then it is not healed meanwhile (L10).
func (w *work) change() bool {
	m, s := w.M, w.Situation
	w.forgetsRemoval()
	if m.Repair != nil && m.Repair.Wanted() && !w.overruled() {
		w.Advance()
		return m.Repair != nil || w.ended(s.Whole.Ledger.Removal(m.Name))
	}
	if m.WantedBack(s.Now) {
		return w.bringBack()
	}
	if w.ordered() || w.standBy() {
		return true
	}
	kind, o := belief.RepairRemove, s.Whole.Ledger.Removal(m.Name)
	if u := ledgerUpdate(s.Whole.Ledger); o == nil && w.chosen && u.Goes() {
		kind, o = belief.RepairUpdate, &belief.Removal{Machine: m.Name, Instance: m.Current.ID, Order: u.Order,
			By: u.By, Why: u.Why()}
	}
	switch {
	case o == nil || s.Provider.Standing == fleet.ProviderUnknown:
		return false
	case w.ended(o):
		return m.Change.Ended == fleet.ReasonRemoved // it is booked in the next round
	case wanted.Forbidden(&w.Chart, kind) != "": // since the person ordered it
		w.RefuseChange(o.Order, wanted.Forbidden(&w.Chart, kind))
		return false
	case m.Current.ID != o.Instance && !o.Named:
		m.Change = &belief.Change{Order: o.Order, Ended: fleet.ReasonStalePlan} // not the one that the person was shown
		return false
	case w.busy(), w.lingers(o):
		return false
	}
	if held := w.held(kind); held != "" {
		if m.Repair != nil {
			return false
		}
		w.Wait(held, "")
		return true
	}
	w.BeginChange(kind, o)
	return true
}

// forgetsRemoval forgets that the machine was removed, once that is booked: its number may be taken anew, by the same
// order.
func (w *work) forgetsRemoval() {
	c := w.M.Change
	if c != nil && c.Ended == fleet.ReasonRemoved && w.Situation.Whole.Ledger.Removal(w.M.Name) == nil {
		w.M.Change = nil
	}
}

// ordered goes on with what a person has hale do with the machine, unless it is to go, and reports whether that is so.
func (w *work) ordered() bool {
	switch m := w.M; {
	case !m.HasChore(w.Situation.Now):
		return false
	case w.Situation.Whole.Ledger.Removal(m.Name) != nil:
		orders.Unwant(&w.Chart, fleet.ReasonOverruled)
		return false
	}
	return w.runChore()
}

// held says why the change may not begin now.
func (w *work) held(kind belief.RepairKind) fleet.Reason {
	held := guard.NewChange(w.M, w.Situation)
	if held == "" && kind == belief.RepairUpdate && w.M.Current.None() {
		return w.firstBuild() // beyond the size
	}
	if held == "" {
		held = wanted.Served(&w.Chart, kind)
	}
	if held == "" && kind == belief.RepairRemove && w.Replaced() {
		return fleet.ReasonRival // nothing would be removed, and the other would run on as no machine's
	}
	return held
}

// lingers reports whether the machine that is to go may yet stay: it has some time left, or what keeps machines from
// going by an opinion's word began since it was chosen. One that fails is not waited for.
func (w *work) lingers(o *belief.Removal) bool {
	s := w.Situation
	if o.Opinion != "" && (guard.ScaleIn(s) != "" || guard.Kept(w.M, &s.Whole) || guard.Thin(w.M, s)) {
		return true
	}
	z := s.Spec.Sizing
	return o.Chosen != 0 && z != nil && !w.faulty() && !s.Now.Due(o.Chosen.Add(z.Grace))
}

// busy reports whether something else comes first: a call under way, or what an unfinished build left, since afterwards
// hale would not look for it.
func (w *work) busy() bool {
	if r := w.M.Repair; r != nil {
		return r.Intent != nil
	}
	return !w.faulty() && w.removableStray()
}

// countWell counts the machines that are healthy and stay.
func (r *deciding) countWell(works []*work) int {
	n, l := 0, r.Sit.Whole.Ledger
	if l == nil || len(l.Removals) == 0 {
		return 0
	}
	count := func(m *belief.Machine, by int) {
		if m.Health.Verdict == belief.VerdictHealthy && l.Removal(m.Name) == nil && l.Surging(m.Name) == "" &&
			!l.IsSpare(m.Name) && !guard.Surplus(m, &r.S.Spec) {
			n += by
		}
	}
	for i := range r.S.Machines {
		count(&r.S.Machines[i].Machine, 1)
	}
	for _, w := range works {
		count(&w.View.Machine, -1)
		count(w.M, 1)
	}
	return n
}

// ended reports whether the order came to its end on this machine, and the ledger does not know it yet.
func (w *work) ended(o *belief.Removal) bool {
	return o != nil && w.M.Change != nil && w.M.Change.Order == o.Order
}

// changed reports whether there is something for the ledger to book.
func (w *work) changed() bool {
	if r := w.M.Repair; r != nil && r.SilentAt != 0 && r.SilentAt == w.Situation.Now.Mono {
		return true // machines near it are to be asked
	}
	l := w.Situation.Whole.Ledger
	if w.Situation.Spec.Update.Surge > 0 && w.M.Wanted != nil && w.View.Machine.Wanted == nil {
		return true // one may be needed beyond the size
	}
	if !l.Changing() {
		return false
	}
	o, idle := l.Removal(w.M.Name), w.M.Repair == nil && w.View.Machine.Repair != nil
	return w.ended(o) || idle && (o != nil || l.Update.Goes() || len(l.Surge) > 0)
}

// ledgerUpdate returns the ledger's update; there may be neither.
func ledgerUpdate(l *belief.Ledger) *belief.Update {
	if l == nil {
		return nil
	}
	return l.Update
}
