package repair

import (
	"cmp"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/hooks"
	"hale/internal/core/ladder"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/core/wanted"
)

// errands takes the machine through the hooks of a phase, and out of its pools.
type errands struct {
	*Work
	r *belief.Repair
}

// leave runs the hooks before the first call, and has users leave. If that took time, the look is taken once more.
func (x errands) leave() onward {
	task, some := hooks.Next(&x.Situation.Spec, x.r)
	heals := x.r.Kind == belief.RepairHeal
	switch {
	case some && heals && x.M.Health.Verdict == belief.VerdictHealthy,
		!some && heals && x.Now() != x.r.Since:
		return lookAgain(x.r)
	case !some:
		tries := x.r.Retries
		x.enter(belief.PhaseAct)
		x.r.Retries = tries
		if x.M.Current.ID == x.r.Target.ID {
			x.M.Current.Served = false // its users have left
		}
		return again
	case heals && x.leftAlone():
		return over
	}
	if !x.r.Wanted() {
		reason := x.HeldBack(x.r)
		if ladder.MakesRoom(reason, x.r) {
			return x.yield(x.r, reason)
		}
		if reason = cmp.Or(reason, x.homeless(x.r)); reason != "" {
			return x.wait(reason)
		}
	} else if why := x.spoilt(x.r); why != "" {
		return x.giveUpChange(why, "")
	} else if why := wanted.Needed(&x.Chart, x.r); why != "" && x.Now() != x.r.Since {
		x.end(why)
		x.M.Change = nil // its turn comes anew, and others have its place until then
		return x.wait(why)
	} else if !x.mayChange(x.r) {
		return waits
	}
	return x.do(&task)
}

// built goes on with an instance that was just built: what makes of it what it is to be comes before it is verified.
func (x errands) built() onward {
	x.verifyFrom()
	x.M.Current.Spoilt, x.M.Provisioned = false, nil
	if x.M.Current.Raw = len(x.Situation.Spec.Provision) > 0; !x.M.Current.Raw {
		return again
	}
	return x.provisionBy(x.r.Hooks.Anew(fleet.MomentProvision))
}

// provisionBy goes on with an instance that was not made what it is to be.
func (x errands) provisionBy(todo *belief.Hooking) onward {
	x.r.Hooks, x.M.Health.Grace = todo, x.Now().Add(x.Situation.Spec.ProvisionTime())
	x.enter(belief.PhaseProvision)
	x.r.Deadline = x.Now().Add(x.Situation.Spec.BuildWithin)
	return again
}

// BeginProvision opens the short work on an instance that was not made what it is to be, and looks well all the same.
// What is done already is not done again, and what does not bear it is not run twice.
func (w *Work) BeginProvision() {
	w.M.Quarantine = nil
	r := w.open(belief.Repair{Kind: belief.RepairBuild}, belief.Aim{})
	w.Record(record.Record{Kind: record.RepairStarted, Reason: fleet.Reason(belief.RepairBuild)})
	w.M.Attempts = append(w.M.Attempts, w.Now())
	errands{w, r}.provisionBy(hooks.Again(&w.Situation.Spec, w.M.Provisioned))
	w.Advance()
}

// provision waits for the new instance's address, and has done with it what makes of it what it is to be.
func (x errands) provision() onward {
	task, some := hooks.Next(&x.Situation.Spec, x.r)
	switch {
	case x.M.Health.Cause.Stopped() && x.FreshlySeen(x.r):
		return x.unprovisioned(fleet.ReasonNotVerified, string(x.M.Health.Cause))
	case !some:
		x.M.Current.Raw, x.M.Current.Spoilt, x.M.Provisioned = false, false, nil
		return x.verifyFrom()
	case x.M.Address.IsValid() && x.off() == "": // nothing is left out of what makes of it what it is to be
		return x.do(&task)
	case x.Situation.Now.Due(x.r.Deadline):
		return x.unprovisioned(cmp.Or(x.off(), fleet.ReasonNoAddress), "")
	}
	return waits
}

// unprovisioned: the new instance, perhaps seconds old, is to be built anew, while its provider may yet build it again.
func (x errands) unprovisioned(why fleet.Reason, detail string) onward {
	x.M.BindTo(x.M.Current.Host, x.r.Deadline.Add(-x.Situation.Spec.BuildWithin), &x.Situation.Spec)
	return x.failRung(why, detail)
}

// after runs the hooks after a repair. The machine is verified; when it fails again meanwhile, it is not.
func (x errands) after() onward {
	task, some := hooks.Next(&x.Situation.Spec, x.r)
	switch {
	case x.M.Health.Verdict != belief.VerdictHealthy:
		return x.enter(belief.PhaseVerify)
	case !some:
		return verifying(x).finish()
	}
	return x.do(&task)
}

// do goes on with the task that comes next.
func (x errands) do(task *hooks.Task) onward {
	off := x.off()
	switch h := x.r.Hooks; {
	case task.Asks():
		return x.ask(task)
	case task.OfPool():
		return x.leavePool(task, off)
	case h.Said(task.ID) == fleet.HookDone:
		return x.over(task.ID, "", h.Words)
	case h.Said(task.ID) == fleet.HookFail:
		return x.fail(task.ID, &task.Hook, fleet.ReasonHookFailed, h.Words)
	case x.idle(task):
		return x.over(task.ID, fleet.ReasonIdle, "")
	case off != "" && !task.Hook.Always:
		return x.over(task.ID, off, "")
	case h != nil && h.At == task.ID && h.By != 0 && x.Situation.Now.Due(h.By):
		return x.fail(task.ID, &task.Hook, fleet.ReasonHookLate, "")
	case task.Hook.Kind == policy.HookWait:
		return x.await(task)
	}
	return x.run(task)
}

// idle reports whether the task is for those whom the machine serves, and there are none: it is a spare, and served no
// one since it was built, or last left its users.
func (x errands) idle(task *hooks.Task) bool {
	return task.ID.Moment() == fleet.MomentLeave && !x.r.Target.Served &&
		x.Situation.Whole.Ledger.IsSpare(x.M.Name)
}

// off says why nothing can be done on the machine itself.
func (x errands) off() fleet.Reason {
	if x.M.Health.Cause.Stopped() {
		return fleet.ReasonNotRunning
	}
	if _, dead := x.DeadHost(x.M.Current); dead {
		return fleet.ReasonHostDown
	}
	return ""
}

// leavePool waits until the pool says that the machine is out, or its time is over. What does not run has no
// connections to be waited for.
func (x errands) leavePool(task *hooks.Task, off fleet.Reason) onward {
	p := hooks.Pool{Pool: task.Pool, Members: x.View.Members, Since: x.r.Since, Wanted: x.r.Wanted()}
	why := cmp.Or(off, p.Left(x.Situation.Now))
	if why == "" {
		return x.wait(fleet.ReasonDraining)
	}
	x.M.Waiting = ""
	x.r.Hooks = x.r.Hooks.End(task.ID, why)
	x.Record(record.Record{Kind: record.PoolLeft, Reason: why, Hook: task.ID, Took: x.Now().Sub(x.r.Since),
		Instance: x.M.Current.ID})
	return again
}

// await waits for a word on the hook.
func (x errands) await(task *hooks.Task) onward {
	if h := x.r.Hooks; h == nil || h.At != task.ID || h.By == 0 {
		by := x.Now().Add(task.Hook.Within)
		x.r.Hooks = h.Due(task.ID, by, x.Now().Add(max(task.Hook.Within, task.Hook.Deadline)))
		x.Record(record.Record{Kind: record.HookBegun, Hook: task.ID, Took: task.Hook.Within,
			Instance: x.M.Current.ID, Until: x.Situation.Now.Wall.Add(task.Hook.Within)})
		x.Situation.Now.Await(by)
	}
	x.M.Waiting = ""
	return waits
}

// run sends the hook's call, unless what it is to be told of the instance is not known, or would be taken for something
// else.
func (x errands) run(task *hooks.Task) onward {
	on := x.M.Current
	if x.r.Phase == belief.PhaseLeave {
		on = x.r.Target
	}
	facts := ladder.FactsOf(x.M, x.View, on)
	if why, placeholder := hooks.Lacks(&task.Hook, facts); why != "" {
		return x.fail(task.ID, &task.Hook, why, placeholder)
	}
	h := x.r.Hooks
	if h == nil || h.At != task.ID || h.By == 0 {
		x.r.Hooks = h.Due(task.ID, x.Now().Add(task.Hook.Within), 0)
	}
	e := situation.Errand{Hook: task.Hook, Moment: task.ID.Moment(), Facts: facts, Repair: x.r.ID, Kind: x.r.Kind}
	if x.M.Incident != nil {
		e.Incident = x.M.Incident.ID
	}
	if !x.r.Kind.Ordered() {
		e.Step = x.r.Step
	}
	x.call(x.r, fleet.OpHook, on)
	in := x.r.Intent
	in.Hook, in.Limit, in.Repeatable = task.ID, x.r.Hooks.By.Sub(x.Now()), task.Hook.Idempotent
	x.Records[len(x.Records)-1].Hook = task.ID
	a := &x.Actions[len(x.Actions)-1]
	a.Intent, a.Errand = *in, &e
	return waits
}

// over notes how the hook ended, and goes on.
func (x errands) over(id fleet.HookID, why fleet.Reason, detail string) onward {
	x.M.Waiting = ""
	x.r.RetryAt = 0
	x.r.Hooks = x.r.Hooks.End(id, why)
	if x.r.Phase == belief.PhaseProvision {
		x.M.Provisioned = x.r.Hooks.Of(fleet.MomentProvision)
	}
	x.Record(record.Record{Kind: record.HookOver, Reason: why, Hook: id, Detail: detail, Instance: x.M.Current.ID})
	return again
}

// fail notes that the hook failed, and does what follows from that.
func (x errands) fail(id fleet.HookID, h *policy.Hook, why fleet.Reason, detail string) onward {
	x.over(id, why, detail)
	failed := cmp.Or(detail, string(id.Name()))
	switch stays := x.r.Phase == belief.PhaseAfter; {
	case h.OnFailure == policy.HookPage && x.M.Incident == nil:
		x.Record(record.Record{Kind: record.Paged, Reason: why, Order: x.r.Order, Hook: id, Detail: failed,
			Instance: x.M.Current.ID})
	case h.OnFailure == policy.HookPage:
		x.Page(why)
	case h.OnFailure != policy.HookStop:
	case x.r.Phase == belief.PhaseProvision:
		x.M.Current.Spoilt = hooks.Spent(h, why)
		return x.unprovisioned(why, failed)
	case x.M.Repair.MayBeGivenUp():
		return x.giveUpChange(why, failed)
	default:
		x.quarantine(why, failed)
		x.M.Quarantine.Stays = stays // what ends it is not its health, which it has
		return over
	}
	return again
}

// hookRetry is the wait before a hook is tried again that surely did nothing.
const hookRetry = 2 * time.Second

// hooking is the operation of a hook.
type hooking struct{ nothing }

// settle takes in how the hook ended. What did nothing is tried again as long as its time lasts.
func (hooking) settle(w *Work, r *belief.Repair, in belief.Intent, o fleet.Outcome) onward {
	x := errands{w, r}
	h, _ := w.Situation.Spec.Hook(in.Hook)
	why := fleet.ReasonHookFailed
	switch o.Kind {
	case fleet.OutcomeDone:
		return x.over(in.Hook, "", "")
	case fleet.OutcomeRetry, fleet.OutcomeNotSent:
		r.RetryAt = w.Now().Add(hookRetry)
		return again
	case fleet.OutcomeNoSecret:
		why = fleet.ReasonNoSecret
	case fleet.OutcomeRefused:
		why = hooks.Refused(&h)
	case fleet.OutcomeUnsupported:
		why = fleet.ReasonUnsupported
	case fleet.OutcomeFailed, fleet.OutcomeConflict, fleet.OutcomeLocked, fleet.OutcomeNotFound, fleet.OutcomeUnknown:
	}
	if by := r.Hooks.By; by != 0 && w.Situation.Now.Due(by) {
		why = fleet.ReasonHookLate
	}
	return x.fail(in.Hook, &h, why, o.Detail)
}

// resolve: how far a hook came whose answer was lost cannot be observed. It is run again if it was declared to bear
// that, and else it failed (L12).
func (hooking) resolve(w *Work, r *belief.Repair, in belief.Intent) onward {
	r.Intent = nil
	if in.Repeatable {
		w.Record(record.Record{Kind: record.Outcome, Op: in.Op, Call: in.ID, Outcome: fleet.OutcomeUnknown,
			Hook: in.Hook, Instance: in.Instance, Generation: in.Generation, Host: in.Host,
			Detail: "it is declared idempotent"})
		r.RetryAt = w.Now().Add(hookRetry)
		return again
	}
	h, _ := w.Situation.Spec.Hook(in.Hook)
	why := fleet.ReasonHookUnclear
	if by := r.Hooks.By; by != 0 && w.Situation.Now.Due(by) {
		why = fleet.ReasonHookLate // an address that never answers
	}
	return errands{w, r}.fail(in.Hook, &h, why, "")
}
