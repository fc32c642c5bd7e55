package repair

import "hale/internal/core/fleet"

// rebuilding is the operation of the step rebuild: the same instance with a new disk.
type rebuilding struct{ ofTheOld }

func (rebuilding) ofStep() bool { return true }

func (rebuilding) done(w *Work, _ *fleet.Repair) onward { return w.verifyFrom() }

func (rebuilding) notFound(w *Work, _ *fleet.Repair, in fleet.Intent) onward {
	return w.failRung(fleet.ReasonNoInstance, string(in.Op))
}

func (rebuilding) failed(w *Work, _ *fleet.Repair, o fleet.Outcome) onward {
	return w.failRung(failureOf(o), o.Detail)
}

func (rebuilding) took(i fleet.Instance) bool { return i.Power == fleet.PowerRunning }

// rebuild is the step.
type rebuild struct{ staying }

func (rebuild) op(fleet.Step) fleet.Op { return fleet.OpRebuild }

func (rebuild) applies(m *fleet.Machine, spec *fleet.Spec, step fleet.Step) fleet.Reason {
	if missing(m) {
		return fleet.ReasonNoInstance
	}
	return replaceable(m, spec, step)
}
