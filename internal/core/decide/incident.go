package decide

import (
	"time"

	"hale/internal/core/adopting"
	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ladder"
	"hale/internal/core/orders"
	"hale/internal/core/policy"
	"hale/internal/core/rollout"
	"hale/internal/core/telling"
)

// judgeIncident opens and closes what the verdict calls for.
func (w *work) judgeIncident() {
	m := w.M
	idle := m.Repair == nil || m.Repair.Aside()
	if m.Current.Candidate() {
		return // it is too early
	}
	switch {
	case !idle || m.Current.None():
	case m.Health.Cause.Parked(): // as it is wanted
	case m.Health.Verdict == belief.VerdictUnhealthy && (m.Incident == nil || m.Incident.Blind()):
		if m.Incident != nil {
			w.EndIncident(fleet.ReasonRecovered)
		}
		w.OpenIncident(m.Health.Cause)
	case m.Stays(): // until a person ends it
	case m.Health.Verdict == belief.VerdictHealthy && m.Incident != nil && m.Current.Certified && !m.Current.Raw:
		w.EndIncident(fleet.ReasonRecovered)
	case telling.Lost(&w.Chart, telling.WithUnknown, w.telling) &&
		w.Situation.Whole.Doubt.Reason == "" && // of hale's own blindness a person was told once, for all machines
		guard.HoldOn(m, w.Situation) == nil:
		if m.Incident == nil {
			w.OpenIncident(belief.CauseBlind)
		}
		// what failed may do so still, and unknown is not healed: without a page it would wait for ever
		w.Page(fleet.ReasonBlind)
	}
	w.judgeHold()
	w.judgeWanted()
}

// judgeWanted lets an order go that could not be followed in time.
func (w *work) judgeWanted() {
	m, now := w.M, w.Situation.Now
	if m.Wanted == nil || m.Repair != nil || !now.Reached(m.Wanted.Until) {
		return
	}
	orders.Unwant(&w.Chart, fleet.ReasonExpired)
}

// judgeHold keeps the time for which a person's stop is left alone, and tells a person when it is over.
func (w *work) judgeHold() {
	m, now, spec := w.M, w.Situation.Now, &w.Situation.Spec
	i := m.Incident
	switch {
	case i == nil || m.Repair != nil:
	case !guard.LeftAlone(m.Health.Cause, spec) || guard.HoldOn(m, w.Situation) != nil:
		i.HoldUntil = time.Time{}
	// it was not ordered, and only a person can mend it: there is nothing to wait for
	case m.Health.Cause == belief.CauseIOError:
		w.Page(fleet.ReasonIOError)
	case i.HoldUntil.IsZero():
		i.HoldUntil = now.Wall.Add(telling.HoldTime(m, spec))
	case telling.Lost(&w.Chart, telling.WithStopped, w.telling):
		w.Page(fleet.ReasonHoldExpired)
	}
}

// certify certifies what is healthy, unless a person holds it or it is too early to try again.
func (w *work) certify() {
	m, s := w.M, w.Situation
	switch {
	case guard.HoldOn(m, s) != nil:
		w.Wait(fleet.ReasonHold, "")
	case s.Acting != "" || s.Spec.Mode != policy.ModeAct || m.RetryAt != 0 && !s.Now.Due(m.RetryAt):
	case m.Current.Raw && m.Quarantine != nil: // it was tried as often as it may be
	case m.Current.Raw:
		w.BeginProvision()
	default:
		w.BeginCertify()
	}
}

// heal admits the repair of a machine with an incident, unless something holds it.
func (w *work) heal() {
	held, step := ladder.Admit(w.M, w.Situation)
	if held == "" && (w.StartsBeside() || w.DeputyRests()) {
		held = fleet.ReasonRival
	}
	w.admit(held, belief.RepairHeal, step)
}

// advance goes on with the repair under way, or admits the one that is due.
func (w *work) advance() {
	m, s := w.M, w.Situation
	w.putFirst()
	if w.change() {
		return
	}
	switch {
	case m.Repair != nil:
		w.Advance()
	case s.Provider.Standing == fleet.ProviderUnknown: // not asked yet
	case m.Quarantine == nil && !w.faulty() && guard.ClearUp(m, s) == "" && w.clearsUp():
	case m.Current.Candidate():
		adopting.Adopt(&w.Work)
	case m.LacksCertificate():
		w.certify()
	case m.Incident != nil && w.Worsen(): // first it is counted again
	case m.Incident != nil:
		w.heal()
	case m.Health.Cause.Parked():
		w.Wait(guard.WhyLeftAlone(m.Health.Cause), "")
	case m.Current.None() && guard.Surplus(m, &s.Spec):
		w.Wait("", "") // it has left, or never was
	case m.Current.None() && rollout.Joins(s.Whole.Ledger, m.Name):
		w.Wait(fleet.ReasonUpdating, "") // its turn comes by the update
	case m.Current.None():
		w.admit(w.firstBuild(), belief.RepairBuild, fleet.StepRecreate)
	default:
		w.Wait("", "")
	}
}

// firstBuild says why the machine's first instance may not be built.
func (w *work) firstBuild() fleet.Reason {
	held := guard.NewBuild(w.M, w.Situation)
	found, _ := chart.Found(w.M, w.View, w.Installation) // it is taken, and none is built
	if held == "" && (w.RivalledBeside(found.ID) || found.ID == "" && w.DeputyRests()) {
		return fleet.ReasonRival
	}
	return held
}

// faulty reports whether the machine has an instance with an incident, which nothing that runs beside it keeps from
// being healed.
func (w *work) faulty() bool { return w.M.Incident != nil && !w.M.Current.None() && !w.StartsBeside() }

// putFirst ends the removal of a remnant, unless a call is under way, when the machine itself needs a repair.
func (w *work) putFirst() {
	r := w.M.Repair
	if r != nil && r.Aside() && w.faulty() && (r.Intent == nil || r.Intent.Unknown) {
		w.Abandon()
	}
}

func (w *work) admit(held fleet.Reason, kind belief.RepairKind, step fleet.StepKind) {
	switch held {
	case "":
		w.Begin(kind)
	case fleet.ReasonAttempts:
		w.LeaveToPerson(held)
	case fleet.ReasonProtected, fleet.ReasonRival:
		w.Wait(held, step)
		w.Page(held)
	default:
		w.Wait(held, step)
	}
}

// removableStray brings a provable remnant to the head of the list, if there is one.
func (w *work) removableStray() bool {
	if _, found := chart.Found(w.M, w.View, w.Installation); found && !guard.Surplus(w.M, &w.Situation.Spec) {
		return false // it is needed
	}
	for i, s := range w.M.Strays {
		due := (s.RetryAt == 0 || w.Situation.Now.Due(s.RetryAt)) && !guard.HostHeld(s.Host, w.Situation)
		if due && chart.IsRemnant(*w.M, w.View.Sighting(s.ID).Instance, w.Installation) {
			w.M.Strays[0], w.M.Strays[i] = w.M.Strays[i], w.M.Strays[0]
			return true
		}
	}
	return false
}
