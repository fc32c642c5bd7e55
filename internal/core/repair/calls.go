package repair

import (
	"strconv"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ladder"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/core/wanted"
)

// call stores an intent and asks for the call to be sent.
func (w *Work) call(r *belief.Repair, op fleet.Op, on belief.Incarnation) onward {
	r.Calls++
	step := belief.CurrentStep(w.Situation.Spec, *r)
	r.Intent = &belief.Intent{
		ID: r.ID + "/call" + strconv.Itoa(r.Calls), Op: op, Instance: on.ID, Generation: on.Generation, Host: on.Host,
		Edition: on.Edition, Limit: step.Timeout, At: w.Situation.Now.Wall, Repeatable: repeatable(op, step),
		Snapshot: copyOf(w.M, r, op),
	}
	w.M.Waiting = ""
	if on.ID == w.M.Current.ID && (op == fleet.OpPowerOff || op == fleet.OpReboot || op == fleet.OpRebuild ||
		op == fleet.OpRevert) {
		w.M.Current.PoweredOff = true // also when the answer is lost; see withoutEffect
	}
	w.Record(record.Record{Kind: record.Intent, Op: op, Call: r.Intent.ID, Instance: on.ID,
		Generation: on.Generation, Host: on.Host})
	a := situation.Action{
		Kind: situation.ActionCall, Machine: w.M.Name, Instance: on.ID, Host: on.Host, Mark: w.Mark(on),
		Adopted: on.Adopted, Intent: *r.Intent,
		Excused: guard.Excused(w.M, w.Situation),
		ForGood: op == fleet.OpDelete && r.Kind == belief.RepairRemove,
	}
	if op == fleet.OpCreate {
		a.Made = w.Made()
	}
	if r.Intent.Snapshot != "" {
		a.Snapshot = fleet.SnapshotName{Installation: w.Installation, Machine: w.M.Name, Host: on.Host,
			ID: r.Intent.Snapshot}
	}
	if op == fleet.OpRun {
		a.Args, a.Env = step.Run.Fill(ladder.FactsOf(w.M, w.View, on).Filler())
	}
	w.Actions = append(w.Actions, a)
	return waits
}

// repeatable reports whether the call may be sent again though its answer was lost.
func repeatable(op fleet.Op, step policy.Step) bool {
	return op == fleet.OpRun && step.Run.Idempotent || op == fleet.OpSnapshot || op == fleet.OpDropSnapshot ||
		op == fleet.OpAdjust
}

// mayCall reports whether the provider may be called at all, and says why not. Guards of new rungs come on top of it.
func (w *Work) mayCall() bool {
	held := guard.AnyCall(w.Situation)
	if held != "" {
		w.wait(held)
	}
	return held == ""
}

// mayAct reports whether something may be done to the machine's instance, and says why not. What is on two hosts is
// asked about, and nothing more.
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

// observe asks the provider for one instance, again and again. A wanted change that only asks in vain is given up.
func (w *Work) observe(r *belief.Repair, id fleet.InstanceID, host fleet.HostName) onward {
	if r.AskAt != 0 && !w.Situation.Now.Due(r.AskAt) {
		return waits
	}
	if r.Intent == nil && r.Retries >= pageAfter && wanted.InVain(&w.Chart, r) {
		return w.giveUpChange(fleet.ReasonCallFailed, "asked in vain")
	}
	r.AskAt = w.Now().Add(w.patience(r))
	w.Actions = append(w.Actions, situation.Action{Kind: situation.ActionObserve, Machine: w.M.Name, Instance: id,
		Host: host})
	return waits
}

// settleIntent deals with the call under way: its outcome arrived, or is unknown and must be observed.
func (w *Work) settleIntent(r *belief.Repair) onward {
	in, o := *r.Intent, w.View.Outcome
	if o != nil && o.Intent == in.ID && !in.Unknown {
		w.Record(record.Record{Kind: record.Outcome, Op: in.Op, Call: in.ID, Outcome: o.Kind, Detail: o.Detail,
			Hook: in.Hook, Instance: in.Instance, Generation: in.Generation, Host: in.Host,
			Took:  w.Situation.Now.Wall.Sub(in.At),
			Proof: o.Proof})
		w.RecordOutput(in, o.Output)
		r.LastOutcome, r.RetryAt, r.AskAt = w.Now(), 0, 0
		if o.Kind != fleet.OutcomeUnknown {
			r.Intent = nil
			return w.settle(r, in, *o)
		}
		in.Unknown = true
		r.Intent = &in
	}
	if in.Unknown && w.mayCall() {
		return w.resolve(r, in)
	}
	return waits
}

func (w *Work) settle(r *belief.Repair, in belief.Intent, o fleet.Outcome) onward {
	w.WithoutEffect(r, in, o)
	if o.Kind == fleet.OutcomeLocked && r.Kind != belief.RepairTidy { // a copy is none of the instance's
		return exchange{w, r}.locked(in, o.Detail)
	}
	op := operationOf(in.Op)
	if apart, ok := op.(settler); ok {
		return apart.settle(w, r, in, o)
	}
	if in.Op == fleet.OpCreate && o.Kind != fleet.OutcomeDone {
		w.Unbind()
	}
	if r.Retries+1 >= pageAfter && wanted.IsLeft(r, o.Kind) {
		return exchange{w, r}.deleteFailed(o)
	}
	switch o.Kind {
	case fleet.OutcomeDone:
		return op.done(w, r)
	case fleet.OutcomeRetry, fleet.OutcomeNotSent:
		return w.repeat(r, in)
	case fleet.OutcomeRefused:
		return op.refused(w, o.Detail)
	case fleet.OutcomeNoSecret:
		return w.giveUp(fleet.ReasonNoSecret, o.Detail)
	case fleet.OutcomeConflict:
		return op.conflict(w, r, in, o)
	case fleet.OutcomeNotFound:
		return op.notFound(w, r, in)
	case fleet.OutcomeUnsupported, fleet.OutcomeFailed:
		return op.failed(w, r, o)
	case fleet.OutcomeUnknown, fleet.OutcomeLocked: // resolved by observation, and dealt with above
	}
	return again
}

// locked: its provider's people lock the instance. Nothing is built around it: it is tried until they unlock it.
func (x exchange) locked(in belief.Intent, detail string) onward {
	switch {
	case in.Op == fleet.OpCertify:
		return x.giveUpCertifying(fleet.ReasonLocked, detail)
	case x.r.Kind != belief.RepairHeal:
		return x.giveUp(fleet.ReasonLocked, detail)
	}
	return x.comeAgain(fleet.ReasonLocked, detail)
}

func (w *Work) verifyFrom() onward {
	w.M.Marked = nil // it was said of the machine as it was
	w.M.Epoch++
	w.M.Acted = w.Now()
	h := &w.M.Health
	h.Verdict, h.Cause, h.Since, h.SinceMono = belief.VerdictStarting, belief.CauseNone, w.Situation.Now.Wall, w.Now()
	return w.enter(belief.PhaseVerify)
}

// giveUp leaves the machine to a person; a remnant is only put aside.
func (w *Work) giveUp(reason fleet.Reason, detail string) onward {
	if w.M.Repair.Kind == belief.RepairRemnant {
		return w.failAttempt(reason, detail)
	}
	if w.M.Repair.MayBeGivenUp() {
		return w.giveUpChange(reason, detail)
	}
	return w.quarantine(reason, detail)
}

// giveUpCertifying: the machine is healthy, but its mark could not be written. It is tried again much later.
func (w *Work) giveUpCertifying(reason fleet.Reason, detail string) onward {
	w.Record(record.Record{Kind: record.StepFailed, Reason: reason, Op: fleet.OpCertify, Detail: detail,
		Instance: w.M.Current.ID})
	w.end(reason)
	if w.M.Incident == nil {
		w.OpenIncident(belief.CauseBuild)
	}
	w.Page(reason)
	w.M.RetryAt = w.Now().Add(policy.LongestBackoff)
	return over
}

// resolve finds out by observation whether a call without an answer took effect.
func (w *Work) resolve(r *belief.Repair, in belief.Intent) onward {
	op := operationOf(in.Op)
	r.OffAccepted = r.OffAccepted || in.Op == fleet.OpPowerOff
	if unseen, ok := op.(resolver); ok {
		return unseen.resolve(w, r, in)
	}
	seen, known := w.observed(r, in)
	switch {
	case !known:
		return w.observe(r, in.Instance, in.Host)
	case op.took(seen):
		return op.done(w, r)
	}
	return w.repeat(r, in)
}

// observed returns the instance as it was seen after a call without an answer; then the call is over.
func (w *Work) observed(r *belief.Repair, in belief.Intent) (fleet.Instance, bool) {
	seen, known := w.SeenSince(r, in.Instance)
	if !known || r.Retries+1 >= pageAfter && wanted.Lingers(&w.Chart, r, in.Op) {
		return fleet.Instance{}, false
	}
	r.Intent, r.AskAt = nil, 0
	w.Record(record.Record{Kind: record.Outcome, Op: in.Op, Call: in.ID, Outcome: fleet.OutcomeUnknown,
		Instance: in.Instance, Generation: in.Generation, Host: in.Host, Detail: "observed " + string(seen.Power)})
	return seen, true
}

// repeat tries a call again that surely had no effect.
func (w *Work) repeat(r *belief.Repair, in belief.Intent) onward {
	if r.Retries+1 >= pageAfter && wanted.Lingers(&w.Chart, r, in.Op) {
		in.Unknown, r.Intent = true, &in
		return w.observe(r, in.Instance, in.Host)
	}
	operationOf(in.Op).undone(r)
	w.retry(r)
	return w.boundTries(r, in)
}

// boundTries gives a step up that was tried in vain too often.
func (w *Work) boundTries(r *belief.Repair, in belief.Intent) onward {
	switch {
	case r.Retries < pageAfter:
	case wanted.InVain(&w.Chart, r):
		return w.giveUpChange(fleet.ReasonCallFailed, "tried in vain")
	case operationOf(in.Op).ofStep():
		return w.failRung(fleet.ReasonCallFailed, "tried in vain")
	}
	return again
}

// boundConflicts gives a change of the old instance up that the provider's truth stood against too often.
func (w *Work) boundConflicts(r *belief.Repair, in belief.Intent, o fleet.Outcome) onward {
	switch {
	case r.Retries < pageAfter, wanted.GoesOn(&w.Chart, r):
		return again
	case in.Op == fleet.OpKeep:
		return exchange{w, r}.keepFailed(o.Detail)
	case in.Op == fleet.OpDelete:
		return exchange{w, r}.deleteFailed(o)
	}
	return w.boundTries(r, in)
}
