package chart

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// HeldBack says why the work may not go on to its next step.
func (c *Chart) HeldBack(r *belief.Repair) fleet.Reason {
	var reason fleet.Reason
	switch r.Kind {
	case belief.RepairHeal:
		reason = guard.AnyRung(c.M, c.Situation)
	case belief.RepairRemnant:
		reason = guard.ClearUp(c.M, c.Situation)
	default:
		reason = guard.AnyStep(c.M, c.Situation)
	}
	if reason == "" && (guard.HostHeld(r.Target.Host, c.Situation) || guard.HostHeld(r.Back.Host, c.Situation)) {
		reason = fleet.ReasonHold // of a host that the machine itself is not on
	}
	if reason == "" && r.Kind == belief.RepairHeal && r.OffCalls == 0 && c.StartsBeside() {
		reason = fleet.ReasonRival
	}
	if reason == "" {
		reason = c.Unrolled(r) // also before the look, which would be old by the time that it may go on
	}
	// A step under way finishes (L6), as soon as the picture is good enough for it (L9).
	if letsFinish(reason) && r.OffCalls > 0 {
		return guard.Unfinished(c.M, c.Situation)
	}
	return reason
}

// letsFinish reports whether what holds new steps back lets one that is under way finish (L6).
func letsFinish(reason fleet.Reason) bool {
	return reason == fleet.ReasonBrake || reason == fleet.ReasonHold || reason == fleet.ReasonWindow ||
		reason == fleet.ReasonAfter
}

// Unrolled says why the rung, if it builds or destroys, may not.
func (c *Chart) Unrolled(r *belief.Repair) fleet.Reason {
	if (r.Kind == belief.RepairHeal || r.Kind == belief.RepairOperate || r.Kind == "") && !r.Step.Rolled() {
		return ""
	}
	return guard.AnyRolled(c.Situation)
}

// CameBack reports whether the rung was chosen because the host did not answer, and it does: a gentler one may do.
func (c *Chart) CameBack(r *belief.Repair) bool {
	if !r.Stranded || r.Kind != belief.RepairHeal {
		return false
	}
	_, dead := c.DeadHost(r.Target)
	return !dead
}
