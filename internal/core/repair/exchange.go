package repair

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/health"
	"hale/internal/core/placement"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/wanted"
)

// exchange takes the old instance away, with proof, and puts its successor in its place.
type exchange struct {
	*Work
	r *belief.Repair
}

// replace fences the target, removes it, and builds its successor; each only if it is still to be done.
func (x exchange) replace() onward {
	policy := x.Situation.Spec.Repair.Fence
	if x.lapsed() {
		x.disprove()
	}
	switch {
	case !x.r.Target.None() && !x.r.Removed && !x.holds(policy):
		return x.fence()
	case x.strands(policy):
		return x.leave()
	case x.homeless(x.r) != "":
		x.retry(x.r)
		return x.wait(x.homeless(x.r))
	case !x.r.Target.None() && !x.r.Removed && x.keeps(x.r):
		return x.call(x.r, fleet.OpKeep, x.r.Target)
	case !x.r.Target.None() && !x.r.Removed:
		return x.call(x.r, fleet.OpDelete, x.r.Target) // also of one that is gone: its files may be left
	case x.r.Kind == belief.RepairRemnant:
		x.Clear(x.r.Target.ID)
		return x.end(fleet.ReasonRemoved)
	case x.r.Kind == belief.RepairRemove:
		return x.gone()
	case !x.r.Target.None() && !x.holds(policy):
		return x.proveAgain()
	case !x.r.Target.None() && !policy.Enough(x.r.Proof):
		return x.proveDeleted()
	}
	return x.build()
}

// rebuild fences the target and gives it a new disk.
func (x exchange) rebuild() onward {
	switch {
	case !x.r.Proof.Meets(fleet.StepRebuild.Needs(x.Situation.Spec.Repair.Fence)):
		return x.fence()
	case x.r.Proof.Meets(fleet.ProofDeleted):
		return x.failRung(fleet.ReasonNoInstance, "") // it went meanwhile
	}
	return x.call(x.r, fleet.OpRebuild, x.r.Target)
}

// ask asks the provider for the target.
func (x exchange) ask() onward { return x.observe(x.r, x.r.Target.ID, x.r.Target.Host) }

// fence makes sure that the target cannot run: told to power off, then seen off.
func (x exchange) fence() onward {
	if h, dead := x.DeadHost(x.r.Target); dead && x.r.Kind == belief.RepairHeal && x.r.Step.GoesElsewhere() {
		return x.fenceHost(h)
	}
	if x.r.Stranded && x.r.Confirmed {
		return lookAgain(x.r) // its host is back: what was confirmed without it counts no more
	}
	i, known := x.SeenSince(x.r, x.r.Target.ID)
	switch used := x.M.KeptAt(x.r.Target.ID) >= 0 || x.M.LeftAt(x.r.Target.ID) >= 0 && !x.HeldCut(x.r.Target.ID); {
	case !known:
		return x.ask()
	case i.Power == fleet.PowerGone:
		return x.proven(fleet.ProofDeleted)
	case x.stoppedMeanwhile(i):
		return lookAgain(x.r) // its provider did not say so yet when it was judged
	case i.Power == fleet.PowerOff:
		return x.proven(fleet.ProofConfirmedOff)
	case used:
		return x.failAttempt(fleet.ReasonStillRunning, "") // what was put aside is in use
	case x.r.OffCalls >= maxOffCalls && x.MayGoOff(x.r):
		x.r.Retries = pageAfter - 4 // it is asked for twice a minute
		return x.ask()
	case x.r.OffCalls >= maxOffCalls:
		return x.giveUpFence(fleet.ReasonStillRunning)
	case !x.r.Wanted() && x.r.OffCalls != x.r.ClearedCalls:
		return lookAgain(x.r) // it was told to power off and runs: perhaps a person mended it meanwhile
	}
	x.r.OffCalls++
	return x.call(x.r, fleet.OpPowerOff, x.r.Target)
}

// stoppedMeanwhile reports whether a person stopped the target since it was judged, and hale did not: then it is no
// proof of hale's own (L10). While the target is replaced it is not judged.
func (x exchange) stoppedMeanwhile(i fleet.Instance) bool {
	cause, stopped := health.PowerCause(i)
	return stopped && x.minds(x.M.Blame(cause, i.Stop))
}

// lookAgain sends the rung back to its look.
func lookAgain(r *belief.Repair) onward {
	r.LookAgain()
	return again
}

// giveUpFence: without proof there is no replacement (L1). A person must look.
func (x exchange) giveUpFence(why fleet.Reason) onward {
	if x.M.Repair.MayBeGivenUp() {
		return x.giveUpChange(fleet.ReasonNoProof, string(why))
	}
	if x.M.Repair.Kind == belief.RepairRemnant || guard.Parent(x.M, x.Situation) != nil {
		return x.failAttempt(why, "") // of a parent's machines a person was told already
	}
	return x.quarantine(fleet.ReasonNoProof, string(why))
}

func (x exchange) proven(p fleet.Proof) onward {
	x.r.Proof, x.r.ProvenAt = p, 0
	if p == fleet.ProofAccessCut {
		x.r.ProvenAt = x.Now()
	}
	x.Record(record.Record{Kind: record.Proof, Proof: p, Instance: x.r.Target.ID,
		Generation: x.r.Target.Generation})
	return again
}

// proveAgain shows once more, after a restart or a lost call, that what was removed still does not run.
func (x exchange) proveAgain() onward {
	if h, dead := x.DeadHost(x.r.Target); dead && x.M.LeftAt(x.r.Target.ID) >= 0 {
		return x.fenceHost(h)
	}
	i, known := x.SeenSince(x.r, x.r.Target.ID)
	switch {
	case !known:
		return x.ask()
	case i.Power == fleet.PowerGone:
		x.M.Retrieve(x.r.Target.ID)
		return x.proven(fleet.ProofDeleted)
	case i.Power == fleet.PowerOff:
		return x.proven(fleet.ProofConfirmedOff)
	case x.M.KeptAt(x.r.Target.ID) >= 0: // under another name, and without its disks
		return x.quarantine(fleet.ReasonNoProof, string(fleet.ReasonStillRunning))
	}
	x.M.Current = x.r.Target
	x.M.Retrieve(x.r.Target.ID)
	x.M.Epoch++
	return x.end(fleet.ReasonRefuted)
}

// proveDeleted asks for the stricter proof after a delete.
func (x exchange) proveDeleted() onward {
	i, known := x.SeenSince(x.r, x.r.Target.ID)
	switch {
	case !known:
		return x.ask()
	case i.Power == fleet.PowerGone:
		return x.proven(fleet.ProofDeleted)
	}
	return x.giveUpFence(fleet.ReasonDeleteFailed)
}

// removed clears the machine's place: from here on it has no instance until its successor stands.
func (x exchange) removed() onward {
	x.r.Removed = true
	if x.M.Current.ID == x.r.Target.ID {
		x.M.Current = belief.Incarnation{}
		x.M.Epoch++
		x.M.Acted = x.Now()
	}
	return again
}

// build allots the next generation and orders it.
func (x exchange) build() onward {
	if o := x.Situation.Whole.Ledger.Removal(x.M.Name); o != nil && o.Named && !x.r.Wanted() {
		return x.end(fleet.ReasonOverruled) // it is to go
	}
	if found, ok := chart.Found(x.M, x.View, x.Installation); ok {
		return x.take(found)
	}
	if a := x.M.Anchor; a != nil && x.Situation.Now.Due(a.Until) {
		x.M.Anchor = nil
	}
	if held := x.heldWaiting(); held != "" {
		return x.wait(held)
	}
	if _, some := guard.Unasked(x.M, x.Situation); some {
		x.retry(x.r)
		return x.wait(fleet.ReasonHostUnasked)
	}
	places := x.places()
	host, ok := places.Host(x.r.ID)
	if a := x.M.Anchor; a != nil {
		host, ok = a.Host, placement.BuildsOn(a.Host, x.Situation)
	}
	switch {
	case !ok:
		x.wait(places.Nowhere())
		x.retry(x.r)
		return waits
	case x.Occupied():
		return x.failAttempt(fleet.ReasonDiskInUse, "")
	case x.Rivalled():
		return x.failAttempt(fleet.ReasonRival, "")
	case x.LeftRuns():
		return x.failAttempt(fleet.ReasonStillRunning, "")
	case x.stale():
		return x.proveAgain()
	}
	x.Bind(host)
	x.Load()[host]++ // the next one placed in this round sees it
	x.M.Generation++
	x.r.Next = belief.Incarnation{ID: x.View.FreshID, Generation: x.M.Generation, Host: host, Edition: x.Edition(x.r)}
	return x.call(x.r, fleet.OpCreate, x.r.Next)
}

// take has the machine have the instance that an earlier call built after all. A listing may show one that hale removed
// since, so it is asked for by itself first.
func (x exchange) take(found fleet.Instance) onward {
	if !x.View.Sighting(found.ID).Alone {
		return x.observe(x.r, found.ID, found.Host)
	}
	x.r.AskAt = 0
	x.TakeFound(found)
	return errands(x).built()
}

// heldWaiting says why a build that waits, as for a host or a place, does not go on: what a person ordered meanwhile
// counts for it, since it is not under way. A first one does not go on once another installation's mark was seen,
// either.
func (x exchange) heldWaiting() fleet.Reason {
	if x.r.Kind == belief.RepairBuild && len(x.Situation.Whole.Foreign) > 0 {
		return fleet.ReasonInstallation // it was seen since the build was begun
	}
	switch x.M.Waiting {
	case fleet.ReasonNoHost, fleet.ReasonNoPlace, fleet.ReasonDiskElsewhere, fleet.ReasonHostUnasked, fleet.ReasonHold,
		fleet.ReasonBrake:
	default:
		return ""
	}
	b := &x.Situation.Brake
	switch {
	case guard.HoldOn(x.M, x.Situation) != nil:
		return fleet.ReasonHold
	case b.By != "", b.On() && x.r.Kind != belief.RepairBuild:
		return fleet.ReasonBrake
	}
	return ""
}

// setAside: the target is off and bears another name. It is kept from now on.
func (x exchange) setAside() onward {
	d := belief.CurrentStep(x.Situation.Spec, *x.r).KeepOld
	if x.r.Kind == belief.RepairUndo {
		d = x.Situation.Spec.Repair.KeepTime()
	}
	x.removed()
	x.M.Kept = append(slices.Clone(x.M.Kept), belief.KeepFor(x.r.Target, d, x.Situation.Now))
	return again
}

// keepFailed: the target is off, and nothing may take its place. A person must look.
func (x exchange) keepFailed(detail string) onward {
	if x.M.Repair.MayBeGivenUp() {
		return x.giveUpChange(fleet.ReasonKeepFailed, detail)
	}
	return x.quarantine(fleet.ReasonKeepFailed, detail)
}

// deleteFailed: the old instance is proven off but will not go. The policy says whether its successor may stand beside
// it.
func (x exchange) deleteFailed(o fleet.Outcome) onward {
	switch {
	case x.r.Proof == fleet.ProofDeleted:
		wanted.TellOfRest(&x.Chart, x.r, o.Detail)
		x.r.Retries = 0 // a successor gets tries of its own
		return x.removed()
	case x.r.Kind == belief.RepairRemnant:
		return x.failAttempt(fleet.ReasonDeleteFailed, o.Detail)
	case x.M.Repair.MayBeGivenUp():
		return x.giveUpChange(fleet.ReasonDeleteFailed, o.Detail)
	}
	step := belief.CurrentStep(x.Situation.Spec, *x.r)
	if step.OnDeleteFailure == policy.DeleteFailureContinue && x.M.Volumes == nil &&
		x.r.Proof.Meets(x.Situation.Spec.Repair.Fence.Proof) {
		x.Record(record.Record{Kind: record.StepFailed, Reason: fleet.ReasonDeleteFailed, Detail: o.Detail,
			Instance: x.r.Target.ID})
		return x.removed()
	}
	return x.quarantine(fleet.ReasonDeleteFailed, o.Detail)
}

// halfMade: an instance was asked for and exists, but does not run. It is unknown how far it was made, so it is not
// started; it is an expired build of our own, to be removed and built anew.
func (x exchange) halfMade() onward {
	x.M.Current, x.r.Next = x.r.Next, belief.Incarnation{}
	x.M.Address = x.View.Sighting(x.M.Current.ID).Instance.Address
	x.M.Current.Expired = true
	x.M.Epoch++
	x.r.Aim = belief.AimAt(x.M.Current)
	return lookAgain(x.r)
}

// lostCall: an instance was asked for, the answer was lost, and it is not there. It may yet appear. The next one gets
// another id on the same host, where the machine's name guards the place; and what was removed is proven off once more.
func (x exchange) lostCall() onward {
	x.M.BindTo(x.r.Next.Host, x.Now(), &x.Situation.Spec)
	x.r.Next = belief.Incarnation{}
	x.r.LastOutcome = x.Now()
	if !x.r.Target.None() && !x.r.Proof.Meets(fleet.ProofDeleted) {
		x.r.Proof = ""
	}
	return again
}

// gone ends the removal of a machine that is not there any more.
func (x exchange) gone() onward {
	m, order := x.M, x.r.Order
	x.end(fleet.ReasonRemoved)
	if m.Incident != nil {
		x.Record(record.Record{Kind: record.IncidentClosed, Reason: fleet.ReasonRemoved, Cause: m.Incident.Cause,
			Took: x.Situation.Now.Wall.Sub(m.Incident.Opened)})
	}
	m.IncidentOver()
	m.Attempts = nil
	m.Health = belief.Health{Verdict: belief.VerdictUnknown, Cause: belief.CauseMissing, Since: x.Situation.Now.Wall,
		SinceMono: x.Now()}
	m.Change = &belief.Change{Order: order, Ended: fleet.ReasonRemoved}
	return over
}
