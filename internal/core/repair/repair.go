// Package repair walks the ladder: it chooses the rung that fits the cause, asks for the look before anything
// disruptive, fences, replaces, verifies, certifies, and gives up in an orderly way.
//
// It promises that each call that cannot be undone is returned as an intent to be stored first, that a call of unknown
// outcome is observed before anything else, and that a repair ends healed, recovered, in quarantine, or held with a
// reason (L8). It performs nothing itself.
package repair

import (
	"cmp"
	"strconv"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ladder"
	"hale/internal/core/placement"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/wanted"
)

// Limits of patience within one repair.
const (
	maxOffCalls  = 3                      // calls to power off before "no proof"
	pageAfter    = 10                     // fruitless calls before a person is told
	firstRetry   = 500 * time.Millisecond // after a call that did nothing; doubles
	longestRetry = 30 * time.Second
	mostPasses   = 100 // at once; the longest way through a ladder takes a dozen
)

// Work is one machine's repair in one round.
type Work struct{ chart.Chart }

// open numbers the work and puts it on the machine. Until it climbs the ladder it is on no rung.
func (w *Work) open(r belief.Repair, at belief.Aim) *belief.Repair {
	m := w.M
	m.Repairs++
	r.ID, r.Started = string(m.Name)+"/r"+strconv.FormatUint(m.Repairs, 10), w.Situation.Now.Wall
	r.Climb = belief.Climb{Rung: belief.NoRung, Step: fleet.StepRecreate, Aim: at}
	m.Repair = &r
	return m.Repair
}

// Begin opens a repair of the kind. The guard has admitted it.
func (w *Work) Begin(kind belief.RepairKind) {
	m := w.M
	m.Waiting, m.RetryAt = "", 0
	first, _ := ladder.FirstStep(m, w.Situation)
	w.open(belief.Repair{Kind: kind, Revives: kind == belief.RepairHeal && guard.Revives(m, w.Situation, first)},
		belief.Aim{})
	if kind != belief.RepairRemnant {
		m.Attempts = append(guard.Recent(m, w.Situation), w.Now())
	}
	why := fleet.Reason(kind)
	if kind == belief.RepairRemnant && m.LeftAt(m.Strays[0].ID) >= 0 {
		why = fleet.ReasonHostBack
	}
	rec := record.Record{Kind: record.RepairStarted, Reason: why, Cause: m.Health.Cause}
	if kind == belief.RepairHeal && guard.OnlyItsCounters(m, w.Situation) {
		rec.Detail = string(fleet.ReasonStandsStill)
	}
	w.Record(rec)
	switch kind {
	case belief.RepairHeal:
		w.chooseRung(0)
	case belief.RepairBuild:
		w.enter(belief.PhaseAct)
	case belief.RepairRemnant:
		s := m.Strays[0] // the caller put it there
		seen := w.View.Sighting(s.ID).Instance
		m.Repair.Aim = belief.AimAt(belief.Incarnation{ID: s.ID, Host: s.Host, Generation: seen.Mark.Generation,
			Expired: true})
		w.enter(belief.PhaseLook)
	case belief.RepairRemove, belief.RepairUpdate, belief.RepairUndo, belief.RepairTidy, belief.RepairReplace,
		belief.RepairOperate:
		// BeginChange, BeginUndo, BeginDrop and BeginChore open them
	}
	w.Advance()
}

// BeginCertify opens the short work that certifies an instance after a build that took longer than it was given.
func (w *Work) BeginCertify() {
	w.M.Quarantine = nil // it became healthy by itself
	w.open(belief.Repair{Kind: belief.RepairBuild}, belief.Aim{})
	w.Record(record.Record{Kind: record.RepairStarted, Reason: fleet.Reason(belief.RepairBuild)})
	w.enter(belief.PhaseCertify)
	w.Advance()
}

// onward says what comes after a pass.
type onward int

const (
	waits onward = iota // for news, or until a time: there is no more to do
	again               // another pass goes on from where it stands now
	over                // the repair has ended
)

// Advance takes the repair as far as it gets without new evidence. Passes without an end are a defect: it panics, and
// decide holds the machine.
func (w *Work) Advance() {
	if w.M.Repair == nil {
		return // given to a person before it went anywhere
	}
	for left := mostPasses; w.pass(w.M.Repair) == again; left-- {
		if left == 0 {
			panic("the passes of a repair go round in circles")
		}
	}
}

func (w *Work) pass(r *belief.Repair) onward {
	switch reason := w.forbidden(r); {
	case reason != "" && r.Wanted():
		return w.giveUpChange(reason, "")
	case reason != "": // what it leaves is judged anew: a gentler step may fit, or a person is told
		return w.yield(r, reason)
	case r.Intent != nil:
		return w.settleIntent(r)
	case r.RetryAt != 0 && !w.Situation.Now.Due(r.RetryAt):
		return waits
	case w.outgrown(r):
		return w.chooseRung(0)
	case !w.placed(r):
		return waits
	}
	switch r.Phase {
	case belief.PhaseLook:
		return looking{w, r}.look()
	case belief.PhaseVerify:
		return verifying{w, r}.verify()
	case belief.PhaseLeave, belief.PhaseAct, belief.PhaseProvision, belief.PhaseCertify, belief.PhaseAfter:
	}
	if !w.mayAct() {
		return waits
	}
	return w.goOn(r)
}

// goOn takes the repair on in a phase in which something is done.
func (w *Work) goOn(r *belief.Repair) onward {
	switch r.Phase {
	case belief.PhaseLeave:
		return errands{w, r}.leave()
	case belief.PhaseProvision:
		return errands{w, r}.provision()
	case belief.PhaseAfter:
		return errands{w, r}.after()
	case belief.PhaseCertify:
		return verifying{w, r}.certify()
	case belief.PhaseLook, belief.PhaseAct, belief.PhaseVerify:
	}
	if why := w.spoilt(r); why != "" {
		return w.giveUpChange(why, "")
	}
	if w.mayChange(r) && w.rolled(r) {
		return w.act(r)
	}
	return waits
}

// outgrown reports whether the rung was to set the machine going, which runs by now, and fails all the same.
func (w *Work) outgrown(r *belief.Repair) bool {
	return r.Revives && r.Phase == belief.PhaseLook && r.Step.Revives() && !w.M.Health.Cause.Stopped() &&
		w.M.Health.Verdict == belief.VerdictUnhealthy
}

// placed reports whether the repair has the place that its rung needs. One that began by setting the machine going
// takes a place in the budgets when it goes on to more than that.
func (w *Work) placed(r *belief.Repair) bool {
	switch {
	case !r.Revives, !before(r), ladder.IsToPerson(r.Step),
		r.Step.Revives() && w.M.Health.Cause.Stopped():
		return true
	}
	held := guard.AnyStep(w.M, w.Situation)
	if held != "" && r.Phase == belief.PhaseLook {
		return true // it waits there, or makes room
	}
	if held == "" {
		held = guard.Place(w.M, w.Situation)
	}
	if held != "" {
		w.wait(held)
		return false
	}
	r.Revives = false
	return true
}

// before reports whether the rung has yet to do what it is for.
func before(r *belief.Repair) bool {
	return r.Phase == belief.PhaseLook || r.Phase == belief.PhaseLeave || r.Phase == belief.PhaseAct
}

// rolled reports whether the rung may build or destroy, if it does, and says why not.
func (w *Work) rolled(r *belief.Repair) bool {
	held := w.Unrolled(r)
	if held != "" {
		w.wait(held)
	}
	return held == ""
}

// leftAlone ends the repair when a person stopped or paused the machine meanwhile and the policy respects that (L10).
func (w *Work) leftAlone() bool {
	m := w.M
	if w.rescued() {
		return true
	}
	if !w.minds(m.Health.Cause) {
		return false
	}
	w.Uncount()
	w.end(fleet.ReasonStoppedByPerson)
	return true
}

// minds reports whether the repair minds the cause, as a person's doing that the policy leaves alone.
func (w *Work) minds(c belief.Cause) bool {
	r := w.M.Repair
	return r.Kind == belief.RepairHeal && !r.Target.Expired && !w.TurnedOff() && !w.Ordered() &&
		guard.LeftAlone(c, &w.Situation.Spec)
}

// yield ends a repair that a parent incident, a person, the time of day or a lost host holds: waiting would keep its
// place from others. If it tried something in vain, the next try waits, ever longer.
func (w *Work) yield(r *belief.Repair, reason fleet.Reason) onward {
	m := w.M
	tried := r.Calls > 0
	w.end(reason)
	if tried {
		m.RetryAt = w.Now().Add(w.SetBack(belief.Failure{Why: reason}))
	} else {
		w.Uncount()
	}
	w.wait(reason)
	return over
}

// end closes the repair's book. The incident stays.
func (w *Work) end(reason fleet.Reason) onward {
	w.Record(record.Record{Kind: record.RepairEnded, Reason: reason, Instance: w.M.Current.ID,
		Generation: w.M.Current.Generation, Took: w.Situation.Now.Wall.Sub(w.M.Repair.Started)})
	switch r := w.M.Repair; {
	case r.Kind == belief.RepairHeal && w.M.Wanted != nil && w.M.Wanted.Undo: // that is still to be done
	case r.Kind == belief.RepairHeal:
		w.M.Wanted = nil // what was wanted was done, or tried
	case r.Kind.Chore(): // the ledger does not wait for it
	case r.Wanted():
		w.M.Change = &belief.Change{Order: r.Order, Ended: reason}
	}
	if w.M.Repair.Gather != "" && w.M.Incident != nil {
		w.M.Incident.Evidence = "" // it was not waited for, so the next repair asks again
	}
	w.TakeBack(w.M.Repair)
	w.M.Repair = nil
	return over
}

// failRung goes on to the next rung, or gives the attempt up.
func (w *Work) failRung(reason fleet.Reason, detail string) onward {
	r := w.M.Repair
	if r.Kind == belief.RepairOperate { // the instance is what it was, and healed from here on if it fails
		return w.giveUpChange(reason, detail)
	}
	w.Record(record.Record{Kind: record.StepFailed, Reason: reason, Step: r.Step, Detail: detail,
		Instance: w.M.Current.ID})
	if !w.M.Current.None() && !w.M.Current.Certified {
		w.M.Current.Expired = true
	}
	if r.Kind == belief.RepairUndo { // what to do now is for the person who wanted it
		return w.quarantine(reason, detail)
	}
	_, more := w.Situation.Spec.Repair.Step(r.Rung + 1)
	if r.Kind != belief.RepairHeal || r.Step == fleet.StepRecreate && (r.Rung == belief.NoRung || !more) {
		return w.failAttempt(reason, detail) // the last thing there is to try
	}
	return w.chooseRung(r.Rung + 1)
}

// failAttempt ends the repair without health: again after a while, or quarantine when the attempts are used up.
func (w *Work) failAttempt(reason fleet.Reason, detail string) onward {
	m := w.M
	kind, target := m.Repair.Kind, m.Repair.Target.ID
	host, vain := placement.InVain(m, reason)
	w.end(reason)
	if kind == belief.RepairUpdate && !m.Current.None() {
		return w.quarantine(fleet.ReasonPilotFailed, string(reason)) // it shows what is wrong with the template
	}
	if kind == belief.RepairRemnant {
		w.PutOff(target, reason, w.Now().Add(policy.LongestBackoff))
		return over
	}
	if m.Incident == nil {
		w.OpenIncident(belief.CauseBuild)
	}
	if kind == belief.RepairUpdate {
		w.Page(fleet.ReasonUpdateStopped) // there is not even a sick instance to look at: it is healed as any other
	}
	if guard.Spent(m, w.Situation) && guard.Parent(m, w.Situation) == nil {
		return w.quarantine(fleet.ReasonAttempts, string(reason))
	}
	pause := w.SetBack(belief.Failure{Why: reason, Detail: detail})
	if vain && w.places().Spurn(host) {
		m.RetryAt = w.Now().Add(firstRetry)
		return over
	}
	m.RetryAt = w.Now().Add(pause)
	w.wait(fleet.ReasonBackoff)
	return over
}

// places are the hosts that the machine can be built on.
func (w *Work) places() placement.Choice {
	return placement.Of(w.M, &w.View.Machine, w.Situation, w.Load())
}

// homeless says why the successor of an instance that is still there would find no host: nothing is taken away before
// there is one, and no host is fenced for it. Where the provider chooses the hypervisor, whether one has room is not
// known beforehand.
func (w *Work) homeless(r *belief.Repair) fleet.Reason {
	builds := r.Kind == belief.RepairHeal && r.Step == fleet.StepRecreate || r.Kind.Replaces() && r.InPlace == nil
	gone := r.Removed || r.Proof == fleet.ProofDeleted || w.M.Health.Cause == belief.CauseGone
	if !builds || r.Target.None() || gone {
		return ""
	}
	places := w.places()
	if _, some := places.Host(r.ID); some {
		return ""
	}
	return places.Nowhere()
}

// Abandon ends the removal of a remnant in favour of something more urgent. It is found again.
func (w *Work) Abandon() { w.end(fleet.ReasonPutOff) }

// Overrule ends whatever is under way in favour of a person's order. No call is.
func (w *Work) Overrule() { w.end(fleet.ReasonOverruled) }

// LeaveToPerson puts a machine into quarantine for which no further repair may begin.
func (w *Work) LeaveToPerson(reason fleet.Reason) { w.quarantine(reason, "") }

// quarantine gives the machine to a person.
func (w *Work) quarantine(reason fleet.Reason, detail string) onward {
	m := w.M
	if m.Repair != nil {
		w.end(reason)
	}
	if m.Incident == nil {
		w.OpenIncident(belief.CauseBuild)
	}
	m.Quarantine = &belief.Quarantine{Since: w.Situation.Now.Wall, Reason: reason,
		Spared: ladder.Spared(m, w.Situation)}
	m.RetryAt = 0
	w.Record(record.Record{Kind: record.Quarantined, Reason: reason, Detail: detail, Instance: m.Current.ID,
		Tries: len(guard.Recent(m, w.Situation))})
	if m.Incident.ToldOfHost() || m.Incident.For == fleet.ReasonBlind {
		m.Incident.Paged = false // that nothing was known is another thing, too
	}
	w.Page(reason)
	m.Waiting = fleet.ReasonQuarantined
	return over
}

// wait records once why nothing is done.
func (w *Work) wait(reason fleet.Reason) onward {
	w.Wait(reason, "")
	return waits
}

// enter starts a phase of the current rung.
func (w *Work) enter(p belief.Phase) onward {
	r := w.M.Repair
	r.Stage = belief.Stage{Phase: p, Since: w.Now()}
	if p == belief.PhaseVerify {
		r.Deadline = w.Now().Add(belief.VerifyTime(w.Situation.Spec, *r))
		if r.Step != fleet.StepPage { // to tell a person is no start
			w.M.Health.Grace = r.Deadline
		}
	}
	return again
}

// retry sends the same thing again later, since nothing was done.
func (w *Work) retry(r *belief.Repair) { r.RetryAt = w.Now().Add(w.patience(r)) }

// patience returns the wait before the next try; it doubles, and a person is told when it was in vain too often.
func (w *Work) patience(r *belief.Repair) time.Duration {
	d := min(policy.Backoff(firstRetry, r.Retries+1), longestRetry)
	r.Retries++
	if r.Retries < pageAfter {
		return d
	}
	switch {
	case r.Kind == belief.RepairRemnant:
		w.PutOff(r.Target.ID, fleet.ReasonCallFailed, w.Now().Add(policy.LongestBackoff))
	case w.M.Repair.MayBeGivenUp():
		wanted.AwaitRest(&w.Chart, r)
		return d // it will be given up once it is known what became of its last call, unless it goes on
	case w.M.Incident == nil:
		w.OpenIncident(belief.CauseBuild)
	}
	w.Page(cmp.Or(w.M.Waiting, fleet.ReasonCallFailed))
	return d
}
