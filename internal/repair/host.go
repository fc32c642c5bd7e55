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
	if h, dead := guard.DeadHost(m.Current.Host, s); !dead || !guard.Fenceable(h, s) {
		return "" // where nothing is done anyway
	}
	switch step.Kind {
	case fleet.StepPage, fleet.StepQuarantine:
		return ""
	case fleet.StepRecreate:
		if _, lost := s.Spec.Template.DiskLost(); lost {
			return fleet.ReasonDiskKept // it could not even be kept aside
		}
		return ""
	default:
		return fleet.ReasonHostDown
	}
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
	if !dead || l.Seen.Known() || r.Kind != fleet.RepairHeal || r.Step != fleet.StepRecreate || !guard.Fenceable(h, w.Situation) {
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
	case r.OffOrders >= h.Fence.Tries:
		w.giveUpHost()
	case !r.Removed && !r.Wanted() && r.OffOrders != r.ClearedOrders:
		r.LookAgain() // it could not be proven off: perhaps it answers again meanwhile
	default:
		r.OffOrders++
		w.call(r, fleet.OpFence, r.Target)
		r.Intent.Limit, r.Intent.Try = h.Fence.Limit, r.OffOrders
		w.Actions[len(w.Actions)-1].Intent = *r.Intent
	}
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
	case o.Kind == fleet.OutcomeDone && w.answersStill():
		w.giveUpFence(fleet.ReasonAnswers) // whoever says off, it is not
		return
	case o.Kind == fleet.OutcomeDone:
		w.proven(r, fleet.ProofHostOff)
		if !o.Already {
			w.Page(fleet.ReasonHostFenced) // somebody must see to the host, and turn it on again
		}
		return
	}
	if !r.Removed {
		r.LookAgain()
	}
	w.retry(r)
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
	w.M.Leave(r.Target, r.Proof, w.Situation.Now.Wall)
	w.Record(fleet.Record{Kind: fleet.RecordLeftBehind, Instance: r.Target.ID, Generation: r.Target.Generation, Host: r.Target.Host, Proof: r.Proof})
	w.removed(r)
}

// lapsed reports whether the proof rests on the host's being off, and the host answers by now, or the word that it is off counts no more.
func (w *Work) lapsed(r *fleet.Repair) bool {
	h, dead := w.deadHost(r.Target)
	switch r.Proof {
	case fleet.ProofHostOff:
		return !dead
	case fleet.ProofWord:
		return !dead || w.Situation.Whole.ProofOf(h.Name, w.Situation.Now) == fleet.ProofNone
	default:
	}
	return false
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

// leftRuns reports whether something that was left behind off is known to run by now: nothing is built beside it (L1).
func (w *Work) leftRuns() bool {
	return slices.ContainsFunc(w.M.Left, func(l fleet.LeftBehind) bool {
		return !w.Away(l.ID) && w.View.Sighting(l.ID).Instance.Power == fleet.PowerRunning
	})
}
