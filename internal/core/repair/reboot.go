package repair

import "hale/internal/core/fleet"

// rebooting is the operation of the step reboot, by the provider or by the guest itself.
type rebooting struct{ onTheSpot }

// resolve: a reset cannot be observed; whether it happened or not, what counts is whether the machine becomes healthy.
func (o rebooting) resolve(w *Work, r *fleet.Repair, _ fleet.Intent) onward {
	r.Intent = nil
	return o.done(w, r)
}

// reboot is the step.
type reboot struct{ staying }

func (reboot) op(step fleet.Step) fleet.Op {
	if step.Mode == fleet.RebootSoft {
		return fleet.OpSoftReboot
	}
	return fleet.OpReboot
}

func (reboot) applies(m *fleet.Machine, _ *fleet.Spec, _ fleet.Step) fleet.Reason { return idle(m) }
