package repair

import (
	"cmp"
	"strconv"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/health"
	"hale/internal/core/ladder"
	"hale/internal/core/look"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// looking is the phase in which a look confirms the failure, or refutes it, before anything disruptive.
type looking struct {
	*Work
	r *belief.Repair
}

// look waits for the look that confirms the failure, having asked for it.
func (p looking) look() onward {
	p.TakeGathered()
	if p.leftAlone() || p.overtaken() {
		return over
	}
	if p.fated() {
		return p.yield(p.r, fleet.ReasonSharedFate)
	}
	reason := p.HeldBack(p.r)
	if ladder.MakesRoom(reason, p.r) && p.r.Kind == belief.RepairHeal && p.r.OffCalls == 0 {
		return p.yield(p.r, reason)
	}
	if reason = cmp.Or(reason, p.homeless(p.r)); reason != "" {
		p.r.Look = ""
		return p.wait(reason)
	}
	if p.outdated() || p.cameBack() {
		return p.chooseRung(0)
	}
	if p.r.FenceAt != 0 && !p.Situation.Now.Due(p.r.FenceAt) {
		return waits // what is looked at now says nothing of then
	}
	l := p.View.Look
	if l == nil || p.r.Look == "" || l.ID != p.r.Look {
		if p.Gathered() {
			p.askLook()
		}
		return waits
	}
	truth, reason := look.Shows(&p.Chart, p.r, l)
	rec := record.Record{Kind: record.Look, Reason: reason, Instance: p.r.Target.ID, Took: p.Now().Sub(l.Started)}
	rec.Check, rec.Result, rec.Detail = l.Detail()
	p.Record(rec)
	switch truth {
	case health.True:
		p.r.Confirmed, p.r.ClearedCalls = true, p.r.OffCalls
		p.M.Waiting = ""
		tries := p.r.Retries
		p.enter(belief.PhaseLeave)
		p.r.Retries = tries // what was in vain before the look still counts
		return again
	case health.False:
		return p.refuted()
	case health.Unknown, health.Absent:
	}
	return p.unclear()
}

// fated reports whether a parent incident holds the step. What was fenced already goes on.
func (p looking) fated() bool {
	return p.r.Kind == belief.RepairHeal && p.r.OffCalls == 0 && guard.SharedFate(p.M, p.Situation, p.r.Step) != ""
}

// outdated reports whether the rung no longer fits: the cause changed, or the ladder was edited since it was chosen.
func (p looking) outdated() bool {
	if p.r.Kind != belief.RepairHeal || p.r.Rung == belief.NoRung || p.M.Health.Verdict != belief.VerdictUnhealthy {
		return false
	}
	step, ok := p.Situation.Spec.Repair.Step(p.r.Rung)
	return !ok || step.Kind != p.r.Step || (p.r.OffCalls == 0 && ladder.Unfit(p.M, p.Situation, step) != "")
}

// overtaken ends the repair when the regular evidence was faster than the look: the machine is healthy, or was just
// started, not by hale.
func (p looking) overtaken() bool {
	v := p.M.Health.Verdict
	if p.r.Kind != belief.RepairHeal || v != belief.VerdictHealthy && (v != belief.VerdictStarting || p.Ordered()) {
		return false
	}
	p.refuted()
	return true
}

// unclear takes the look again later. When that was in vain too often, a person is told and the repair makes room for
// others: it did nothing that it could lose, and begins anew after a while.
func (p looking) unclear() onward {
	p.r.Look = ""
	if p.r.Kind == belief.RepairHeal && p.Unproven() {
		return p.yield(p.r, fleet.ReasonUnproven)
	}
	p.retry(p.r)
	p.wait(fleet.ReasonLookUnclear)
	if p.r.Kind != belief.RepairHeal || p.r.Retries < pageAfter {
		return waits
	}
	p.Uncount()
	p.end(fleet.ReasonLookUnclear)
	p.M.RetryAt = p.Now().Add(p.SetBack(belief.Failure{Why: fleet.ReasonLookUnclear}))
	return over
}

// refutedPause is the longest wait for the next look at a machine that looks found alive.
const refutedPause = time.Minute

// refuted ends the repair: the machine is not what we thought.
func (p looking) refuted() onward {
	if p.r.Kind == belief.RepairRemnant && p.M.KeptAt(p.r.Target.ID) >= 0 &&
		p.View.Look.Seen.Instance.Power != fleet.PowerGone {
		return p.failAttempt(fleet.ReasonStillRunning, "")
	}
	if p.r.Kind == belief.RepairRemnant {
		p.Clear(p.r.Target.ID)
		return p.end(fleet.ReasonVanished)
	}
	p.Uncount()
	pause := p.Situation.Spec.Repair.Backoff
	if i := p.M.Incident; i != nil {
		// A listing that is older than the truth refutes itself again and again. A machine that fails in earnest
		// meanwhile does not wait for long.
		i.Refuted++
		pause = max(pause, min(policy.Backoff(pause, i.Refuted), refutedPause))
	}
	p.M.RetryAt = p.Now().Add(pause)
	return p.end(fleet.ReasonRefuted)
}

func (p looking) askLook() {
	if p.r.Look != "" {
		return // under way
	}
	if p.M.Waiting != fleet.ReasonUnclear { // for which no rung waits again and again (L8)
		p.r.Since = p.Now()
	}
	p.r.Looks++
	p.r.Look = p.r.ID + "/look" + strconv.Itoa(p.r.Looks)
	scope := situation.LookFull
	if p.M.Health.Cause.Stopped() || p.M.Health.Cause == belief.CauseDisabled ||
		p.M.Health.Cause == belief.CauseMarked || p.r.Kind == belief.RepairRemnant {
		scope = situation.LookProvider
	}
	p.Actions = append(p.Actions, situation.Action{
		Kind: situation.ActionLook, Machine: p.M.Name, Look: p.r.Look, Scope: scope,
		Instance: p.r.Target.ID, Host: p.r.Target.Host, Mark: p.Mark(p.r.Target),
	})
}

// cameBack reports whether the rung was chosen because the host did not answer, and it does: a gentler one may do.
func (p looking) cameBack() bool {
	if !p.r.Stranded || p.r.Kind != belief.RepairHeal {
		return false
	}
	_, dead := p.DeadHost(p.r.Target)
	return !dead
}
