package repair

import (
	"strconv"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/health"
)

// Chart is one machine in one round: the belief about it is changed in place, and what follows is collected.
type Chart struct {
	M            *fleet.Machine
	View         *fleet.View // to be read only
	Situation    *guard.Situation
	Installation fleet.Installation
	// Load counts the fleet's instances per host, to spread new ones.
	Load func() map[fleet.HostName]int

	Actions []fleet.Action
	Records []fleet.Record
	// TakenAlong says that its host had taken the machine along, and that a start was all that it needed, or would have
	// been, had the host not done so again.
	TakenAlong bool
	// Order is the person's order from which the records of this round follow; empty: none.
	Order fleet.OrderID
}

func (w *Chart) now() fleet.Instant { return w.Situation.Now.Mono }

// fewRecords is how many a machine has in a round in which it fails: room for them is made once, since thousands may.
const fewRecords = 4

// Record adds a record about the machine.
func (w *Chart) Record(rec fleet.Record) {
	m := w.M
	rec.At, rec.Fleet, rec.Machine, rec.Alias = w.Situation.Now.Wall, w.Situation.Spec.Name, m.Name, m.Alias
	rec.Provider = w.Situation.Spec.Provider
	if rec.Order == "" {
		rec.Order = w.Order
	}
	if rec.Kind == fleet.RecordRepairStarted || rec.Kind == fleet.RecordRepairEnded ||
		rec.Kind == fleet.RecordIncidentClosed {
		rec.Again, m.Swings = m.Swung(), nil // from now on the same reasons say something new
	}
	if m.Repair != nil {
		rec.Repair = m.Repair.ID
		if rec.Step == "" && !m.Repair.Aside() && m.Repair.Kind != fleet.RepairRemove &&
			m.Repair.Kind != fleet.RepairUndo {
			rec.Step = m.Repair.Step
		}
	}
	if m.Incident != nil && rec.Incident == "" {
		rec.Incident = m.Incident.ID
	}
	if m.Incident != nil && (rec.Kind == fleet.RecordIncidentOpen || rec.Kind == fleet.RecordIncidentClosed) {
		rec.Began = m.Incident.Began
	}
	if m.Incident != nil && rec.Parent == "" {
		rec.Parent = m.Incident.Parent
	}
	if w.Records == nil {
		w.Records = make([]fleet.Record, 0, fewRecords)
	}
	w.Records = append(w.Records, rec)
}

// mark is what the instance must bear: of an adopted one, nothing.
func (w *Chart) mark(i fleet.Incarnation) fleet.Mark {
	if i.Adopted {
		return fleet.Mark{}
	}
	return fleet.Mark{Installation: w.Installation, Fleet: w.Situation.Spec.Name, Machine: w.M.Name,
		Generation: i.Generation, Certified: i.Certified}
}

// wait records once why nothing is done.
func (w *Chart) wait(reason fleet.Reason) onward {
	w.Wait(reason, "")
	return waits
}

// braked has the arithmetic of the brake that holds a machine, and who put it on.
func braked(rec fleet.Record, b *fleet.Brake, s *guard.Situation) fleet.Record {
	if rec.By, rec.Detail = b.By, b.Words; b.Scope == "" {
		return rec
	}
	t := guard.Among(b, s.Tally, s.Tolls)
	rec.Scope, rec.Failing, rec.Size = b.Scope, t.Failing, t.Size
	rec.Limit = guard.BrakeLimit(guard.BrakePolicy(b, &s.Spec.Limits), t.Size)
	if b.Scope == fleet.ScopeProvider {
		rec.Detail = string(s.Spec.Provider)
	}
	return rec
}

// Wait records once why nothing is done, and which step would be. A reason that comes and goes is counted; see
// fleet.Machine.Swings.
func (w *Chart) Wait(reason fleet.Reason, step fleet.StepKind) {
	if w.M.Waiting == reason {
		return
	}
	w.M.Waiting = reason
	switch {
	case reason == "":
		return
	case w.M.Incident != nil && (reason == fleet.ReasonHostDown || reason == fleet.ReasonProviderDown):
		w.M.Incident.Dark = true
	}
	again, write := w.M.Swing(reason, w.Situation.Now.Wall)
	if !write {
		return
	}
	t := w.Situation.Tally
	rec := fleet.Record{Kind: fleet.RecordHeld, Again: again, Reason: reason, Cause: w.M.Health.Cause, Step: step,
		Instance: w.M.Current.ID, Failing: t.Failing, Size: t.Size,
		Limit: guard.BrakeLimit(w.Situation.Spec.Limits.Brake, t.Size)}
	if p := guard.Parent(w.M, w.Situation); p != nil && reason == fleet.ReasonSharedFate {
		rec.Domain, rec.Failing, rec.Size, rec.Limit = p.Domain, p.Failing, p.Members, 0
	}
	if full := guard.SharedBudget(w.M, w.Situation); full != nil && reason == fleet.ReasonBudget {
		rec.Scope, rec.Detail, rec.Failing, rec.Limit = full.Limit.Scope, full.Name, full.Taken, full.Limit.InRepair
	}
	if b := w.Situation.Brake; reason == fleet.ReasonBrake {
		rec = braked(rec, &b, w.Situation)
	}
	if h, some := guard.Unasked(w.M, w.Situation); some && reason == fleet.ReasonHostUnasked {
		rec.Host = h
	}
	w.Record(rec)
}

// OpenIncident opens the machine's incident. There is none.
func (w *Chart) OpenIncident(cause fleet.Cause) {
	m := w.M
	m.Incidents++
	m.Incident = &fleet.Incident{
		ID: string(m.Name) + "/" + strconv.FormatUint(m.Incidents, 10), Cause: cause, Opened: w.Situation.Now.Wall,
		Began: w.firstFailure(),
	}
	w.Record(fleet.Record{Kind: fleet.RecordIncidentOpen, Cause: cause, Check: m.Health.Check, Result: m.Health.Result,
		Instance: m.Current.ID, Generation: m.Current.Generation})
}

// firstFailure returns when the first probe failed of the checks that fail now; zero: none does, or it is not known.
func (w *Chart) firstFailure() time.Time {
	first := fleet.Instant(0)
	for _, c := range w.View.Checks {
		fails := c.Standing == fleet.StandingFailing || c.Standing == fleet.StandingDown
		if fails && c.Answered != 0 && (first == 0 || c.Answered < first) {
			first = c.Answered
		}
	}
	if first == 0 {
		return time.Time{}
	}
	return w.Situation.Now.When(first)
}

// Page tells a person, once per incident.
func (w *Chart) Page(reason fleet.Reason) {
	if w.M.Incident == nil || w.M.Incident.Paged {
		return
	}
	w.M.Incident.Paged, w.M.Incident.Told, w.M.Incident.For = true, w.Situation.Now.Wall, reason
	w.M.Incident.Joint = ""
	w.Record(fleet.Record{Kind: fleet.RecordPaged, Reason: reason, Cause: w.M.Incident.Cause, Instance: w.M.Current.ID})
}

// uncount takes the attempt back: nothing was tried.
func (w *Chart) uncount() { w.M.Attempts = w.M.Attempts[:max(0, len(w.M.Attempts)-1)] }

// ordered reports whether a person's current order wants the machine repaired.
func (w *Chart) ordered() bool { return w.M.Ordered(w.Situation.Now) }

// unproven reports whether all that keeps the machine from being healthy is a check that never succeeded as it is.
func (w *Chart) unproven() bool { return health.OnlyUnproven(&w.M.Health, w.View.Checks) }

func (w *Chart) freshlySeen(r *fleet.Repair) bool {
	return w.View.Sighting(w.M.Current.ID).Asked > r.LastOutcome
}

// fated reports whether a parent incident holds the step. What was fenced already goes on.
func (w *Chart) fated(r fleet.Repair, step fleet.StepKind) bool {
	return r.Kind == fleet.RepairHeal && r.OffCalls == 0 && guard.SharedFate(w.M, w.Situation, step) != ""
}

// heldBack says why the work may not go on to its next step.
func (w *Chart) heldBack(r *fleet.Repair) fleet.Reason {
	var reason fleet.Reason
	switch r.Kind {
	case fleet.RepairHeal:
		reason = guard.AnyRung(w.M, w.Situation)
	case fleet.RepairRemnant:
		reason = guard.ClearUp(w.M, w.Situation)
	default:
		reason = guard.AnyStep(w.M, w.Situation)
	}
	if reason == "" && (guard.HostHeld(r.Target.Host, w.Situation) || guard.HostHeld(r.Back.Host, w.Situation)) {
		reason = fleet.ReasonHold // of a host that the machine itself is not on
	}
	if reason == "" && r.Kind == fleet.RepairHeal && r.OffCalls == 0 && w.StartsBeside() {
		reason = fleet.ReasonRival
	}
	if reason == "" {
		reason = w.unrolled(r) // also before the look, which would be old by the time that it may go on
	}
	// A step under way finishes (L6), as soon as the picture is good enough for it (L9).
	if letsFinish(reason) && r.OffCalls > 0 {
		return guard.Unfinished(w.M, w.Situation)
	}
	return reason
}

// letsFinish reports whether what holds new steps back lets one that is under way finish (L6).
func letsFinish(reason fleet.Reason) bool {
	return reason == fleet.ReasonBrake || reason == fleet.ReasonHold || reason == fleet.ReasonWindow
}

// spared returns the rungs that are for other checks than those that are down.
func (w *Chart) spared() fleet.Rungs {
	var out fleet.Rungs
	for rung, step := range w.Situation.Spec.Repair.Steps {
		if !concerns(w.M, w.Situation.View, step) {
			out = out.With(rung)
		}
	}
	return out
}

// Worsen takes the machine out of quarantine when more fails now than what it was put there for, so that a step may
// help that was not for that, and reports whether it did. Once per incident: a check that comes and goes is no reason
// to begin again and again.
func (w *Chart) Worsen() bool {
	m := w.M
	q := m.Quarantine
	if q == nil || q.Spared == 0 || m.Incident.Worsened || m.Health.Verdict != fleet.VerdictUnhealthy ||
		guard.LeftAlone(m.Health.Cause, &w.Situation.Spec) {
		return false
	}
	for rung, step := range w.Situation.Spec.Repair.Steps {
		if !q.Spared.Has(rung) || step.Kind == fleet.StepPage || step.Kind == fleet.StepQuarantine ||
			unfit(m, w.Situation, step) != "" {
			continue
		}
		m.Quarantine, m.Waiting = nil, ""
		m.Attempts, m.RetryAt = nil, 0
		m.Incident.Worsened, m.Incident.Failed, m.Incident.Paged = true, 0, false
		w.Record(fleet.Record{Kind: fleet.RecordQuarantineOver, Reason: fleet.ReasonWorsened, Step: step.Kind,
			Cause: m.Health.Cause, Check: m.Health.Check, Result: m.Health.Result, Instance: m.Current.ID})
		return true
	}
	return false
}
