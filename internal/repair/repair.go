// Package repair walks the ladder: it chooses the rung that fits the cause, asks for the look before anything
// disruptive, fences, replaces, verifies, certifies, and gives up in an orderly way.
//
// It promises that each call that cannot be undone is returned as an intent to be stored first, that a call whose outcome is
// unknown is observed before anything else, and that a repair ends healed, recovered, in quarantine, or held with a
// reason (L8). It performs nothing itself.
package repair

import (
	"slices"
	"strconv"
	"time"

	"hale/internal/fleet"
	"hale/internal/guard"
	"hale/internal/health"
)

// Limits of patience within one repair.
const (
	maxOffOrders   = 3                      // orders to power off before "no proof"
	pageAfter      = 10                     // fruitless calls before a person is told
	firstRetry     = 500 * time.Millisecond // after a call that did nothing; doubles
	longestRetry   = 30 * time.Second
	longestBackoff = 30 * time.Minute
)

// Work is one machine's repair in one round: the machine's belief is changed in place, what follows is collected.
type Work struct {
	M            *fleet.Machine
	View         *fleet.View // to be read only
	Situation    *guard.Situation
	Installation fleet.Installation
	// Load counts the fleet's instances per host, to spread new ones.
	Load func() map[fleet.HostName]int

	Actions []fleet.Action
	Records []fleet.Record
	// Order is the person's order from which the records of this round follow; empty: none.
	Order fleet.OrderID
}

// open numbers the work and puts it on the machine. Until it climbs the ladder it is on no rung.
func (w *Work) open(r fleet.Repair) *fleet.Repair {
	m := w.M
	m.Repairs++
	r.ID, r.Started = string(m.Name)+"/r"+strconv.FormatUint(m.Repairs, 10), w.Situation.Now.Wall
	r.Rung, r.Step, r.Proof = fleet.NoRung, fleet.StepRecreate, fleet.ProofNone
	m.Repair = &r
	return m.Repair
}

// Begin opens a repair of the kind. The guard has admitted it.
func (w *Work) Begin(kind fleet.RepairKind) {
	m := w.M
	m.Waiting, m.RetryAt = "", 0
	w.open(fleet.Repair{Kind: kind})
	if kind != fleet.RepairRemnant {
		m.Attempts = append(guard.Recent(m, w.Situation), w.now())
	}
	why := fleet.Reason(kind)
	if kind == fleet.RepairRemnant && m.LeftAt(m.Strays[0].ID) >= 0 {
		why = fleet.ReasonHostBack
	}
	w.Record(fleet.Record{Kind: fleet.RecordRepairStarted, Reason: why, Cause: m.Health.Cause})
	switch kind {
	case fleet.RepairHeal:
		w.chooseRung(0)
	case fleet.RepairBuild:
		w.enter(fleet.PhaseAct)
	case fleet.RepairRemnant:
		s := m.Strays[0] // the caller put it there
		seen := w.View.Sighting(s.ID).Instance
		m.Repair.Target = fleet.Incarnation{ID: s.ID, Host: s.Host, Generation: seen.Mark.Generation, Expired: true}
		w.enter(fleet.PhaseLook)
	case fleet.RepairRemove, fleet.RepairUpdate, fleet.RepairUndo, fleet.RepairTidy: // BeginChange, BeginUndo and BeginDrop open them
	}
	w.Advance()
}

// BeginCertify opens the short work that certifies an instance whose build took longer than it was given.
func (w *Work) BeginCertify() {
	w.M.Quarantine = nil // it became healthy by itself
	w.open(fleet.Repair{Kind: fleet.RepairBuild})
	w.Record(fleet.Record{Kind: fleet.RecordRepairStarted, Reason: fleet.Reason(fleet.RepairBuild)})
	w.enter(fleet.PhaseCertify)
	w.Advance()
}

// Advance takes the repair as far as it gets without new evidence.
func (w *Work) Advance() {
	for range 16 { // each pass changes phase or rung; the ladder is short
		r := w.M.Repair
		if r == nil {
			return // given to a person before it went anywhere
		}
		if reason := w.forbidden(r); reason != "" {
			w.desist(r, reason)
			return
		}
		before := *r
		w.pass(r)
		if w.M.Repair == nil || r.Intent != nil || sameSpot(before, *w.M.Repair) {
			return
		}
	}
}

func sameSpot(a, b fleet.Repair) bool {
	return a.Phase == b.Phase && a.Rung == b.Rung && a.Step == b.Step && a.Proof == b.Proof && a.Removed == b.Removed &&
		a.Intent == b.Intent && a.Look == b.Look && a.Next == b.Next && a.Confirmed == b.Confirmed
}

func (w *Work) pass(r *fleet.Repair) {
	if r.Intent != nil {
		w.settleIntent(r)
		return
	}
	if r.RetryAt != 0 && !w.Situation.Now.Due(r.RetryAt) {
		return
	}
	switch r.Phase {
	case fleet.PhaseLook:
		w.look(r)
	case fleet.PhaseVerify:
		w.verify(r)
	case fleet.PhaseAct:
		if w.mayAct() && w.mayChange(r) && w.rolled(r) {
			w.act(r)
		}
	case fleet.PhaseCertify:
		if w.mayAct() {
			w.certify(r)
		}
	}
}

// rolled reports whether the rung may build or destroy, if it does, and says why not.
func (w *Work) rolled(r *fleet.Repair) bool {
	if (r.Kind == fleet.RepairHeal || r.Kind == "") && !r.Step.Rolled() {
		return true
	}
	held := guard.AnyRolled(w.Situation)
	if held != "" {
		w.wait(held)
	}
	return held == ""
}

// look waits for the look that confirms the failure, having asked for it.
func (w *Work) look(r *fleet.Repair) {
	if w.leftAlone() || w.overtaken(r) {
		return
	}
	if w.fated(*r, r.Step) {
		w.yield(r, fleet.ReasonSharedFate)
		return
	}
	reason := w.heldBack(r)
	if makesRoom(reason) && r.Kind == fleet.RepairHeal && r.OffOrders == 0 {
		w.yield(r, reason)
		return
	}
	if reason != "" {
		w.wait(reason)
		r.Look = ""
		return
	}
	if w.outdated(r) || w.cameBack(r) {
		w.chooseRung(0)
		return
	}
	if r.FenceAt != 0 && !w.Situation.Now.Due(r.FenceAt) {
		return // what is looked at now says nothing of then
	}
	l := w.View.Look
	if l == nil || r.Look == "" || l.ID != r.Look {
		if w.gathered(r) {
			w.askLook(r)
		}
		return
	}
	truth, reason := w.judgeLook(*r, *l)
	rec := fleet.Record{Kind: fleet.RecordLook, Reason: reason, Instance: r.Target.ID, Took: w.now().Sub(l.Started)}
	rec.Check, rec.Result, rec.Detail = lookDetail(*l)
	w.Record(rec)
	switch truth {
	case health.True:
		r.Confirmed, r.ClearedOrders = true, r.OffOrders
		w.M.Waiting = ""
		tries := r.Retries
		w.enter(fleet.PhaseAct)
		r.Retries = tries // what was in vain before the look still counts
	case health.False:
		w.refuted(r)
	case health.Unknown:
		w.unclear(r)
	}
}

// heldBack says why the work may not go on to its next step.
func (w *Work) heldBack(r *fleet.Repair) fleet.Reason {
	reason := guard.AnyStep(w.M, w.Situation)
	if r.Kind == fleet.RepairRemnant {
		reason = guard.ClearUp(w.M, w.Situation)
	}
	if reason == "" && (guard.HostHeld(r.Target.Host, w.Situation) || guard.HostHeld(r.Back.Host, w.Situation)) {
		reason = fleet.ReasonHold // of a host that the machine itself is not on
	}
	if letsFinish(reason) && r.OffOrders > 0 { // a step under way finishes (L6), as soon as the picture is good enough for it (L9)
		return guard.Unfinished(w.M, w.Situation)
	}
	return reason
}

// unclear takes the look again later. When that was in vain too often, a person is told and the repair makes room for
// others: it did nothing that it could lose, and begins anew after a while.
func (w *Work) unclear(r *fleet.Repair) {
	r.Look = ""
	if r.Kind == fleet.RepairHeal && w.unproven() {
		w.yield(r, fleet.ReasonUnproven)
		return
	}
	w.retry(r)
	w.wait(fleet.ReasonLookUnclear)
	if r.Kind != fleet.RepairHeal || r.Retries < pageAfter {
		return
	}
	m, policy := w.M, w.Situation.Spec.Repair
	w.uncount()
	w.end(fleet.ReasonLookUnclear)
	m.Incident.Failed++
	m.Incident.Last = fleet.Failure{Why: fleet.ReasonLookUnclear}
	m.RetryAt = w.now().Add(Backoff(policy.Backoff, m.Incident.Failed))
}

// leftAlone ends the repair when a person stopped or paused the machine meanwhile and the policy respects that (L10).
func (w *Work) leftAlone() bool {
	m := w.M
	if w.rescued() {
		return true
	}
	ours := m.Repair.OffOrders > 0 // we ordered it off ourselves
	if m.Repair.Kind != fleet.RepairHeal || m.Repair.Target.Expired || ours || w.ordered() || !guard.LeftAlone(m.Health.Cause, &w.Situation.Spec) {
		return false
	}
	w.uncount()
	w.end(fleet.ReasonStoppedByPerson)
	return true
}

// uncount takes the attempt back: nothing was tried.
func (w *Work) uncount() { w.M.Attempts = w.M.Attempts[:max(0, len(w.M.Attempts)-1)] }

// fated reports whether a parent incident holds the step. What was fenced already goes on.
func (w *Work) fated(r fleet.Repair, step fleet.StepKind) bool {
	return r.Kind == fleet.RepairHeal && r.OffOrders == 0 && guard.SharedFate(w.M, w.Situation, step) != ""
}

// makesRoom reports whether a repair that is held before its next step ends, since that may take as long as it likes.
func makesRoom(held fleet.Reason) bool {
	return held == fleet.ReasonHold || held == fleet.ReasonWindow || held == fleet.ReasonHostDown
}

// yield ends a repair that a parent incident, a person, the time of day or a lost host holds: waiting would keep its place from others. If it tried
// something in vain, the next try waits, ever longer.
func (w *Work) yield(r *fleet.Repair, reason fleet.Reason) {
	m := w.M
	tried := r.Calls > 0
	w.end(reason)
	if tried {
		m.Incident.Failed++
		m.Incident.Last = fleet.Failure{Why: reason}
		m.RetryAt = w.now().Add(Backoff(w.Situation.Spec.Repair.Backoff, m.Incident.Failed))
	} else {
		w.uncount()
	}
	w.wait(reason)
}

// overtaken ends the repair when the regular evidence was faster than the look: the machine is healthy, or was just
// started by somebody else.
func (w *Work) overtaken(r *fleet.Repair) bool {
	v := w.M.Health.Verdict
	if r.Kind != fleet.RepairHeal || v != fleet.VerdictHealthy && (v != fleet.VerdictStarting || w.ordered()) {
		return false
	}
	w.refuted(r)
	return true
}

// outdated reports whether the rung no longer fits: the cause changed, or the ladder was edited since it was chosen.
func (w *Work) outdated(r *fleet.Repair) bool {
	if r.Kind != fleet.RepairHeal || r.Rung == fleet.NoRung || w.M.Health.Verdict != fleet.VerdictUnhealthy {
		return false
	}
	step, ok := w.Situation.Spec.Repair.Step(r.Rung)
	return !ok || step.Kind != r.Step || (r.OffOrders == 0 && unfit(w.M, w.Situation, step) != "")
}

func lookDetail(l fleet.Look) (fleet.CheckName, fleet.ResultReason, string) {
	for _, c := range l.Checks {
		if c.Standing == fleet.StandingDown {
			return c.Check, c.Result, c.Detail
		}
	}
	for _, c := range l.Checks {
		return c.Check, c.Result, c.Detail
	}
	return "", "", string(l.Seen.Instance.Power)
}

// refuted ends the repair: the machine is not what we thought.
func (w *Work) refuted(r *fleet.Repair) {
	if r.Kind == fleet.RepairRemnant && w.M.KeptAt(r.Target.ID) >= 0 && w.View.Look.Seen.Instance.Power != fleet.PowerGone {
		w.failAttempt(fleet.ReasonStillRunning, "")
		return
	}
	if r.Kind == fleet.RepairRemnant {
		w.forget(r.Target.ID)
		w.end(fleet.ReasonVanished)
		return
	}
	w.uncount()
	w.M.RetryAt = w.now().Add(w.Situation.Spec.Repair.Backoff)
	w.end(fleet.ReasonRefuted)
}

// forget takes an instance off the list of strays. If it is still there, it is noticed again.
func (w *Work) forget(id fleet.InstanceID) {
	w.M.Strays = slices.DeleteFunc(w.M.Strays, func(s fleet.Stray) bool { return s.ID == id })
	w.M.LetGo(id)
	w.M.Retrieve(id)
}

func (w *Work) askLook(r *fleet.Repair) {
	if r.Look != "" {
		return // under way
	}
	r.Looks++
	r.Look = r.ID + "/look" + strconv.Itoa(r.Looks)
	scope := fleet.LookFull
	if w.M.Health.Cause.Stopped() || w.M.Health.Cause == fleet.CauseDisabled || r.Kind == fleet.RepairRemnant {
		scope = fleet.LookProvider
	}
	w.Actions = append(w.Actions, fleet.Action{
		Kind: fleet.ActionLook, Machine: w.M.Name, Look: r.Look, Scope: scope,
		Instance: r.Target.ID, Host: r.Target.Host, Mark: w.mark(r.Target),
	})
}

// letsFinish reports whether what holds new steps back lets one that is under way finish (L6).
func letsFinish(reason fleet.Reason) bool {
	return reason == fleet.ReasonBrake || reason == fleet.ReasonHold || reason == fleet.ReasonWindow
}

// judgeLook says what the look shows, and why. Where it shows nothing certain, the current order of a person stands for it (L3).
func (w *Work) judgeLook(r fleet.Repair, l fleet.Look) (health.Truth, fleet.Reason) {
	truth := w.readLook(r, l)
	if truth == health.Unknown && w.ordered() && r.Kind == fleet.RepairHeal && l.Seen.Known() && !w.contradicts(r, l) {
		return health.True, fleet.ReasonOrdered
	}
	switch truth {
	case health.True:
		return truth, fleet.ReasonConfirmed
	case health.False:
		return truth, fleet.ReasonRefuted
	case health.Unknown:
	}
	return health.Unknown, fleet.ReasonLookUnclear
}

// ordered reports whether a person's current order wants the machine repaired.
func (w *Work) ordered() bool { return w.M.Ordered(w.Situation.Now) }

func (w *Work) readLook(r fleet.Repair, l fleet.Look) health.Truth {
	if !l.Seen.Known() && r.Kind == fleet.RepairRemnant {
		return health.Unknown
	}
	if r.Kind == fleet.RepairRemnant {
		if w.M.KeptAt(r.Target.ID) >= 0 {
			if !w.aside(l.Seen.Instance) {
				return health.False
			}
			return health.True
		}
		if l.Seen.Instance.Power == fleet.PowerGone || !w.isRemnant(l.Seen.Instance) {
			return health.False
		}
		return health.True
	}
	truth := health.Confirm(&w.Situation.Spec, &l)
	if w.M.Health.Cause == fleet.CauseDisabled {
		truth = w.leavesDisabled(l)
	}
	if truth == health.Unknown {
		truth = w.confirmSilent(r, l)
	}
	if truth == health.True && w.contradicts(r, l) {
		return health.Unknown
	}
	if truth == health.Unknown && r.Target.Expired && l.Seen.Known() && neverAddressed(l) {
		return health.True // its time ran out, and the provider still knows no address of it
	}
	return truth
}

// contradicts reports whether the look found the instance in a state that the rung was not chosen for: it was stopped meanwhile, and
// the listings do not say so yet. What it means, and what to do then, is for the next verdict.
func (w *Work) contradicts(r fleet.Repair, l fleet.Look) bool {
	cause, stopped := health.PowerCause(l.Seen.Instance)
	cause = w.M.Blame(cause)
	if !stopped || r.OffOrders > 0 || r.Target.Expired {
		return false // or it is our own doing, or a build that is to go in any case
	}
	return guard.LeftAlone(cause, &w.Situation.Spec) && !w.ordered() || (r.Step == fleet.StepReboot || r.Step == fleet.StepRun) && off(cause) ||
		r.Step != fleet.StepResume && cause.Halted()
}

// off reports whether the cause is that the instance is powered off, whoever or whatever did it.
func off(c fleet.Cause) bool {
	return c == fleet.CauseOff || c == fleet.CauseStopped || c == fleet.CauseShutdown || c == fleet.CauseCrashed
}

// neverAddressed reports whether the look says nothing for the one reason that is the build's own: no address. Whatever
// else keeps us from seeing is our own trouble (L4).
func neverAddressed(l fleet.Look) bool {
	for _, c := range l.Checks {
		if c.Result != fleet.ResultNoAddress {
			return false
		}
	}
	return len(l.Checks) > 0
}

// isRemnant reports whether the instance is what an own, unfinished build left behind (L2).
func (w *Work) isRemnant(i fleet.Instance) bool {
	return IsRemnant(*w.M, i, w.Installation)
}

// IsStray reports whether the instance bears the machine's mark and should not be there: it is neither current, nor being built or
// replaced, nor put aside; or it was, and runs all the same.
func IsStray(m *fleet.Machine, i *fleet.Instance, ours fleet.Installation) bool {
	if i.Mark.Machine != m.Name || i.Mark.Installation != ours || i.Power == fleet.PowerGone || i.ID == m.Current.ID {
		return false
	}
	if m.KeptAt(i.ID) >= 0 {
		return i.Mark.Kept && (i.Power == fleet.PowerRunning || i.Power == fleet.PowerPaused)
	}
	return m.Repair == nil || (i.ID != m.Repair.Next.ID && (i.ID != m.Repair.Target.ID || m.Repair.Aside()))
}

// IsRemnant reports whether the instance is provably what an unfinished build of this machine by this installation left
// behind: our mark, never certified, of a generation that was allotted and is neither current nor being built.
func IsRemnant(m fleet.Machine, i fleet.Instance, ours fleet.Installation) bool {
	k := i.Mark
	whole := k.Certified && !mayGo(&m, i)
	return k.Installation == ours && ours != "" && k.Machine == m.Name && !whole && !k.Kept &&
		k.Generation <= m.Generation && i.ID != m.Current.ID && (m.Repair == nil || i.ID != m.Repair.Next.ID)
}

// mayGo reports whether the instance was left behind, and may go now that its host is back: nobody who runs is turned off for that, but what could not
// write all the time.
func mayGo(m *fleet.Machine, i fleet.Instance) bool {
	at := m.LeftAt(i.ID)
	return at >= 0 && (i.Power == fleet.PowerOff || m.Left[at].Cut() && i.Host == m.Left[at].Host)
}

// verify waits for health after a step.
func (w *Work) verify(r *fleet.Repair) {
	if w.leftAlone() {
		return
	}
	h := w.M.Health
	switch {
	case h.Verdict == fleet.VerdictHealthy:
		step := r.Step
		if r.Kind == fleet.RepairUndo {
			step = "" // it is none of the ladder's
		}
		w.Record(fleet.Record{Kind: fleet.RecordVerified, Verdict: h.Verdict, Step: step, Instance: w.M.Current.ID,
			Took: w.now().Sub(r.Since), Address: w.M.Address})
		if w.M.Current.Certified {
			w.finish()
			return
		}
		w.enter(fleet.PhaseCertify)
	case h.Cause.Stopped() && w.freshlySeen(r) && r.Step != fleet.StepPage: // a person takes their time
		w.failRung(fleet.ReasonNotVerified, string(h.Cause))
	case guard.Sightless(w.Situation): // nobody could see it healthy
		w.wait(w.Situation.Whole.Doubt.Reason)
	case w.Situation.Now.Due(r.Deadline) && r.Kind == fleet.RepairHeal && w.unproven():
		w.yield(r, fleet.ReasonUnproven) // a further step would be taken for that check alone
	case w.Situation.Now.Due(r.Deadline):
		w.failRung(fleet.ReasonNotVerified, string(h.Verdict))
	}
}

// unproven reports whether all that keeps the machine from being healthy is a check that never succeeded as it is.
func (w *Work) unproven() bool { return health.OnlyUnproven(&w.M.Health, w.View.Checks) }

func (w *Work) freshlySeen(r *fleet.Repair) bool {
	return w.View.Sighting(w.M.Current.ID).Asked > r.LastOutcome
}

func (w *Work) certify(r *fleet.Repair) {
	switch {
	case w.M.Current.Certified:
		w.finish()
	case w.M.Health.Verdict != fleet.VerdictHealthy:
		w.enter(fleet.PhaseVerify)
	default:
		w.call(r, fleet.OpCertify, w.M.Current)
	}
}

// finish ends the repair, and its incident, in health.
func (w *Work) finish() {
	m := w.M
	reason := fleet.ReasonHealed
	if m.Repair.Kind == fleet.RepairUndo {
		reason = fleet.ReasonUndone
	}
	if m.Repair.Kind == fleet.RepairBuild {
		reason = fleet.ReasonBuilt
		m.Attempts = nil // a build that succeeded is no sign of trouble
	}
	if m.Repair.Kind == fleet.RepairUpdate {
		reason = fleet.ReasonUpdated
		m.Attempts = nil
	}
	rec := fleet.Record{Kind: fleet.RecordIncidentClosed, Reason: fleet.ReasonHealed}
	if m.Incident != nil {
		rec.Incident, rec.Took = m.Incident.ID, w.Situation.Now.Wall.Sub(m.Incident.Opened)
		rec.Cause, rec.Paged = m.Incident.Cause, m.Incident.Known()
	}
	w.end(reason)
	if m.Incident != nil {
		w.Record(rec)
	}
	m.IncidentOver()
}

// end closes the repair's book. The incident stays.
func (w *Work) end(reason fleet.Reason) {
	w.Record(fleet.Record{Kind: fleet.RecordRepairEnded, Reason: reason, Instance: w.M.Current.ID,
		Generation: w.M.Current.Generation, Took: w.Situation.Now.Wall.Sub(w.M.Repair.Started)})
	switch r := w.M.Repair; {
	case r.Kind == fleet.RepairHeal && w.M.Wanted != nil && w.M.Wanted.Undo: // that is still to be done
	case r.Kind == fleet.RepairHeal:
		w.M.Wanted = nil // what was wanted was done, or tried
	case r.Wanted():
		w.M.Change = &fleet.Change{Order: r.Order, Ended: reason}
	}
	if w.M.Repair.Gather != "" && w.M.Incident != nil {
		w.M.Incident.Evidence = "" // nobody waited for it, so the next repair asks again
	}
	w.takeBack(w.M.Repair)
	w.M.Repair = nil
}

// failRung goes on to the next rung, or gives the attempt up.
func (w *Work) failRung(reason fleet.Reason, detail string) {
	r := w.M.Repair
	w.Record(fleet.Record{Kind: fleet.RecordStepFailed, Reason: reason, Step: r.Step, Detail: detail, Instance: w.M.Current.ID})
	if !w.M.Current.None() && !w.M.Current.Certified {
		w.M.Current.Expired = true
	}
	if r.Kind == fleet.RepairUndo { // what to do now is for the person who wanted it
		w.quarantine(reason, detail)
		return
	}
	_, more := w.Situation.Spec.Repair.Step(r.Rung + 1)
	if r.Kind != fleet.RepairHeal || r.Step == fleet.StepRecreate && (r.Rung == fleet.NoRung || !more) {
		w.failAttempt(reason, detail) // the last thing there is to try
		return
	}
	w.chooseRung(r.Rung + 1)
}

// failAttempt ends the repair without health: again after a while, or quarantine when the attempts are used up.
func (w *Work) failAttempt(reason fleet.Reason, detail string) {
	m, policy := w.M, w.Situation.Spec.Repair
	kind, target := m.Repair.Kind, m.Repair.Target.ID
	w.end(reason)
	if kind == fleet.RepairUpdate && !m.Current.None() {
		w.quarantine(fleet.ReasonCanaryFailed, string(reason)) // it shows what is wrong with the template
		return
	}
	if kind == fleet.RepairRemnant {
		w.putAside(target, reason)
		return
	}
	if m.Incident == nil {
		w.OpenIncident(fleet.CauseBuild)
	}
	if kind == fleet.RepairUpdate {
		w.Page(fleet.ReasonUpdateStopped) // there is not even a sick instance to look at: it is healed as any other
	}
	if guard.Spent(m, w.Situation) && guard.Parent(m, w.Situation) == nil {
		w.quarantine(fleet.ReasonAttempts, string(reason))
		return
	}
	m.Incident.Failed++
	m.Incident.Last = fleet.Failure{Why: reason, Detail: detail}
	m.RetryAt = w.now().Add(Backoff(policy.Backoff, m.Incident.Failed))
	w.wait(fleet.ReasonBackoff)
}

// putAside leaves a remnant that would not go for later, and tells a person once.
func (w *Work) putAside(id fleet.InstanceID, reason fleet.Reason) {
	w.putOff(id, reason)
	for i := range w.M.Strays {
		s := &w.M.Strays[i]
		if s.ID != id {
			continue
		}
		s.RetryAt = w.now().Add(longestBackoff)
		if !s.Paged {
			s.Paged = true
			w.Record(fleet.Record{Kind: fleet.RecordPaged, Reason: reason, Instance: id, Host: s.Host})
		}
	}
}

// Abandon ends the removal of a remnant in favour of something more urgent. It is found again.
func (w *Work) Abandon() { w.end(fleet.ReasonPutOff) }

// Overrule ends whatever is under way in favour of a person's order. No call is.
func (w *Work) Overrule() { w.end(fleet.ReasonOverruled) }

// Backoff returns the wait before the next attempt after n failed ones: it doubles each time, up to half an hour.
func Backoff(first time.Duration, n int) time.Duration {
	d := first
	for ; n > 1 && d < longestBackoff; n-- {
		d *= 2
	}
	return min(d, longestBackoff)
}

// LeaveToPerson puts a machine into quarantine for which no further repair may begin.
func (w *Work) LeaveToPerson(reason fleet.Reason) { w.quarantine(reason, "") }

// quarantine gives the machine to a person.
func (w *Work) quarantine(reason fleet.Reason, detail string) {
	m := w.M
	if m.Repair != nil {
		w.end(reason)
	}
	if m.Incident == nil {
		w.OpenIncident(fleet.CauseBuild)
	}
	m.Quarantine = &fleet.Quarantine{Since: w.Situation.Now.Wall, Reason: reason, Spared: w.spared()}
	m.RetryAt = 0
	w.Record(fleet.Record{Kind: fleet.RecordQuarantined, Reason: reason, Detail: detail, Instance: m.Current.ID})
	if told := m.Incident.For; told == fleet.ReasonHostFenced || told == fleet.ReasonHostCut ||
		told == fleet.ReasonBlind {
		m.Incident.Paged = false // that was about the host, or that nothing was known, while hale went on by itself
	}
	w.Page(reason)
	m.Waiting = fleet.ReasonQuarantined
}

// OpenIncident opens the machine's incident. There is none.
func (w *Work) OpenIncident(cause fleet.Cause) {
	m := w.M
	m.Incidents++
	m.Incident = &fleet.Incident{
		ID: string(m.Name) + "/" + strconv.FormatUint(m.Incidents, 10), Cause: cause, Opened: w.Situation.Now.Wall,
	}
	w.Record(fleet.Record{Kind: fleet.RecordIncidentOpen, Cause: cause, Check: m.Health.Check, Result: m.Health.Result,
		Instance: m.Current.ID, Generation: m.Current.Generation})
}

// Page tells a person, once per incident.
func (w *Work) Page(reason fleet.Reason) {
	if w.M.Incident == nil || w.M.Incident.Paged {
		return
	}
	w.M.Incident.Paged, w.M.Incident.Told, w.M.Incident.For = true, w.Situation.Now.Wall, reason
	w.Record(fleet.Record{Kind: fleet.RecordPaged, Reason: reason, Cause: w.M.Incident.Cause, Instance: w.M.Current.ID})
}

// enter starts a phase of the current rung.
func (w *Work) enter(p fleet.Phase) {
	r := w.M.Repair
	r.Phase, r.Since, r.RetryAt, r.AskAt, r.Retries = p, w.now(), 0, 0, 0
	if p == fleet.PhaseVerify {
		r.Deadline = w.now().Add(fleet.VerifyTime(w.Situation.Spec, *r))
		if r.Step != fleet.StepPage { // to tell a person is no start
			w.M.Health.Grace = r.Deadline
		}
	}
}

// retry sends the same thing again later, since nothing was done.
func (w *Work) retry(r *fleet.Repair) { r.RetryAt = w.now().Add(w.patience(r)) }

// patience returns the wait before the next try; it doubles, and a person is told when it was in vain too often.
func (w *Work) patience(r *fleet.Repair) time.Duration {
	d := min(Backoff(firstRetry, r.Retries+1), longestRetry)
	r.Retries++
	if r.Retries < pageAfter {
		return d
	}
	switch {
	case r.Kind == fleet.RepairRemnant:
		w.putAside(r.Target.ID, fleet.ReasonCallFailed)
	case w.wantedIn() && r.Intent == nil:
		return d // it will be given up
	case w.M.Incident == nil:
		w.OpenIncident(fleet.CauseBuild)
	}
	w.Page(fleet.ReasonCallFailed)
	return d
}

// wait records once why nothing is done.
func (w *Work) wait(reason fleet.Reason) { w.Wait(reason, "") }

// Wait records once why nothing is done, and which step would be.
func (w *Work) Wait(reason fleet.Reason, step fleet.StepKind) {
	if w.M.Waiting == reason {
		return
	}
	w.M.Waiting = reason
	if reason == "" {
		return
	}
	t := w.Situation.Tally
	rec := fleet.Record{Kind: fleet.RecordHeld, Reason: reason, Cause: w.M.Health.Cause, Step: step, Instance: w.M.Current.ID,
		Failing: t.Failing, Size: t.Size, Limit: guard.BrakeLimit(w.Situation.Spec.Limits.Brake, t.Size)}
	if p := guard.Parent(w.M, w.Situation); p != nil && reason == fleet.ReasonSharedFate {
		rec.Domain, rec.Failing, rec.Size, rec.Limit = p.Domain, p.Failing, p.Members, 0
	}
	if full := guard.SharedBudget(w.M, w.Situation); full != nil && reason == fleet.ReasonBudget {
		rec.Scope, rec.Detail, rec.Failing, rec.Limit = full.Limit.Scope, full.Name, full.Taken, full.Limit.InRepair
	}
	if b := w.Situation.Brake; b.By != "" && reason == fleet.ReasonBrake {
		rec.By, rec.Detail = b.By, b.Words
	}
	if h, some := guard.Unasked(w.M, w.Situation); some && reason == fleet.ReasonHostUnasked {
		rec.Host = h
	}
	w.Record(rec)
}

func (w *Work) now() fleet.Instant { return w.Situation.Now.Mono }

// Record adds a record about the machine.
func (w *Work) Record(rec fleet.Record) {
	m := w.M
	rec.At, rec.Fleet, rec.Machine, rec.Alias = w.Situation.Now.Wall, w.Situation.Spec.Name, m.Name, m.Alias
	rec.Provider = w.Situation.Spec.Provider
	if rec.Order == "" {
		rec.Order = w.Order
	}
	if m.Repair != nil {
		rec.Repair = m.Repair.ID
		if rec.Step == "" && !m.Repair.Aside() && m.Repair.Kind != fleet.RepairRemove && m.Repair.Kind != fleet.RepairUndo {
			rec.Step = m.Repair.Step
		}
	}
	if m.Incident != nil && rec.Incident == "" {
		rec.Incident = m.Incident.ID
	}
	if m.Incident != nil && rec.Parent == "" {
		rec.Parent = m.Incident.Parent
	}
	w.Records = append(w.Records, rec)
}

// mark is what the instance must bear: of an adopted one, nothing.
func (w *Work) mark(i fleet.Incarnation) fleet.Mark {
	if i.Adopted {
		return fleet.Mark{}
	}
	return fleet.Mark{Installation: w.Installation, Fleet: w.Situation.Spec.Name, Machine: w.M.Name,
		Generation: i.Generation, Certified: i.Certified}
}
