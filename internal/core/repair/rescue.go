package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// rescuing is the operation of the step rescue.
type rescuing struct{ onTheSpot }

func (rescuing) undone(r *belief.Repair) { r.LookAgain() }

func (rescuing) took(i fleet.Instance) bool {
	return i.Power == fleet.PowerPaused && i.Stop == fleet.StopRescue
}

// rescued ends the step when the provider says that the machine is in a person's hands, who is told so, also if they
// were told of the failure before, and if the order took effect only after it was believed lost. It is left alone from
// here on (guard.LeftAlone), until the provider says that it runs again by itself: then it is judged as any other that
// a person started.
func (w *Work) rescued() bool {
	m := w.M
	if m.Repair.Step != fleet.StepRescue || m.Repair.Kind != belief.RepairHeal ||
		m.Health.Cause != belief.CauseRescued {
		return false
	}
	if m.Incident != nil {
		m.Incident.Paged = false
	}
	w.Page(fleet.ReasonRescued)
	w.end(fleet.ReasonRescued)
	return true
}
