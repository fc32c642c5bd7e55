package repair

import (
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/record"
)

// evacuate makes sure that the target's host is off, and lets the target go on elsewhere.
func (x exchange) evacuate() onward {
	switch _, dead := x.DeadHost(x.r.Target); {
	case !dead || x.lapsed():
		return lookAgain(x.r) // it is back, or no longer said to be off
	case !x.r.Proof.OfHost() || !x.Situation.Spec.Repair.Fence.Enough(x.r.Proof):
		return x.fence()
	}
	return x.call(x.r, fleet.OpEvacuate, x.r.Target)
}

// movedAgain is how often a move without an answer is looked for before it is sent again.
const movedAgain = 5

// resolve deals with a move without an answer. What is seen on another host has moved. As long as the provider says
// nothing, it may be on its way; after a while the same order finds out, if another look still wants it: what has left
// its host is not moved again.
func (moving) resolve(w *Work, r *belief.Repair, in belief.Intent) onward {
	seen := w.View.Sighting(in.Instance)
	known := seen.Known() && seen.Asked > r.LastOutcome
	away := known && seen.Instance.Host != in.Host
	if !known && r.Retries < movedAgain {
		return w.observe(r, in.Instance, in.Host)
	}
	r.Intent = nil
	rec := record.Record{Kind: record.Outcome, Op: in.Op, Call: in.ID, Outcome: fleet.OutcomeUnknown,
		Instance: in.Instance, Generation: in.Generation, Host: in.Host}
	if rec.Detail = "it can be sent again"; away {
		rec.Detail = "observed on " + string(seen.Instance.Host)
	}
	w.Record(rec)
	if away {
		r.RetryAt, r.AskAt = 0, 0
		return moving{}.done(w, r)
	}
	return w.repeat(r, in)
}

// fenceHost makes sure that the target's host is off, which does not answer: it is known to be, or its power is
// cut.
func (x exchange) fenceHost(h fleet.Host) onward {
	known := x.Situation.Whole.ProofOf(h.Name, x.Situation.Now)
	switch {
	case x.Situation.Spec.Repair.Fence.Enough(known):
		return x.proven(known)
	case x.r.Kind != belief.RepairHeal || !guard.MayFence(h, x.Situation) && x.r.Removed:
		return x.wait(fleet.ReasonHostDown)
	case !guard.MayFence(h, x.Situation):
		return x.yield(x.r, fleet.ReasonHostDown)
	case x.r.OffCalls >= x.mostTries(h):
		return x.comeAgain(fleet.ReasonFenceFailed, "") // nothing takes the machine's place (L1)
	case !x.r.Removed && !x.r.Wanted() && x.r.OffCalls != x.r.ClearedCalls:
		return lookAgain(x.r) // it could not be proven off: perhaps it answers again meanwhile
	case h.Fence.Delay > 0 && !x.Situation.Now.Due(x.r.FenceAt):
		return x.bide(h)
	}
	x.r.OffCalls++
	x.call(x.r, fleet.OpFence, x.r.Target)
	x.r.Intent.Limit, x.r.Intent.Try = h.Fence.Limit, x.r.OffCalls
	if x.r.Intent.Try > h.Fence.Tries {
		x.Records[len(x.Records)-1].Proof = fleet.ProofAccessCut
	}
	x.Actions[len(x.Actions)-1].Intent = *x.r.Intent
	return waits
}

// bide leaves the host as it is for a while yet, so that of two hales that take each other's side for dead one is
// quicker. The other does not come back to it, and the one that sees the host answer again does not shoot: the time
// over, the failure is looked at once more.
func (x exchange) bide(h fleet.Host) onward {
	if x.r.FenceAt == 0 {
		x.r.FenceAt = x.Now().Add(h.Fence.Delay)
	}
	x.wait(fleet.ReasonFenceDelay)
	if x.r.Removed { // nothing is left to look at
		x.r.RetryAt = x.r.FenceAt
		return waits
	}
	x.r.RetryAt = 0
	return lookAgain(x.r)
}

// mostTries is how often the host can be tried to be fenced for the step. What is to go on elsewhere, and not to be
// built anew, must be off here.
func (x exchange) mostTries(h fleet.Host) int {
	if x.r.Step == fleet.StepEvacuate {
		return h.Fence.Tries
	}
	return h.Fence.Enough(x.Situation.Spec.Repair.Fence)
}

// comesBack is the longest between two tries at what may end at any time: a host that nothing proves off, or its power
// controller, may be back, and an instance be unlocked.
const comesBack = 2 * time.Minute

// comeAgain ends the repair, which something stands against that only a person can end, who is told. It did nothing,
// and the next one may.
func (x exchange) comeAgain(why fleet.Reason, detail string) onward {
	x.Uncount()
	x.end(why)
	x.M.RetryAt = x.Now().Add(min(x.SetBack(belief.Failure{Why: why, Detail: detail}), comesBack))
	x.wait(why)
	x.Page(why)
	return over
}

// settleFence takes in how a try to cut the host's power ended.
func (x exchange) settleFence(o fleet.Outcome) onward {
	switch {
	case o.Kind == fleet.OutcomeNotSent:
		x.r.OffCalls--
	case o.Kind == fleet.OutcomeUnknown:
		x.r.Struck = true
	case o.Kind == fleet.OutcomeDone && x.AnswersStill():
		return x.giveUpFence(fleet.ReasonAnswers) // it is said to be off, and is not
	case o.Kind == fleet.OutcomeDone && o.Proof == fleet.ProofAccessCut:
		return x.fencedBy(o, fleet.ProofAccessCut, fleet.ReasonHostCut)
	case o.Kind == fleet.OutcomeDone:
		return x.fencedBy(o, fleet.ProofHostOff, fleet.ReasonHostFenced)
	}
	if !x.r.Removed {
		x.r.LookAgain()
	}
	x.retry(x.r)
	return again
}

// fencedBy: the host is proven off, or cut. Where hale did that, a person must see to the host, and give it back what
// was taken.
func (x exchange) fencedBy(o fleet.Outcome, p fleet.Proof, told fleet.Reason) onward {
	if x.Situation.Spec.Repair.Fence.Enough(p) {
		x.proven(p)
	} else {
		x.retry(x.r) // the policy was edited meanwhile, and demands more
	}
	if !o.Already || x.r.Struck {
		x.Page(told)
	}
	return again
}

// strands reports whether the target is to be left where it is: on a host that is proven off.
func (x exchange) strands(policy fleet.Fence) bool {
	_, dead := x.DeadHost(x.r.Target)
	return dead && !x.r.Removed && x.r.Kind == belief.RepairHeal && policy.Enough(x.r.Proof)
}

// leave gives the target's place up: it stays on its host, which is off, until that is back.
func (x exchange) leave() onward {
	x.M.Leave(x.r.Target, x.r.Proof, x.Situation.Now)
	x.Record(record.Record{Kind: record.LeftBehind, Instance: x.r.Target.ID, Generation: x.r.Target.Generation,
		Host: x.r.Target.Host, Proof: x.r.Proof})
	return x.removed()
}

// cutCounts is for how long a host that was seen cut may be built upon: the cut method knows better than what hale
// remembers.
const cutCounts = 5 * time.Second

// stale reports whether the build would rest on a cut that was seen too long ago, as when there was nowhere to build.
// It is seen once more first.
func (x exchange) stale() bool {
	if x.r.Proof != fleet.ProofAccessCut || x.Situation.Now.Within(cutCounts, x.r.ProvenAt) {
		return false
	}
	x.disprove()
	return true
}

// disprove lets a proof go that counts no more. A host that was cut is cut anew, with all the tries that there are.
func (x exchange) disprove() {
	if x.r.Proof == fleet.ProofAccessCut {
		x.r.OffCalls, x.r.ClearedCalls = 0, 0
	}
	x.r.Proof = ""
}

// lapsed reports whether the proof rests on the host's being off, and the host answers by now, or the word that it is
// off counts no more; or on its being cut, and that is not as fresh as it must be.
func (x exchange) lapsed() bool {
	h, dead := x.DeadHost(x.r.Target)
	switch x.r.Proof {
	case fleet.ProofHostOff:
		return !dead
	case fleet.ProofWord:
		return !dead || x.Situation.Whole.ProofOf(h.Name, x.Situation.Now) == fleet.ProofNone
	case fleet.ProofAccessCut:
		return !dead || x.r.ProvenAt == 0 || h.Fence.Access == fleet.AccessOpen && h.Fence.AccessAt > x.r.ProvenAt
	default:
	}
	return false
}

// holds reports whether the target's proof is worth enough to go on with: it is off, or cut where the policy demands no
// more.
func (x exchange) holds(policy fleet.Fence) bool {
	return x.r.Proof.Off() || x.r.Proof == fleet.ProofAccessCut && policy.Enough(x.r.Proof)
}

// moving is the operation of the steps evacuate and migrate.
type moving struct{ onTheSpot }

func (moving) undone(r *belief.Repair) { r.LookAgain() }
