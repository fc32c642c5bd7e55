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
		ID: r.ID + "/call" + strconv.Itoa(r.Calls), Op: op, Instance: on.ID, Generation: on.Generation, Host: on.Host,
		Edition: on.Edition, Limit: step.Timeout, At: w.Situation.Now.Wall, Repeatable: repeatable(op, step),
		Snapshot: copyOf(w.M, r, op),
	}
	w.M.Waiting = ""
	if on.ID == w.M.Current.ID && (op == fleet.OpPowerOff || op == fleet.OpReboot || op == fleet.OpRebuild) {
		w.M.Current.PoweredOff = true // also when the answer is lost
	}
	w.Record(fleet.Record{Kind: fleet.RecordIntent, Op: op, Instance: on.ID, Generation: on.Generation, Host: on.Host})
	a := fleet.Action{
		Kind: fleet.ActionCall, Machine: w.M.Name, Instance: on.ID, Host: on.Host, Mark: w.mark(on),
		Adopted: on.Adopted, Intent: *r.Intent,
		Excused: guard.Excused(w.M, w.Situation),
		ForGood: op == fleet.OpDelete && r.Kind == fleet.RepairRemove,
	}
	if op == fleet.OpCreate {
		a.Made = w.made()
	}
	if r.Intent.Snapshot != "" {
		a.Snapshot = fleet.SnapshotName{Installation: w.Installation, Machine: w.M.Name, Host: on.Host,
			ID: r.Intent.Snapshot}
	}
	if op == fleet.OpRun {
		a.Args, a.Env = step.Run.Fill(factsOf(w.M, w.View, on).Filler())
	}
	w.Actions = append(w.Actions, a)
}

// repeatable reports whether the call may be sent again though its answer was lost.
func repeatable(op fleet.Op, step fleet.Step) bool {
	return op == fleet.OpRun && step.Run.Idempotent || op == fleet.OpSnapshot || op == fleet.OpDropSnapshot
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

// observe asks the provider for one instance. Unanswered, it is asked again after a while; a wanted change that only
// asks in vain is given up.
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

// seenSince returns what the provider said of the instance after the last call ended. As long as it said nothing, it is
// asked.
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
		w.Record(fleet.Record{Kind: fleet.RecordOutcome, Op: in.Op, Outcome: o.Kind, Detail: o.Detail,
			Instance: in.Instance, Generation: in.Generation, Host: in.Host, Took: w.Situation.Now.Wall.Sub(in.At),
			Proof: o.Proof})
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
		w.Record(fleet.Record{Kind: fleet.RecordOutput, Op: in.Op, Instance: in.Instance, Generation: in.Generation,
			Detail: output[:n]})
		output = strings.TrimLeft(output[n:], "\n")
	}
}

func (w *Work) settle(r *fleet.Repair, in fleet.Intent, o fleet.Outcome) {
	op := operationOf(in.Op)
	if apart, ok := op.(settler); ok {
		apart.settle(w, r, in, o)
		return
	}
	if in.Op == fleet.OpCreate && o.Kind != fleet.OutcomeDone {
		w.unbind()
	}
	switch o.Kind {
	case fleet.OutcomeDone:
		op.done(w, r)
	case fleet.OutcomeRetry, fleet.OutcomeNotSent:
		w.repeat(r, in)
	case fleet.OutcomeRefused:
		op.refused(w, o.Detail)
	case fleet.OutcomeNoSecret:
		w.giveUp(fleet.ReasonNoSecret, o.Detail)
	case fleet.OutcomeConflict:
		op.conflict(w, r, in, o)
	case fleet.OutcomeNotFound:
		op.notFound(w, r, in)
	case fleet.OutcomeUnsupported, fleet.OutcomeFailed:
		op.failed(w, r, o)
	case fleet.OutcomeUnknown: // resolved by observation
	}
}

func (w *Work) verifyFrom() {
	w.M.Epoch++
	w.M.Acted = w.now()
	h := &w.M.Health
	h.Verdict, h.Cause, h.Since, h.SinceMono = fleet.VerdictStarting, fleet.CauseNone, w.Situation.Now.Wall, w.now()
	w.enter(fleet.PhaseVerify)
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
	w.Record(fleet.Record{Kind: fleet.RecordStepFailed, Reason: reason, Op: fleet.OpCertify, Detail: detail,
		Instance: w.M.Current.ID})
	w.end(reason)
	if w.M.Incident == nil {
		w.OpenIncident(fleet.CauseBuild)
	}
	w.Page(reason)
	w.M.RetryAt = w.now().Add(longestBackoff)
}

// resolve finds out by observation whether a call whose answer was lost took effect.
func (w *Work) resolve(r *fleet.Repair, in fleet.Intent) {
	op := operationOf(in.Op)
	if unseen, ok := op.(resolver); ok {
		unseen.resolve(w, r, in)
		return
	}
	seen, known := w.observed(r, in)
	switch {
	case !known:
	case op.took(seen):
		op.done(w, r)
	default:
		w.repeat(r, in)
	}
}

// observed returns the instance as it was seen after a call whose answer was lost; then the call is over.
func (w *Work) observed(r *fleet.Repair, in fleet.Intent) (fleet.Instance, bool) {
	seen, known := w.seenSince(r, in.Instance, in.Host)
	if !known {
		return fleet.Instance{}, false
	}
	r.Intent, r.AskAt = nil, 0
	w.Record(fleet.Record{Kind: fleet.RecordOutcome, Op: in.Op, Outcome: fleet.OutcomeUnknown, Instance: in.Instance,
		Generation: in.Generation, Host: in.Host, Detail: "observed " + string(seen.Power)})
	return seen, true
}

// repeat tries a call again that surely had no effect.
func (w *Work) repeat(r *fleet.Repair, in fleet.Intent) {
	operationOf(in.Op).undone(r)
	w.retry(r)
	w.boundTries(r, in)
}

// boundTries gives a step up that was tried in vain too often.
func (w *Work) boundTries(r *fleet.Repair, in fleet.Intent) {
	switch {
	case r.Retries < pageAfter:
	case w.wantedIn():
		w.giveUpChange(fleet.ReasonCallFailed, "tried in vain")
	case operationOf(in.Op).ofStep():
		w.failRung(fleet.ReasonCallFailed, "tried in vain")
	}
}

// boundConflicts gives a change of the old instance up that the provider's truth stood against too often. What only
// failed for a while, as under a provider that throttles, is tried on: a person was told.
func (w *Work) boundConflicts(r *fleet.Repair, in fleet.Intent, o fleet.Outcome) {
	switch {
	case r.Retries < pageAfter:
	case in.Op == fleet.OpKeep:
		exchange{w, w.M.Repair}.keepFailed(o.Detail)
	case in.Op == fleet.OpDelete:
		exchange{w, r}.deleteFailed(o)
	default:
		w.boundTries(r, in)
	}
}
