package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// rebooting is the operation of the step reboot, by the provider or by the guest itself.
type rebooting struct{ onTheSpot }

// resolve: a reset cannot be observed; whether it happened or not, what counts is whether the machine becomes healthy.
func (o rebooting) resolve(w *Work, r *belief.Repair, _ belief.Intent) onward {
	r.Intent = nil
	return o.done(w, r)
}

// reboot is the step.
type reboot struct{ staying }

func (reboot) op(step policy.Step) fleet.Op {
	if step.Mode == policy.RebootSoft {
		return fleet.OpSoftReboot
	}
	return fleet.OpReboot
}

func (reboot) applies(m *belief.Machine, _ *policy.Spec, _ policy.Step) fleet.Reason { return idle(m) }
