package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// rebuilding is the operation of the step rebuild: the same instance with a new disk.
type rebuilding struct{ ofTheOld }

func (rebuilding) ofStep() bool { return true }

func (rebuilding) done(w *Work, r *belief.Repair) onward { return errands{w, r}.built() }

func (rebuilding) notFound(w *Work, _ *belief.Repair, in belief.Intent) onward {
	return w.failRung(fleet.ReasonNoInstance, string(in.Op))
}

func (rebuilding) failed(w *Work, _ *belief.Repair, o fleet.Outcome) onward {
	return w.failRung(o.Failure(), o.Detail)
}

func (rebuilding) took(i fleet.Instance) bool { return i.Power == fleet.PowerRunning }
