package repair

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ladder"
	"hale/internal/core/record"
)

// chooseRung takes the first rung, from the given one on, that may be tried.
func (w *Work) chooseRung(from int) onward {
	m := w.M
	w.TakeBack(m.Repair)
	if from == 0 && ladder.NeverStood(m, w.Situation) {
		// It was never healthy: gentler steps would only repeat what its boot did. It is built anew.
		return w.takeRung(belief.NoRung, fleet.StepRecreate)
	}
	steps := w.Situation.Spec.Repair.Steps
	for rung := max(from, 0); rung < len(steps); rung++ {
		reason := ladder.PassedOver(m, w.Situation, rung)
		if reason == "" {
			return w.takeRung(rung, steps[rung].Kind)
		}
		_, placeholder := ladder.Lacks(m, w.View, steps[rung], m.Current)
		w.Record(record.Record{Kind: record.StepSkipped, Step: steps[rung].Kind, Reason: reason,
			Detail: placeholder})
		if ladder.Demanded(steps[rung], reason) {
			return w.quarantine(fleet.ReasonSnapshotFailed, string(reason))
		}
	}
	if len(steps) == 0 || from == 0 {
		return w.quarantine(fleet.ReasonNoStep, "")
	}
	return w.failAttempt(fleet.ReasonExhausted, "")
}

func (w *Work) takeRung(rung int, kind fleet.StepKind) onward {
	r, target := w.M.Repair, w.M.Current
	_, dead := w.DeadHost(target)
	r.Hooks = r.Hooks.Anew(fleet.MomentApprove) // of another step a person is asked again
	r.Climb = belief.Climb{Rung: rung, Step: kind, Stranded: dead, Aim: belief.AimAt(target)}
	w.Record(record.Record{Kind: record.StepChosen, Step: kind, Cause: w.M.Health.Cause, Instance: target.ID,
		Generation: target.Generation})
	if target.None() { // there is nothing to fence
		return w.enter(belief.PhaseAct)
	}
	return w.enter(belief.PhaseLook)
}

// act decides the rung's next call. Steps already true are no-ops.
func (w *Work) act(r *belief.Repair) onward {
	switch {
	case r.Kind == belief.RepairUndo:
		return exchange{w, r}.undo()
	case r.Kind == belief.RepairTidy:
		return w.call(r, fleet.OpDropSnapshot, r.Target)
	case r.Kind == belief.RepairOperate && r.Step == fleet.StepStop:
		return ordered{w, r}.stop()
	case r.Kind == belief.RepairOperate && r.Step == fleet.StepMigrate && w.M.Moved > r.LastOutcome:
		return w.verifyFrom() // a call without an answer moved it after all
	case r.InPlace != nil:
		return exchange{w, r}.adjust()
	case r.Step == fleet.StepSnapshot:
		return copier{w, r}.order()
	case r.Kind == belief.RepairRemnant || r.Step == fleet.StepRecreate:
		return exchange{w, r}.replace()
	case r.Step == fleet.StepRebuild:
		return exchange{w, r}.rebuild()
	case r.Step == fleet.StepRevert:
		return exchange{w, r}.revert()
	case r.Step == fleet.StepEvacuate:
		return exchange{w, r}.evacuate()
	case r.Step == fleet.StepPage:
		w.Page(fleet.ReasonStepPage)
		if belief.VerifyTime(w.Situation.Spec, *r) > 0 {
			return w.enter(belief.PhaseVerify)
		}
		return w.chooseRung(r.Rung + 1)
	case r.Step == fleet.StepQuarantine:
		return w.quarantine(fleet.ReasonStepLeave, "")
	case r.Step == fleet.StepRun:
		return w.run(r)
	}
	return w.call(r, ladder.OpOf(belief.CurrentStep(w.Situation.Spec, *r)), r.Target)
}

// run executes the step's command, unless what it is to be told of the instance is not known any more, or would be
// taken for something else.
func (w *Work) run(r *belief.Repair) onward {
	if why, placeholder := ladder.Lacks(w.M, w.View, belief.CurrentStep(w.Situation.Spec, *r), r.Target); why != "" {
		return w.failRung(why, placeholder)
	}
	return w.call(r, fleet.OpRun, r.Target)
}

// Worsen takes the machine out of quarantine when more fails now than what it was put there for, so that a step may
// help that was not for that, and reports whether it did. Once per incident: a check that comes and goes is no reason
// to begin again and again.
func (w *Work) Worsen() bool {
	m := w.M
	q := m.Quarantine
	if q == nil || q.Stays || q.Spared == 0 || m.Incident.Worsened || m.Health.Verdict != belief.VerdictUnhealthy ||
		guard.LeftAlone(m.Health.Cause, &w.Situation.Spec) {
		return false
	}
	for rung, step := range w.Situation.Spec.Repair.Steps {
		if !q.Spared.Has(rung) || step.Kind == fleet.StepPage || step.Kind == fleet.StepQuarantine ||
			ladder.Unfit(m, w.Situation, step) != "" {
			continue
		}
		m.Quarantine, m.Waiting = nil, ""
		m.Attempts, m.RetryAt = nil, 0
		m.Incident.Worsened, m.Incident.Failed, m.Incident.Paged = true, 0, false
		w.Record(record.Record{Kind: record.QuarantineOver, Reason: fleet.ReasonWorsened, Step: step.Kind,
			Cause: m.Health.Cause, Check: m.Health.Check, Result: m.Health.Result, Instance: m.Current.ID})
		return true
	}
	return false
}
