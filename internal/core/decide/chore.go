package decide

import (
	"hale/internal/core/belief"
	"hale/internal/core/chore"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/orders"
	"hale/internal/core/repair"
)

// runChore begins what a person has hale do with the machine, as soon as it may. It reports whether the machine is
// spoken for: then it is not healed meanwhile.
func (w *work) runChore() bool {
	m, s := w.M, w.Situation
	switch why := chore.Unfit(m.Wanted.Chore, m, s); {
	case s.Provider.Standing == fleet.ProviderUnknown: // not asked yet
		return false
	case m.Repair == nil && m.Quarantine == nil && w.busy():
		return false
	case m.Repair != nil: // what is under way comes to its end first
		return false
	case m.Current.None():
		orders.Unwant(&w.Chart, fleet.ReasonNoInstance) // it went meanwhile
		return false
	case m.Wanted.Chore == fleet.OrderRevert && !m.IsWhole(m.Wanted.Copy, m.Current.Host): // its time was over
		orders.Unwant(&w.Chart, fleet.ReasonNoCopy)
		return false
	case why != "": // since the person ordered it
		orders.Unwant(&w.Chart, why)
		return false
	}
	step := chore.Step(m.Wanted.Chore, m)
	held := guard.NewChore(m, s, step)
	if held == "" && m.Wanted.Chore == fleet.OrderReplace && s.Spec.Update.Surge > 0 {
		held = guard.InService(m, w.View, s) // first another one serves beyond the size
	}
	if held != "" {
		w.Wait(held, "")
		return true
	}
	repair.BeginChore(&w.Work, m.Wanted, step)
	return true
}

// overruled reports whether a person wants the machine gone, whatever else they have hale do with it: the work under
// way, which has made no call, or has heard of the last one, makes room.
func (w *work) overruled() bool {
	r, o := w.M.Repair, w.Situation.Whole.Ledger.Removal(w.M.Name)
	return r.Kind.Chore() && r.Intent == nil && o != nil && o.Named && guard.NewChange(w.M, w.Situation) == "" &&
		guard.Forbidden(w.M, &w.Situation.Spec, belief.RepairRemove) == ""
}
