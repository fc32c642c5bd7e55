package repair

import "hale/internal/core/belief"

// rebooting is the operation of the step reboot, by the provider or by the guest itself.
type rebooting struct{ onTheSpot }

// resolve: a reset cannot be observed; whether it happened or not, what counts is whether the machine becomes healthy.
func (o rebooting) resolve(w *Work, r *belief.Repair, _ belief.Intent) onward {
	r.Intent = nil
	return o.done(w, r)
}
