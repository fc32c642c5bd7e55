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
	fated := guard.SharedFate(p.M, p.Situation, p.r.Step) != ""
	if fated && p.r.Kind == belief.RepairHeal && p.r.OffCalls == 0 { // what was fenced already goes on
		return p.yield(p.r, fleet.ReasonSharedFate)
	}
	reason := p.HeldBack(p.r)
	if ladder.MakesRoom(reason, p.r) && p.r.Kind == belief.RepairHeal && p.r.OffCalls == 0 {
		return p.yield(p.r, reason)
	}
	if reason = cmp.Or(reason, p.homeless(p.r)); reason != "" {
		p.r.Look, p.r.SilentAt = "", 0
		return p.wait(reason)
	}
	if ladder.Outdated(p.M, p.Situation) || p.CameBack(p.r) {
		return p.chooseRung(0)
	}
	if p.r.FenceAt != 0 && !p.Situation.Now.Due(p.r.FenceAt) {
		return waits // what is looked at now says nothing of then
	}
	if p.r.SilentAt != 0 {
		return p.testified()
	}
	l := p.View.Look
	if l == nil || p.r.Look == "" || l.ID != p.r.Look {
		if p.Gathered() {
			p.askLook()
		}
		return waits
	}
	return p.shown(l)
}

// shown goes by what the look shows.
func (p looking) shown(l *fleet.Look) onward {
	truth, reason := look.Shows(&p.Chart, p.r, l)
	rec := record.Record{Kind: record.Look, Reason: reason, Instance: p.r.Target.ID, Took: p.Now().Sub(l.Started)}
	rec.Check, rec.Result, rec.Detail = l.Detail()
	p.Record(rec)
	switch truth {
	case health.True:
		if p.r.Kind != belief.RepairHeal || !guard.BySilence(p.M, p.Situation, l) {
			return p.confirmed()
		}
		p.r.SilentAt = p.Now()
		return waits // for machines near it, which the next round asks
	case health.False:
		return p.refuted()
	case health.Unknown, health.Absent:
	}
	return p.unclear(fleet.ReasonLookUnclear)
}

// testified goes on when a machine near by is heard, after the look found this one silent. Where none can be asked,
// what was heard before the look must do.
func (p looking) testified() onward {
	switch near := p.Situation.Near; {
	case near.Heard > 0 || near.Pending+near.Mute == 0:
		return p.confirmed()
	case near.Pending > 0:
		return waits
	}
	return p.unclear(fleet.ReasonNoWitness)
}

func (p looking) confirmed() onward {
	p.r.Confirmed, p.r.ClearedCalls, p.r.SilentAt = true, p.r.OffCalls, 0
	p.M.Waiting = ""
	tries := p.r.Retries
	p.enter(belief.PhaseLeave)
	p.r.Retries = tries // what was in vain before the look still counts
	return again
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
func (p looking) unclear(why fleet.Reason) onward {
	p.r.Look, p.r.SilentAt = "", 0
	if p.r.Kind == belief.RepairHeal && p.Unproven() {
		return p.yield(p.r, fleet.ReasonUnproven)
	}
	p.retry(p.r)
	p.wait(why)
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
	p.Actions = append(p.Actions, situation.Action{
		Kind: situation.ActionLook, Machine: p.M.Name, Look: p.r.Look, Scope: look.Scope(p.M),
		Instance: p.r.Target.ID, Host: p.r.Target.Host, Mark: p.Mark(p.r.Target),
	})
}
