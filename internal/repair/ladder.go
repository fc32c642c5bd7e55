package repair

import (
	"hale/internal/fleet"
)

// chooseRung takes the first rung from the given one whose precondition holds.
func (w *Work) chooseRung(from int) {
	m, r := w.M, w.M.Repair
	r.Target, r.Next = m.Current, fleet.Incarnation{}
	r.LookAgain()
	r.Removed = false
	if from == 0 && neverStood(*m) {
		// It was never healthy: gentler steps would only repeat what its boot did. It is built anew.
		w.takeRung(fleet.NoRung, fleet.StepRecreate)
		return
	}
	steps := w.Situation.Spec.Repair.Steps
	for rung := from; rung < len(steps); rung++ {
		reason := Precondition(*m, w.Situation.Spec, steps[rung].Kind)
		if reason == "" {
			w.takeRung(rung, steps[rung].Kind)
			return
		}
		w.record(fleet.Record{Kind: fleet.RecordStepSkipped, Step: steps[rung].Kind, Reason: reason})
	}
	if len(steps) == 0 || from == 0 {
		w.quarantine(fleet.ReasonNoStep, "")
		return
	}
	w.failAttempt(fleet.ReasonExhausted)
}

// neverStood reports whether the machine's only instance is a build that never became healthy, or already gone.
func neverStood(m fleet.Machine) bool {
	return m.Current.Expired || (m.Current.None() && m.Incident != nil && m.Incident.Cause == fleet.CauseBuild)
}

func (w *Work) takeRung(rung int, kind fleet.StepKind) {
	r := w.M.Repair
	r.Rung, r.Step = rung, kind
	w.record(fleet.Record{Kind: fleet.RecordStepChosen, Step: kind, Cause: w.M.Health.Cause, Instance: r.Target.ID,
		Generation: r.Target.Generation})
	if r.Target.None() {
		r.Removed, r.Proof = true, fleet.ProofDeleted // there is nothing to fence
		w.enter(fleet.PhaseAct)
		return
	}
	w.enter(fleet.PhaseLook)
}

// Precondition says why the step does not apply to the machine as it stands; empty when it applies.
func Precondition(m fleet.Machine, spec fleet.Spec, step fleet.StepKind) fleet.Reason {
	cause := m.Health.Cause
	switch step {
	case fleet.StepStart:
		switch {
		case m.Current.None() || cause == fleet.CauseGone:
			return fleet.ReasonNoInstance
		case cause == fleet.CauseOff, cause == fleet.CauseStopped, cause == fleet.CauseCrashed:
			return ""
		}
		return fleet.ReasonNotOff
	case fleet.StepReboot:
		switch {
		case m.Current.None() || cause == fleet.CauseGone:
			return fleet.ReasonNoInstance
		case cause == fleet.CauseOff, cause == fleet.CauseStopped, cause == fleet.CauseCrashed:
			return fleet.ReasonNotRunning
		}
	case fleet.StepRecreate:
		if _, lost := spec.Template.DiskLost(); lost {
			return fleet.ReasonDiskKept
		}
		if !m.Current.None() && !m.Current.Replaceable() {
			return fleet.ReasonNotCertified
		}
	}
	return ""
}

// FirstStep returns the step that a repair of the machine would begin with, and whether there is one.
func FirstStep(m fleet.Machine, spec fleet.Spec) (fleet.StepKind, bool) {
	if neverStood(m) {
		return fleet.StepRecreate, true
	}
	for _, s := range spec.Repair.Steps {
		if Precondition(m, spec, s.Kind) == "" {
			return s.Kind, true
		}
	}
	return "", false
}

// act decides the rung's next call. Steps already true are no-ops.
func (w *Work) act(r *fleet.Repair) {
	switch {
	case r.Kind == fleet.RepairRemnant || r.Step == fleet.StepRecreate:
		w.replace(r)
	case r.Step == fleet.StepStart:
		w.call(r, fleet.OpStart, r.Target)
	case r.Step == fleet.StepReboot:
		w.call(r, fleet.OpReboot, r.Target)
	}
}

// replace fences the target, removes it, and builds its successor; each only if it is still to be done.
func (w *Work) replace(r *fleet.Repair) {
	switch {
	case !r.Target.None() && !r.Removed && !r.Proof.Meets(fleet.ProofConfirmedOff):
		w.fence(r)
	case !r.Target.None() && !r.Removed && r.Proof == fleet.ProofDeleted:
		w.removed(r)
	case !r.Target.None() && !r.Removed:
		w.call(r, fleet.OpDelete, r.Target)
	case r.Kind == fleet.RepairRemnant:
		w.M.Strays = w.M.Strays[1:]
		w.end(fleet.ReasonRemoved)
	case !r.Target.None() && !r.Proof.Meets(w.Situation.Spec.Repair.Fence.Proof):
		w.proveDeleted(r)
	default:
		w.build(r)
	}
}

// fence makes sure that the target cannot run: ordered off, then seen off.
func (w *Work) fence(r *fleet.Repair) {
	seen := w.View.Sighting(r.Target.ID)
	if !seen.Known() || seen.Asked <= r.LastOutcome {
		w.observe(r, r.Target.ID, r.Target.Host)
		return
	}
	switch seen.Instance.Power {
	case fleet.PowerGone:
		w.proven(r, fleet.ProofDeleted)
	case fleet.PowerOff:
		w.proven(r, fleet.ProofConfirmedOff)
	case fleet.PowerRunning, fleet.PowerPaused, fleet.PowerCrashed, fleet.PowerError, fleet.PowerUnknown:
		if r.OffOrders >= maxOffOrders {
			w.giveUpFence(fleet.ReasonStillRunning)
			return
		}
		r.OffOrders++
		w.call(r, fleet.OpPowerOff, r.Target)
	}
}

// giveUpFence: without proof there is no replacement (L1). A person must look.
func (w *Work) giveUpFence(why fleet.Reason) {
	if w.M.Repair.Kind == fleet.RepairRemnant {
		w.failAttempt(why)
		return
	}
	w.quarantine(fleet.ReasonNoProof, string(why))
}

func (w *Work) proven(r *fleet.Repair, p fleet.Proof) {
	r.Proof = p
	w.record(fleet.Record{Kind: fleet.RecordProof, Proof: p, Instance: r.Target.ID, Generation: r.Target.Generation})
}

// proveDeleted asks for the stricter proof after a delete.
func (w *Work) proveDeleted(r *fleet.Repair) {
	seen := w.View.Sighting(r.Target.ID)
	switch {
	case !seen.Known() || seen.Asked <= r.LastOutcome:
		w.observe(r, r.Target.ID, r.Target.Host)
	case seen.Instance.Power == fleet.PowerGone:
		w.proven(r, fleet.ProofDeleted)
	default:
		w.giveUpFence(fleet.ReasonDeleteFailed)
	}
}

// removed clears the machine's place: from here on it has no instance until its successor stands.
func (w *Work) removed(r *fleet.Repair) {
	r.Removed = true
	if w.M.Current.ID == r.Target.ID {
		w.M.Current = fleet.Incarnation{}
		w.M.Epoch++
		w.M.Acted = w.now()
	}
}

// build allots the next generation and orders it.
func (w *Work) build(r *fleet.Repair) {
	host, ok := w.place(r.ID)
	if r.Next.Host != "" {
		host, ok = r.Next.Host, true // an earlier order of this repair may yet appear there: its name guards the place
	}
	if !ok {
		w.wait(fleet.ReasonHostDown)
		w.retry(r)
		return
	}
	w.M.Generation++
	r.Next = fleet.Incarnation{ID: w.View.FreshID, Generation: w.M.Generation, Host: host}
	w.call(r, fleet.OpCreate, r.Next)
}

// place chooses the host with the fewest of the fleet's instances; equals are told apart by a hash of the repair's id.
func (w *Work) place(id string) (fleet.HostName, bool) {
	best, found := fleet.HostName(""), false
	for _, h := range w.Situation.Hosts {
		if !h.Up {
			continue
		}
		if !found || w.Load[h.Name] < w.Load[best] || (w.Load[h.Name] == w.Load[best] && rank(id, h.Name) < rank(id, best)) {
			best, found = h.Name, true
		}
	}
	return best, found
}
