package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/hooks"
	"hale/internal/core/record"
)

// verifying waits for the health that a step brings, and ends the repair in it.
type verifying struct {
	*Work
	r *belief.Repair
}

// verify waits for health after a step.
func (v verifying) verify() onward {
	if v.leftAlone() {
		return over
	}
	h := v.M.Health
	v.r.Dark = v.r.Dark || v.dark()
	switch {
	case h.Verdict == belief.VerdictHealthy:
		step := v.r.Step
		if v.r.Kind == belief.RepairUndo {
			step = "" // it is none of the ladder's
		}
		v.Record(record.Record{Kind: record.Verified, Verdict: h.Verdict, Step: step, Instance: v.M.Current.ID,
			Took: v.Now().Sub(v.r.Since), Address: v.M.Address})
		switch {
		case v.M.Current.Raw: // it was given up before all was done with it
			return errands(v).provisionBy(hooks.Again(&v.Situation.Spec, v.M.Provisioned))
		case v.M.Current.Certified:
			return v.finish()
		}
		return v.enter(belief.PhaseCertify)
	case v.undone():
		v.TakenAlong = true
		return v.chooseRung(0)
	case h.Cause.Stopped() && v.FreshlySeen(v.r) && v.r.Step != fleet.StepPage: // a person takes their time
		return v.failRung(fleet.ReasonNotVerified, string(h.Cause))
	case guard.Sightless(v.Situation): // it could not be seen healthy
		return v.wait(v.Situation.Whole.Doubt.Reason)
	case v.Situation.Provider.Standing == fleet.ProviderDown: // no other step could be taken, either
		return v.wait(fleet.ReasonProviderDown)
	case v.Situation.Now.Due(v.r.Deadline) && v.r.Kind == belief.RepairHeal && v.Unproven():
		return v.yield(v.r, fleet.ReasonUnproven) // a further step would be taken for that check alone
	case v.Situation.Now.Due(v.r.Deadline):
		return v.failRung(fleet.ReasonNotVerified, string(h.Verdict))
	}
	return waits
}

// dark reports whether nothing can be known of the machine's host now.
func (v verifying) dark() bool {
	_, dead := v.DeadHost(v.M.Current)
	return dead || v.Situation.Provider.Standing == fleet.ProviderDown
}

// undone reports whether the host took the machine along before it could be healthy: it did not answer since, and knows
// that the machine is off, and not why. That says nothing of the step, and what is off is started.
func (v verifying) undone() bool {
	return v.r.Dark && v.r.Kind == belief.RepairHeal && v.M.Health.Cause == belief.CauseOff && v.M.Current.Certified &&
		v.FreshlySeen(v.r) && !v.dark()
}

func (v verifying) certify() onward {
	switch {
	case v.M.Current.Certified:
		return v.finish()
	case v.M.Health.Verdict != belief.VerdictHealthy:
		return v.enter(belief.PhaseVerify)
	}
	return v.call(v.r, fleet.OpCertify, v.M.Current)
}

// finish ends the repair, and its incident, in health.
func (v verifying) finish() onward {
	m := v.M
	if m.Repair.Kind == belief.RepairHeal && m.Repair.Phase != belief.PhaseAfter &&
		len(v.Situation.Spec.Hooks.After) > 0 {
		return v.enter(belief.PhaseAfter)
	}
	reason := fleet.ReasonHealed
	if v.TakenAlong = v.M.TakenAlong(); v.TakenAlong {
		v.Uncount()
	}
	switch m.Repair.Kind {
	case belief.RepairUndo:
		reason = fleet.ReasonUndone
	case belief.RepairBuild:
		reason, m.Attempts = fleet.ReasonBuilt, nil // a build that succeeded is no sign of trouble
	case belief.RepairUpdate:
		reason, m.Attempts = fleet.ReasonUpdated, nil
		if v.Situation.Whole.Ledger.GoesBack(m.Repair.Order) {
			reason = fleet.ReasonInForce
		}
	case belief.RepairReplace:
		reason, m.Attempts = fleet.ReasonReplaced, nil
	case belief.RepairOperate:
		reason = fleet.ReasonCarriedOut
	default:
	}
	rec := record.Record{Kind: record.IncidentClosed, Reason: fleet.ReasonHealed, Step: m.Repair.Step}
	if m.Incident != nil {
		rec.Incident, rec.Took = m.Incident.ID, v.Situation.Now.Wall.Sub(m.Incident.Opened)
		rec.Cause, rec.Paged, rec.Joint = m.Incident.Cause, m.Incident.Known(), m.Incident.Joint
	}
	v.end(reason)
	if m.Incident != nil {
		v.Record(rec)
	}
	m.IncidentOver()
	return over
}
