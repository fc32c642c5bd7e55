package repair

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"hale/internal/fleet"
	"hale/internal/guard"
)

// call stores an intent and asks for the call to be sent.
func (w *Work) call(r *fleet.Repair, op fleet.Op, on fleet.Incarnation) {
	r.Calls++
	step := fleet.CurrentStep(w.Situation.Spec, *r)
	r.Intent = &fleet.Intent{
		ID: r.ID + "/call" + strconv.Itoa(r.Calls), Op: op, Instance: on.ID, Generation: on.Generation, Host: on.Host, Edition: on.Edition,
		Limit: step.Timeout, At: w.Situation.Now.Wall, Repeatable: op == fleet.OpRun && step.Run.Idempotent || op == fleet.OpSnapshot || op == fleet.OpDropSnapshot,
		Snapshot: copyOf(w.M, r, op),
	}
	w.M.Waiting = ""
	if on.ID == w.M.Current.ID && (op == fleet.OpPowerOff || op == fleet.OpReboot || op == fleet.OpRebuild) {
		w.M.Current.PoweredOff = true // also when the answer is lost
	}
	w.Record(fleet.Record{Kind: fleet.RecordIntent, Op: op, Instance: on.ID, Generation: on.Generation, Host: on.Host})
	a := fleet.Action{
		Kind: fleet.ActionCall, Machine: w.M.Name, Instance: on.ID, Host: on.Host, Mark: w.mark(on), Adopted: on.Adopted, Intent: *r.Intent,
		Excused: guard.Excused(w.M, w.Situation),
		ForGood: op == fleet.OpDelete && r.Kind == fleet.RepairRemove,
	}
	if op == fleet.OpCreate {
		a.Made = w.made()
	}
	if r.Intent.Snapshot != "" {
		a.Snapshot = fleet.SnapshotName{Installation: w.Installation, Machine: w.M.Name, Host: on.Host, ID: r.Intent.Snapshot}
	}
	if op == fleet.OpRun {
		a.Args, a.Env = step.Run.Fill(factsOf(w.M, w.View, on).Filler())
	}
	w.Actions = append(w.Actions, a)
}

// mayCall reports whether the provider may be called at all, and says why not. Guards of new rungs come on top of it.
func (w *Work) mayCall() bool {
	held := guard.AnyCall(w.Situation)
	if held != "" {
		w.wait(held)
	}
	return held == ""
}

// mayAct reports whether something may be done to the machine's instance, and says why not. What is on two hosts is asked about, and nothing more.
func (w *Work) mayAct() bool {
	if !w.mayCall() {
		return false
	}
	held := guard.Untouchable(w.M, w.Situation)
	if held != "" {
		w.wait(held)
	}
	return held == ""
}

// observe asks the provider for one instance. Unanswered, it is asked again after a while; a wanted change that only asks in vain is given up.
func (w *Work) observe(r *fleet.Repair, id fleet.InstanceID, host fleet.HostName) {
	if r.AskAt != 0 && !w.Situation.Now.Due(r.AskAt) {
		return
	}
	if r.Intent == nil && r.Retries >= pageAfter && w.wantedIn() {
		w.giveUpChange(fleet.ReasonCallFailed, "asked in vain")
		return
	}
	r.AskAt = w.now().Add(w.patience(r))
	w.Actions = append(w.Actions, fleet.Action{Kind: fleet.ActionObserve, Machine: w.M.Name, Instance: id, Host: host})
}

// seenSince returns what the provider said of the instance after the last call ended. As long as it said nothing, it is asked.
func (w *Work) seenSince(r *fleet.Repair, id fleet.InstanceID, host fleet.HostName) (i fleet.Instance, known bool) {
	seen := w.View.Sighting(id)
	if !seen.Known() || seen.Asked <= r.LastOutcome {
		w.observe(r, id, host)
		return fleet.Instance{}, false
	}
	return seen.Instance, true
}

// settleIntent deals with the call under way: its outcome arrived, or is unknown and must be observed.
func (w *Work) settleIntent(r *fleet.Repair) {
	in := *r.Intent
	o := w.View.Outcome
	if o != nil && o.Intent == in.ID && !in.Unknown {
		w.Record(fleet.Record{Kind: fleet.RecordOutcome, Op: in.Op, Outcome: o.Kind, Detail: o.Detail, Instance: in.Instance,
			Generation: in.Generation, Host: in.Host, Took: w.Situation.Now.Wall.Sub(in.At), Proof: o.Proof})
		w.recordOutput(in, o.Output)
		r.LastOutcome, r.RetryAt, r.AskAt = w.now(), 0, 0
		if o.Kind == fleet.OutcomeUnknown {
			marked := in
			marked.Unknown = true
			r.Intent = &marked
			if w.mayCall() {
				w.resolve(r, marked)
			}
			return
		}
		r.Intent = nil
		w.settle(r, in, *o)
		return
	}
	if in.Unknown && w.mayCall() {
		w.resolve(r, in)
	}
}

// outputPiece is how much of a command's output goes into one record, in bytes.
const outputPiece = 2 << 10

// recordOutput keeps what a command said, in pieces that end with a line where they can.
func (w *Work) recordOutput(in fleet.Intent, output string) {
	output = strings.TrimSpace(output)
	for output != "" {
		n := min(len(output), outputPiece)
		if n < len(output) {
			if line := strings.LastIndexByte(output[:n], '\n'); line > 0 {
				n = line
			}
			for n > 1 && !utf8.RuneStart(output[n]) {
				n--
			}
		}
		w.Record(fleet.Record{Kind: fleet.RecordOutput, Op: in.Op, Instance: in.Instance, Generation: in.Generation, Detail: output[:n]})
		output = strings.TrimLeft(output[n:], "\n")
	}
}

func (w *Work) settle(r *fleet.Repair, in fleet.Intent, o fleet.Outcome) {
	switch in.Op {
	case fleet.OpSnapshot:
		w.settleSnapshot(r, in, o)
		return
	case fleet.OpDropSnapshot:
		w.settleDrop(in, o)
		return
	case fleet.OpFence:
		w.settleFence(r, o)
		return
	default:
	}
	if in.Op == fleet.OpCreate && o.Kind != fleet.OutcomeDone {
		w.unbind()
	}
	switch o.Kind {
	case fleet.OutcomeDone:
		w.done(r, in)
	case fleet.OutcomeRetry, fleet.OutcomeNotSent:
		w.undone(r, in)
		w.retry(r)
		w.boundTries(r, in)
	case fleet.OutcomeRefused:
		w.refusedBy(in, o)
	case fleet.OutcomeNoSecret:
		w.giveUp(fleet.ReasonNoSecret, o.Detail)
	case fleet.OutcomeConflict:
		w.conflict(r, in, o)
	case fleet.OutcomeNotFound:
		w.notFound(r, in)
	case fleet.OutcomeUnsupported, fleet.OutcomeFailed:
		w.failed(r, in, o)
	case fleet.OutcomeUnknown: // resolved by observation
	}
}

// done is the one place where a call's effect enters the belief.
func (w *Work) done(r *fleet.Repair, in fleet.Intent) {
	m := w.M
	switch in.Op {
	case fleet.OpStart, fleet.OpResume, fleet.OpReboot, fleet.OpSoftReboot, fleet.OpRun, fleet.OpRebuild, fleet.OpEvacuate, fleet.OpMigrate, fleet.OpRescue:
		w.verifyFrom() // at the last known address, until the provider names another
	case fleet.OpCreate:
		m.Current, r.Next = r.Next, fleet.Incarnation{}
		w.stands()
		m.Address = w.View.Sighting(m.Current.ID).Instance.Address
		w.verifyFrom()
	case fleet.OpPowerOff: // the proof is a sighting of its own
	case fleet.OpDelete:
		w.removed(r)
	case fleet.OpKeep:
		w.setAside(r)
	case fleet.OpRestore:
		w.isBack(r)
	case fleet.OpCertify:
		m.Current.Certified, m.Current.Expired = true, false
		w.Record(fleet.Record{Kind: fleet.RecordCertified, Instance: m.Current.ID, Generation: m.Current.Generation})
	case fleet.OpSnapshot, fleet.OpDropSnapshot, fleet.OpFence: // see settle
	}
}

func (w *Work) verifyFrom() {
	w.M.Epoch++
	w.M.Acted = w.now()
	w.M.Health.Verdict, w.M.Health.Cause = fleet.VerdictStarting, fleet.CauseNone
	w.enter(fleet.PhaseVerify)
}

// undone: the call surely had no effect. What it rested on is old by now, so a disruptive one needs its look again.
func (w *Work) undone(r *fleet.Repair, in fleet.Intent) {
	switch in.Op {
	case fleet.OpReboot, fleet.OpSoftReboot, fleet.OpPowerOff, fleet.OpStart, fleet.OpResume, fleet.OpRun:
		if r.Next.None() {
			r.LookAgain()
		}
	case fleet.OpDelete, fleet.OpRebuild, fleet.OpKeep, fleet.OpEvacuate, fleet.OpMigrate, fleet.OpRescue:
		r.LookAgain()
	case fleet.OpCreate:
		r.Next = fleet.Incarnation{}
	case fleet.OpCertify, fleet.OpRestore, fleet.OpSnapshot, fleet.OpDropSnapshot, fleet.OpFence:
	}
}

// conflict: the provider's truth is not what the call took for granted.
func (w *Work) conflict(r *fleet.Repair, in fleet.Intent, o fleet.Outcome) {
	switch in.Op {
	case fleet.OpCreate:
		w.failAttempt(fleet.ReasonNameTaken, o.Detail)
	case fleet.OpStart, fleet.OpResume, fleet.OpReboot, fleet.OpSoftReboot, fleet.OpRun, fleet.OpEvacuate, fleet.OpMigrate, fleet.OpRescue:
		if r.Retries > 0 {
			w.failRung(fleet.ReasonCallFailed, o.Detail)
			return
		}
		r.LookAgain() // it changed while it was asked: another step may fit better now, also a gentler one
		w.retry(r)
	case fleet.OpDelete, fleet.OpRebuild, fleet.OpKeep:
		r.LookAgain() // it runs again, or is not ours
		w.retry(r)
		w.boundConflicts(r, in, o)
	case fleet.OpRestore:
		w.quarantine(fleet.ReasonNameTaken, o.Detail)
	case fleet.OpPowerOff:
		w.giveUp(fleet.ReasonMarkChanged, o.Detail)
	case fleet.OpCertify:
		w.giveUpCertifying(fleet.ReasonMarkChanged, o.Detail)
	case fleet.OpSnapshot, fleet.OpDropSnapshot, fleet.OpFence: // see settle
	}
}

func (w *Work) notFound(r *fleet.Repair, in fleet.Intent) {
	switch in.Op {
	case fleet.OpDelete, fleet.OpKeep:
		w.removed(r)
	case fleet.OpRestore:
		w.M.LetGo(r.Back.ID)
		w.quarantine(fleet.ReasonNoInstance, string(in.Op))
	case fleet.OpPowerOff: // the fence looks again and finds it gone
	case fleet.OpCertify:
		w.M.RetryAt = w.now().Add(w.Situation.Spec.Repair.Backoff)
		w.end(fleet.ReasonNoInstance) // what became of it is the provider's word to judge
	case fleet.OpStart, fleet.OpResume, fleet.OpReboot, fleet.OpSoftReboot, fleet.OpRun, fleet.OpRebuild, fleet.OpCreate, fleet.OpEvacuate, fleet.OpMigrate, fleet.OpRescue:
		w.failRung(fleet.ReasonNoInstance, string(in.Op))
	case fleet.OpSnapshot, fleet.OpDropSnapshot, fleet.OpFence: // see settle
	}
}

func (w *Work) failed(r *fleet.Repair, in fleet.Intent, o fleet.Outcome) {
	switch in.Op {
	case fleet.OpStart, fleet.OpResume, fleet.OpReboot, fleet.OpSoftReboot, fleet.OpRun, fleet.OpRebuild, fleet.OpEvacuate, fleet.OpMigrate, fleet.OpRescue:
		reason := fleet.ReasonCallFailed
		switch {
		case o.Kind == fleet.OutcomeUnsupported:
			reason = fleet.ReasonUnsupported
		case in.Op == fleet.OpRun:
			reason = fleet.ReasonRunFailed
		}
		w.failRung(reason, o.Detail)
	case fleet.OpPowerOff: // the fence counts its orders and gives up without proof
	case fleet.OpDelete:
		w.deleteFailed(r, o)
	case fleet.OpKeep:
		w.keepFailed(o.Detail)
	case fleet.OpRestore:
		w.quarantine(fleet.ReasonCallFailed, o.Detail)
	case fleet.OpCreate:
		w.failAttempt(fleet.ReasonCallFailed, o.Detail)
	case fleet.OpCertify:
		w.giveUpCertifying(fleet.ReasonCallFailed, o.Detail)
	case fleet.OpSnapshot, fleet.OpDropSnapshot, fleet.OpFence: // see settle
	}
}

// refusedBy: quota, permission or an invalid request. Trying again is of no use, a person must act.
func (w *Work) refusedBy(in fleet.Intent, o fleet.Outcome) {
	if in.Op == fleet.OpCertify {
		w.giveUpCertifying(fleet.ReasonRefusedBy, o.Detail)
		return
	}
	if in.Op == fleet.OpRun {
		w.giveUp(fleet.ReasonNoProgram, o.Detail)
		return
	}
	w.giveUp(fleet.ReasonRefusedBy, o.Detail)
}

// giveUp leaves the machine to a person; a remnant is only put aside.
func (w *Work) giveUp(reason fleet.Reason, detail string) {
	if w.M.Repair.Kind == fleet.RepairRemnant {
		w.failAttempt(reason, detail)
		return
	}
	if w.wantedIn() {
		w.giveUpChange(reason, detail)
		return
	}
	w.quarantine(reason, detail)
}

// giveUpCertifying: the machine is healthy, but its mark could not be written. It is tried again much later.
func (w *Work) giveUpCertifying(reason fleet.Reason, detail string) {
	w.Record(fleet.Record{Kind: fleet.RecordStepFailed, Reason: reason, Op: fleet.OpCertify, Detail: detail, Instance: w.M.Current.ID})
	w.end(reason)
	if w.M.Incident == nil {
		w.OpenIncident(fleet.CauseBuild)
	}
	w.Page(reason)
	w.M.RetryAt = w.now().Add(longestBackoff)
}

// deleteFailed: the old instance is proven off but will not go. The policy says whether its successor may stand beside it.
func (w *Work) deleteFailed(r *fleet.Repair, o fleet.Outcome) {
	if r.Proof == fleet.ProofDeleted {
		w.removed(r) // there was nothing left but what it may have had around it
		return
	}
	if r.Kind == fleet.RepairRemnant {
		w.failAttempt(fleet.ReasonDeleteFailed, o.Detail)
		return
	}
	if w.wantedIn() {
		w.giveUpChange(fleet.ReasonDeleteFailed, o.Detail)
		return
	}
	step := fleet.CurrentStep(w.Situation.Spec, *r)
	if step.OnDeleteFailure == fleet.DeleteFailureContinue && w.M.Volumes == nil && r.Proof.Meets(w.Situation.Spec.Repair.Fence.Proof) {
		w.Record(fleet.Record{Kind: fleet.RecordStepFailed, Reason: fleet.ReasonDeleteFailed, Detail: o.Detail, Instance: r.Target.ID})
		w.removed(r)
		return
	}
	w.quarantine(fleet.ReasonDeleteFailed, o.Detail)
}

// resolve finds out by observation whether a call whose answer was lost took effect.
func (w *Work) resolve(r *fleet.Repair, in fleet.Intent) {
	if in.Op == fleet.OpReboot || in.Op == fleet.OpSoftReboot {
		// A reset cannot be observed; whether it happened or not, what counts is whether the machine becomes healthy.
		r.Intent = nil
		w.done(r, in)
		return
	}
	switch in.Op {
	case fleet.OpRun:
		w.resolveRun(r, in)
		return
	case fleet.OpEvacuate, fleet.OpMigrate:
		w.movedUnheard(r, in)
		return
	case fleet.OpSnapshot, fleet.OpDropSnapshot, fleet.OpFence: // the same order again finds out
		r.Intent = nil
		w.Record(fleet.Record{Kind: fleet.RecordOutcome, Op: in.Op, Outcome: fleet.OutcomeUnknown, Instance: in.Instance, Generation: in.Generation,
			Host: in.Host, Detail: "it can be ordered again"})
		w.settle(r, in, fleet.Outcome{Intent: in.ID, Kind: fleet.OutcomeUnknown})
		return
	default:
	}
	seen, known := w.seenSince(r, in.Instance, in.Host)
	if !known {
		return
	}
	r.Intent, r.AskAt = nil, 0
	power := seen.Power
	w.Record(fleet.Record{Kind: fleet.RecordOutcome, Op: in.Op, Outcome: fleet.OutcomeUnknown, Instance: in.Instance,
		Generation: in.Generation, Host: in.Host, Detail: "observed " + string(power)})
	switch {
	case tookEffect(in.Op, seen):
		w.done(r, in)
	case in.Op == fleet.OpCreate && power == fleet.PowerGone:
		w.lostOrder(r)
	case in.Op == fleet.OpCreate:
		w.halfMade(r)
	default:
		w.undone(r, in)
		w.retry(r)
		w.boundTries(r, in)
	}
}

// resolveRun: nobody can observe how far a command came whose hale died. It is run again if it was declared to bear that, and
// else a person must look (L12).
func (w *Work) resolveRun(r *fleet.Repair, in fleet.Intent) {
	r.Intent = nil
	if !in.Repeatable {
		w.giveUp(fleet.ReasonRunUnclear, "")
		return
	}
	w.Record(fleet.Record{Kind: fleet.RecordOutcome, Op: in.Op, Outcome: fleet.OutcomeUnknown, Instance: in.Instance, Generation: in.Generation,
		Host: in.Host, Detail: "it is declared idempotent"})
	w.undone(r, in)
	w.retry(r)
	w.boundTries(r, in)
}

// halfMade: an instance was ordered and exists, but does not run. Nobody knows how far it was made, so it is not started; it
// is an expired build of our own, to be removed and built anew.
func (w *Work) halfMade(r *fleet.Repair) {
	w.M.Current, r.Next = r.Next, fleet.Incarnation{}
	w.M.Address = w.View.Sighting(w.M.Current.ID).Instance.Address
	w.M.Current.Expired = true
	w.M.Epoch++
	r.Target, r.Removed, r.OffOrders, r.ClearedOrders = w.M.Current, false, 0, 0
	r.LookAgain()
}

// boundTries gives a step up that was tried in vain too often.
func (w *Work) boundTries(r *fleet.Repair, in fleet.Intent) {
	switch {
	case r.Retries < pageAfter:
	case w.wantedIn():
		w.giveUpChange(fleet.ReasonCallFailed, "tried in vain")
	case onTheSpot(in.Op), in.Op == fleet.OpRebuild:
		w.failRung(fleet.ReasonCallFailed, "tried in vain")
	}
}

// boundConflicts gives a change of the old instance up that the provider's truth stood against too often. What only failed for a while, as
// under a provider that throttles, is tried on: a person was told.
func (w *Work) boundConflicts(r *fleet.Repair, in fleet.Intent, o fleet.Outcome) {
	switch {
	case r.Retries < pageAfter:
	case in.Op == fleet.OpKeep:
		w.keepFailed(o.Detail)
	case in.Op == fleet.OpDelete:
		w.deleteFailed(r, o)
	default:
		w.boundTries(r, in)
	}
}

// lostOrder: an instance was ordered, the answer was lost, and it is not there. It may yet appear. The next one gets
// another id on the same host, where the machine's name guards the place; and what was removed is proven off once more.
func (w *Work) lostOrder(r *fleet.Repair) {
	w.M.Anchor = &fleet.Anchor{Host: r.Next.Host, Until: w.now().Add(w.Situation.Spec.BuildLimit())}
	r.Next = fleet.Incarnation{}
	r.LastOutcome = w.now()
	if !r.Target.None() && !r.Proof.Meets(fleet.ProofDeleted) {
		r.Proof = fleet.ProofNone
	}
}

func tookEffect(op fleet.Op, i fleet.Instance) bool {
	switch op {
	case fleet.OpCreate, fleet.OpStart, fleet.OpResume, fleet.OpRebuild:
		return i.Power == fleet.PowerRunning
	case fleet.OpRescue:
		return i.Power == fleet.PowerPaused && i.Stop == fleet.StopRescue
	case fleet.OpPowerOff:
		return i.Power == fleet.PowerOff || i.Power == fleet.PowerGone
	case fleet.OpDelete:
		return i.Power == fleet.PowerGone
	case fleet.OpCertify:
		return i.Mark.Certified
	case fleet.OpKeep:
		return i.Mark.Kept
	case fleet.OpRestore:
		return !i.Mark.Kept && i.Power == fleet.PowerOff
	case fleet.OpReboot, fleet.OpSoftReboot, fleet.OpRun, fleet.OpSnapshot, fleet.OpDropSnapshot, fleet.OpFence, fleet.OpEvacuate, fleet.OpMigrate:
	}
	return false
}

// onTheSpot reports whether the operation is the whole of its step and leaves the instance in place.
func onTheSpot(op fleet.Op) bool {
	switch op {
	case fleet.OpStart, fleet.OpResume, fleet.OpReboot, fleet.OpSoftReboot, fleet.OpRun, fleet.OpEvacuate, fleet.OpMigrate, fleet.OpRescue:
		return true
	case fleet.OpCreate, fleet.OpPowerOff, fleet.OpDelete, fleet.OpCertify, fleet.OpRebuild, fleet.OpKeep, fleet.OpRestore,
		fleet.OpSnapshot, fleet.OpDropSnapshot, fleet.OpFence:
	}
	return false
}
