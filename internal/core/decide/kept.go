package decide

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/orders"
)

// bringBack begins the undo that a person ordered, as soon as it may. It reports whether the machine is spoken for:
// then it is not healed meanwhile. It takes the place of a repair that has built the new instance and not yet verified
// it.
func (w *work) bringBack() bool {
	m, s := w.M, w.Situation
	if r := m.Repair; r != nil && (r.Intent != nil || r.Aside() || r.Phase != belief.PhaseVerify || m.Current.None()) {
		return false // what is under way comes to its end first
	}
	held := guard.NewChange(m, s)
	if k := m.KeptFor(m.Wanted); held == "" && k != nil && guard.HostHeld(k.Host, s) {
		held = fleet.ReasonHold
	}
	switch {
	case s.Provider.Standing == fleet.ProviderUnknown: // not asked yet
		return false
	case m.Repair == nil && m.Quarantine == nil && w.busy():
		return false
	case m.KeptFor(m.Wanted) == nil: // it went meanwhile
		orders.Unwant(&w.Chart, fleet.ReasonNothingKept)
		return false
	case guard.Forbidden(m, &s.Spec, belief.RepairUndo) != "": // since the person ordered it
		orders.Unwant(&w.Chart, guard.Forbidden(m, &s.Spec, belief.RepairUndo))
		return false
	case held != "" && m.Repair != nil:
		return false
	case held != "":
		w.Wait(held, "")
		return true
	}
	w.BeginUndo(m.Wanted)
	return true
}

// outlived returns the first kept instance to be removed by now, on a host that is not held.
func (w *work) outlived() (belief.KeptInstance, bool) {
	for _, k := range w.M.Kept {
		if k.MayGo(w.Situation.Now) && !guard.HostHeld(k.Host, w.Situation) {
			return k, true
		}
	}
	return belief.KeptInstance{}, false
}

// clearsUp begins the removal of what is left beside the machine's instance: of a build, of one that was kept for its
// time, or of its disks. It reports
// whether it did.
func (w *work) clearsUp() bool {
	if w.removableStray() {
		w.Begin(belief.RepairRemnant)
		return true
	}
	if k, over := w.outlived(); over {
		w.BeginExpire(k)
		return true
	}
	d, over := guard.Overdue(w.M, w.Situation)
	if over {
		w.BeginDrop(d)
	}
	return over
}
