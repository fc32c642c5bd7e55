package repair

import (
	"slices"
	"time"

	"hale/internal/fleet"
	"hale/internal/guard"
	"hale/internal/health"
)

// offHost says why the step is not for a machine whose host does not answer: there only one elsewhere can be built, and only what the host's loss does
// not take along for ever.
func offHost(m *fleet.Machine, s *guard.Situation, step fleet.Step) fleet.Reason {
	if m.Current.None() {
		return ""
	}
	h, dead := guard.DeadHost(m.Current.Host, s)
	if !dead || !guard.Fenceable(h, s) {
		return "" // where nothing is done anyway
	}
	switch step.Kind {
	case fleet.StepPage, fleet.StepQuarantine:
		return ""
	case fleet.StepEvacuate:
		if h.Fence.Tries == 0 && !s.Whole.ProofOf(h.Name, s.Now).OfHost() {
			return fleet.ReasonHostDown // it could be cut off, and would run on
		}
		return lostWithHost(s)
	case fleet.StepRecreate:
		if h.Closed {
			return fleet.ReasonHostDown // name and address are the instance's as long as there is one, on whichever host
		}
		return lostWithHost(s)
	default:
		return fleet.ReasonHostDown
	}
}

// lostWithHost says why the machine cannot do without what only its host has.
func lostWithHost(s *guard.Situation) fleet.Reason {
	if _, lost := s.Spec.Template.DiskLost(); lost {
		return fleet.ReasonDiskKept // it could not even be kept aside
	}
	return ""
}

// goesElsewhere reports whether after the step the machine is on another host than one that does not answer.
func goesElsewhere(step fleet.StepKind) bool {
	return step == fleet.StepRecreate || step == fleet.StepEvacuate
}

// toLeave says why the step is not for the machine, as its host stands: whoever leaves a disabled one, must get away
// from there, and nobody leaves one that is as it should be.
func toLeave(m *fleet.Machine, s *guard.Situation, step fleet.Step) fleet.Reason {
	_, dead := guard.DeadHost(m.Current.Host, s)
	return rungOf(step.Kind).leaves(m.Health.Cause == fleet.CauseDisabled, dead)
}

// leavesDisabled says whether a look confirms that the instance is on a host that is to be left.
func (w *Work) leavesDisabled(l fleet.Look) health.Truth {
	switch {
	case !l.Seen.Known():
		return health.Unknown
	case guard.Leaves(l.Seen, w.Situation):
		return health.True
	}
	return health.False
}

// evacuate makes sure that the target's host is off, and lets the target go on elsewhere.
func (w *Work) evacuate(r *fleet.Repair) {
	switch _, dead := w.deadHost(r.Target); {
	case !dead || w.lapsed(r):
		r.LookAgain() // it is back, or nobody says any more that it is off
	case !r.Proof.OfHost() || !w.Situation.Spec.Repair.Fence.Enough(r.Proof):
		w.fence(r)
	default:
		w.call(r, fleet.OpEvacuate, r.Target)
	}
}

// movedAgain is how often a move whose answer was lost is looked for before it is ordered again.
const movedAgain = 5

// resolve deals with a move whose answer was lost. What is seen on another host has moved. As long as the provider
// says nothing, it may be on its way; after a while the same order finds out, if another look still wants it: what has
// left its host is not moved again.
func (moving) resolve(w *Work, r *fleet.Repair, in fleet.Intent) {
	seen := w.View.Sighting(in.Instance)
	known := seen.Known() && seen.Asked > r.LastOutcome
	away := known && seen.Instance.Host != in.Host
	if !known && r.Retries < movedAgain {
		w.observe(r, in.Instance, in.Host)
		return
	}
	r.Intent = nil
	rec := fleet.Record{Kind: fleet.RecordOutcome, Op: in.Op, Outcome: fleet.OutcomeUnknown, Instance: in.Instance, Generation: in.Generation, Host: in.Host}
	if rec.Detail = "it can be ordered again"; away {
		rec.Detail = "observed on " + string(seen.Instance.Host)
	}
	w.Record(rec)
	if away {
		r.RetryAt, r.AskAt = 0, 0
		moving{}.done(w, r)
		return
	}
	w.repeat(r, in)
}

// deadHost returns the host of the instance if it does not answer.
func (w *Work) deadHost(i fleet.Incarnation) (fleet.Host, bool) {
	if i.None() {
		return fleet.Host{}, false
	}
	return guard.DeadHost(i.Host, w.Situation)
}

// confirmSilent says whether a look that the provider could not answer, since the host does not, confirms the failure all the same: by the checks alone.
func (w *Work) confirmSilent(r fleet.Repair, l fleet.Look) health.Truth {
	h, dead := w.deadHost(r.Target)
	if !dead || l.Seen.Known() || r.Kind != fleet.RepairHeal || !goesElsewhere(r.Step) || !guard.Fenceable(h, w.Situation) {
		return health.Unknown
	}
	return health.ConfirmSilent(&w.Situation.Spec, &l)
}

// Away reports whether the instance was left behind on a host that still does not answer: what was last seen of it counts no more.
func (w *Work) Away(id fleet.InstanceID) bool {
	at := w.M.LeftAt(id)
	if at < 0 {
		return false
	}
	_, dead := w.deadHost(w.M.Left[at].Incarnation)
	return dead
}

// fenceHost makes sure that the target's host is off, which does not answer: somebody knows that it is, or its power is cut.
func (w *Work) fenceHost(r *fleet.Repair, h fleet.Host) {
	known := w.Situation.Whole.ProofOf(h.Name, w.Situation.Now)
	switch {
	case w.Situation.Spec.Repair.Fence.Enough(known):
		w.proven(r, known)
	case r.Kind != fleet.RepairHeal || !guard.MayFence(h, w.Situation) && r.Removed:
		w.wait(fleet.ReasonHostDown)
	case !guard.MayFence(h, w.Situation):
		w.yield(r, fleet.ReasonHostDown)
	case r.OffOrders >= w.mostTries(r, h):
		w.giveUpHost()
	case !r.Removed && !r.Wanted() && r.OffOrders != r.ClearedOrders:
		r.LookAgain() // it could not be proven off: perhaps it answers again meanwhile
	case w.bides(r, h):
	default:
		r.OffOrders++
		w.call(r, fleet.OpFence, r.Target)
		r.Intent.Limit, r.Intent.Try = h.Fence.Limit, r.OffOrders
		if r.Intent.Try > h.Fence.Tries {
			w.Records[len(w.Records)-1].Proof = fleet.ProofAccessCut
		}
		w.Actions[len(w.Actions)-1].Intent = *r.Intent
	}
}

// bides reports whether the host is left as it is for a while yet, so that of two hales that take each other's side for dead one is quicker. Whoever
// was shot meanwhile does not come back to it, and whoever sees the host answer again does not shoot: the time over, the failure is looked at once more.
func (w *Work) bides(r *fleet.Repair, h fleet.Host) bool {
	switch {
	case h.Fence.Delay <= 0:
		return false
	case r.FenceAt == 0:
		r.FenceAt = w.now().Add(h.Fence.Delay)
	case w.Situation.Now.Due(r.FenceAt):
		return false
	}
	if r.RetryAt = r.FenceAt; !r.Removed { // there, nothing is left to look at
		r.RetryAt = 0
		r.LookAgain()
	}
	w.wait(fleet.ReasonFenceDelay)
	return true
}

// mostTries is how often the host can be tried to be fenced for the step. What is to go on elsewhere, and not to be built anew, must be off here.
func (w *Work) mostTries(r *fleet.Repair, h fleet.Host) int {
	if r.Step == fleet.StepEvacuate {
		return h.Fence.Tries
	}
	return h.Fence.Enough(w.Situation.Spec.Repair.Fence)
}

// hostBackoff is the longest between two rounds of tries to fence a host: its controller, or the host itself, may be back at any time.
const hostBackoff = 2 * time.Minute

// giveUpHost: nothing proved the host off, so nothing takes the machine's place (L1). A person is told, and it is tried again later, unless the host is
// back by then.
func (w *Work) giveUpHost() {
	m := w.M
	w.uncount()
	w.end(fleet.ReasonFenceFailed)
	m.Incident.Failed++
	m.RetryAt = w.now().Add(min(Backoff(w.Situation.Spec.Repair.Backoff, m.Incident.Failed), hostBackoff))
	w.wait(fleet.ReasonFenceFailed)
	w.Page(fleet.ReasonFenceFailed)
}

// settleFence takes in how a try to cut the host's power ended.
func (w *Work) settleFence(r *fleet.Repair, o fleet.Outcome) {
	switch {
	case o.Kind == fleet.OutcomeNotSent:
		r.OffOrders--
	case o.Kind == fleet.OutcomeUnknown:
		r.Struck = true
	case o.Kind == fleet.OutcomeDone && w.answersStill():
		w.giveUpFence(fleet.ReasonAnswers) // whoever says off, it is not
		return
	case o.Kind == fleet.OutcomeDone && o.Proof == fleet.ProofAccessCut:
		w.fencedBy(r, o, fleet.ProofAccessCut, fleet.ReasonHostCut)
		return
	case o.Kind == fleet.OutcomeDone:
		w.fencedBy(r, o, fleet.ProofHostOff, fleet.ReasonHostFenced)
		return
	}
	if !r.Removed {
		r.LookAgain()
	}
	w.retry(r)
}

// fencedBy: the host is proven off, or cut. Where hale did that, somebody must see to the host, and give it back what was taken.
func (w *Work) fencedBy(r *fleet.Repair, o fleet.Outcome, p fleet.Proof, told fleet.Reason) {
	if w.Situation.Spec.Repair.Fence.Enough(p) {
		w.proven(r, p)
	} else {
		w.retry(r) // the policy was edited meanwhile, and demands more
	}
	if !o.Already || r.Struck {
		w.Page(told)
	}
}

// answersStill reports whether one of the machine's checks succeeds at this very moment.
func (w *Work) answersStill() bool {
	if w.View.Epoch != w.M.Epoch {
		return false
	}
	for _, c := range w.View.Checks {
		if c.Standing == fleet.StandingUp {
			return true
		}
	}
	return false
}

// cameBack reports whether the rung was chosen because the host did not answer, and it does: a gentler one may do.
func (w *Work) cameBack(r *fleet.Repair) bool {
	if !r.Stranded || r.Kind != fleet.RepairHeal {
		return false
	}
	_, dead := w.deadHost(r.Target)
	return !dead
}

// strands reports whether the target is to be left where it is: on a host that is proven off.
func (w *Work) strands(r *fleet.Repair, policy fleet.Fence) bool {
	_, dead := w.deadHost(r.Target)
	return dead && !r.Removed && r.Kind == fleet.RepairHeal && policy.Enough(r.Proof)
}

// leave gives the target's place up: it stays on its host, which is off, until that is back.
func (w *Work) leave(r *fleet.Repair) {
	w.M.Leave(r.Target, r.Proof, w.Situation.Now)
	w.Record(fleet.Record{Kind: fleet.RecordLeftBehind, Instance: r.Target.ID, Generation: r.Target.Generation, Host: r.Target.Host, Proof: r.Proof})
	w.removed(r)
}

// cutCounts is for how long a host that was seen cut may be built upon: whoever cut it knows better than what hale remembers.
const cutCounts = 5 * time.Second

// stale reports whether the build would rest on a cut that was seen too long ago, as when there was nowhere to build. It is seen once more first.
func (w *Work) stale(r *fleet.Repair) bool {
	if r.Proof != fleet.ProofAccessCut || w.now().Sub(r.ProvenAt) <= cutCounts {
		return false
	}
	w.disprove(r)
	return true
}

// disprove lets a proof go that counts no more. A host that was cut is cut anew, with all the tries that there are.
func (w *Work) disprove(r *fleet.Repair) {
	if r.Proof == fleet.ProofAccessCut {
		r.OffOrders, r.ClearedOrders = 0, 0
	}
	r.Proof = fleet.ProofNone
}

// lapsed reports whether the proof rests on the host's being off, and the host answers by now, or the word that it is off counts no more; or on its being
// cut, and that is not as fresh as it must be.
func (w *Work) lapsed(r *fleet.Repair) bool {
	h, dead := w.deadHost(r.Target)
	switch r.Proof {
	case fleet.ProofHostOff:
		return !dead
	case fleet.ProofWord:
		return !dead || w.Situation.Whole.ProofOf(h.Name, w.Situation.Now) == fleet.ProofNone
	case fleet.ProofAccessCut:
		return !dead || r.ProvenAt == 0 || h.Fence.Access == fleet.AccessOpen && h.Fence.AccessAt > r.ProvenAt
	default:
	}
	return false
}

// holds reports whether the target's proof is worth enough to go on with: it is off, or cut where the policy demands no more.
func (w *Work) holds(r *fleet.Repair, policy fleet.Fence) bool {
	return r.Proof.Off() || r.Proof == fleet.ProofAccessCut && policy.Enough(r.Proof)
}

// HeldCut reports whether the instance was left behind cut, and its host, which answers, is known to be cut still: then it is turned off as any other.
func (w *Work) HeldCut(id fleet.InstanceID) bool {
	at := w.M.LeftAt(id)
	if at < 0 || !w.M.Left[at].Cut() || w.View.Sighting(id).Instance.Host != w.M.Left[at].Host { // somebody may have moved it
		return false
	}
	return slices.ContainsFunc(w.Situation.Hosts, func(h fleet.Host) bool {
		return h.Name == w.M.Left[at].Host && h.Up && h.Fence.Access == fleet.AccessCut && h.Fence.AccessAt > w.M.Left[at].Since
	})
}

// takeBack makes what was left behind the machine again, where a repair ends without anything in its place: the next one looks at it and proves it off
// anew, since whoever turned its host on meanwhile may have started it, too.
func (w *Work) takeBack(r *fleet.Repair) {
	if !r.Removed || !w.M.Current.None() || w.M.LeftAt(r.Target.ID) < 0 {
		return
	}
	w.M.Current = r.Target
	w.M.Retrieve(r.Target.ID)
	w.M.Epoch++
}

// leftRuns reports whether something that was left behind off is known to run by now, or what was left behind cut to be so no more: nothing is built
// beside it (L1).
func (w *Work) leftRuns() bool {
	return w.M.Rivalled() || slices.ContainsFunc(w.M.Left, func(l fleet.LeftBehind) bool {
		return !w.Away(l.ID) && w.View.Sighting(l.ID).Instance.Power == fleet.PowerRunning
	})
}

// moving is the operation of the steps evacuate and migrate.
type moving struct{ onTheSpot }

func (moving) undone(r *fleet.Repair) { r.LookAgain() }

// evacuate is the step away from a host that does not answer.
type evacuate struct{}

func (evacuate) op(fleet.Step) fleet.Op { return fleet.OpEvacuate }

func (evacuate) applies(m *fleet.Machine, spec *fleet.Spec, step fleet.Step) fleet.Reason {
	return rebuild{}.applies(m, spec, step)
}

func (evacuate) leaves(_, dead bool) fleet.Reason {
	if !dead {
		return fleet.ReasonHostUp
	}
	return ""
}

// migrate is the step away from a host that is disabled.
type migrate struct{}

func (migrate) op(fleet.Step) fleet.Op { return fleet.OpMigrate }

func (migrate) applies(m *fleet.Machine, _ *fleet.Spec, _ fleet.Step) fleet.Reason { return idle(m) }

func (migrate) leaves(disabled, _ bool) fleet.Reason {
	if !disabled {
		return fleet.ReasonHostEnabled
	}
	return ""
}
