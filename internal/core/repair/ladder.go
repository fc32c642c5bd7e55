package repair

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// chooseRung takes the first rung, from the given one on, that may be tried.
func (w *Work) chooseRung(from int) onward {
	m := w.M
	w.TakeBack(m.Repair)
	if from == 0 && neverStood(m, w.Situation) {
		// It was never healthy: gentler steps would only repeat what its boot did. It is built anew.
		return w.takeRung(belief.NoRung, fleet.StepRecreate)
	}
	steps := w.Situation.Spec.Repair.Steps
	for rung := max(from, 0); rung < len(steps); rung++ {
		reason := passedOver(m, w.Situation, rung)
		if reason == "" {
			return w.takeRung(rung, steps[rung].Kind)
		}
		_, placeholder := lacks(m, w.View, steps[rung], m.Current)
		w.Record(record.Record{Kind: record.StepSkipped, Step: steps[rung].Kind, Reason: reason,
			Detail: placeholder})
		if demanded(steps[rung], reason) {
			return w.quarantine(fleet.ReasonSnapshotFailed, string(reason))
		}
	}
	if len(steps) == 0 || from == 0 {
		return w.quarantine(fleet.ReasonNoStep, "")
	}
	return w.failAttempt(fleet.ReasonExhausted, "")
}

// neverStood reports whether the machine's only instance is a build that never became healthy, or already gone: it is
// built anew, unless it is protected, or only hearsay speaks against it. Then it may serve users all the same.
func neverStood(m *belief.Machine, s *guard.Situation) bool {
	gone := m.Current.None() && m.Incident != nil && m.Incident.Cause == belief.CauseBuild
	return (gone || m.Current.Expired && !s.Spec.Protects(m.Name)) && !guard.Hearsay(m, s)
}

func (w *Work) takeRung(rung int, kind fleet.StepKind) onward {
	r, target := w.M.Repair, w.M.Current
	_, dead := w.DeadHost(target)
	r.Climb = belief.Climb{Rung: rung, Step: kind, Stranded: dead, Aim: belief.AimAt(target)}
	w.Record(record.Record{Kind: record.StepChosen, Step: kind, Cause: w.M.Health.Cause, Instance: target.ID,
		Generation: target.Generation})
	if target.None() { // there is nothing to fence
		return w.enter(belief.PhaseAct)
	}
	return w.enter(belief.PhaseLook)
}

// Precondition says why the step does not apply to the machine as it stands; empty when it applies. Whatever stands
// still with its memory intact can go on where it was: it is resumed, or left alone, and never reset or replaced.
func Precondition(m *belief.Machine, spec *policy.Spec, step policy.Step) fleet.Reason {
	return rungOf(step.Kind).applies(m, spec, step)
}

// missing reports whether the machine has no instance.
func missing(m *belief.Machine) bool { return m.Current.None() || m.Health.Cause == belief.CauseGone }

// replaceable says why nothing may be put in the place of the instance or of its disk.
func replaceable(m *belief.Machine, spec *policy.Spec, step policy.Step) fleet.Reason {
	if m.Health.Cause.Halted() {
		return fleet.ReasonHalted
	}
	if _, lost := spec.Template.DiskLost(); lost && step.KeepOld == 0 {
		return fleet.ReasonDiskKept
	}
	if m.Current.Irreplaceable {
		return fleet.ReasonIrreplaceable
	}
	if !m.Current.None() && !m.Current.Replaceable() {
		return fleet.ReasonNotCertified
	}
	return ""
}

// idle says why there is nothing that runs and could be worked on.
func idle(m *belief.Machine) fleet.Reason {
	cause := m.Health.Cause
	switch {
	case m.Current.None() || cause == belief.CauseGone:
		return fleet.ReasonNoInstance
	case cause.Off():
		return fleet.ReasonNotRunning
	case cause.Halted():
		return fleet.ReasonHalted
	}
	return ""
}

// skipped says why the ladder passes the step over: it does not fit, the provider cannot do it, or the machine is to be
// evacuated, which a step on the spot would not do.
func skipped(m *belief.Machine, s *guard.Situation, step policy.Step) fleet.Reason {
	if r := unfit(m, s, step); r != "" {
		return r
	}
	if slices.Contains(s.Cannot, OpOf(step)) {
		return fleet.ReasonUnsupported
	}
	if r := keepable(m, s, step); r != "" {
		return r
	}
	if p := guard.Parent(m, s); p != nil && guard.Evacuating(m, p, s) {
		return guard.SharedFate(m, s, step.Kind)
	}
	return ""
}

// unfit says why the step is not for the machine as it stands.
func unfit(m *belief.Machine, s *guard.Situation, step policy.Step) fleet.Reason {
	if r := Precondition(m, &s.Spec, step); r != "" {
		return r
	}
	if r := guard.OffHost(m, s, step); r != "" {
		return r
	}
	if r := toLeave(m, s, step); r != "" {
		return r
	}
	if s.Spec.Protects(m.Name) && !step.Kind.Gentle() {
		return fleet.ReasonProtected
	}
	if step.Kind.Builds() && guard.Hearsay(m, s) {
		return fleet.ReasonSharedToken
	}
	if !concerns(m, s.View, step) {
		return fleet.ReasonNotFor
	}
	reason, _ := lacks(m, s.View, step, m.Current)
	return reason
}

// factsOf are what is known of the machine's instance for a command.
func factsOf(m *belief.Machine, v *situation.View, on belief.Incarnation) policy.Facts {
	f := policy.Facts{Machine: m.Name, Instance: on.ID, Host: on.Host, Address: m.Address}
	if v != nil {
		f.Metadata = v.Sighting(on.ID).Instance.Metadata
	}
	return f
}

// lacks returns why the step's command cannot be told of the instance what it is to be told, and the placeholder;
// empty: it can.
func lacks(m *belief.Machine, v *situation.View, step policy.Step, on belief.Incarnation) (why fleet.Reason,
	placeholder string) {
	if step.Kind != fleet.StepRun {
		return "", ""
	}
	facts := factsOf(m, v, on)
	if placeholder = facts.Unknown(step.Run.Texts()...); placeholder != "" {
		return fleet.ReasonNoMetadata, placeholder
	}
	if placeholder = facts.Unfit(step.Run.Args, step.Run.Env); placeholder != "" {
		return fleet.ReasonUnfit, placeholder
	}
	return "", ""
}

// concerns reports whether one of the checks that the step is for is down. When the provider itself says that the
// machine does not run, what its checks say is no fault of its own.
func concerns(m *belief.Machine, v *situation.View, step policy.Step) bool {
	switch {
	case len(step.For) == 0:
		return true
	case m.Current.None() || m.Health.Cause.Stopped():
		return slices.Contains(step.For, policy.ProviderTerm)
	case v == nil || v.Epoch != m.Epoch:
		return false
	}
	return slices.ContainsFunc(v.Checks, func(c fleet.CheckState) bool {
		return c.Standing == fleet.StandingDown && slices.Contains(step.For, c.Check)
	})
}

// OpOf returns the operation that the step needs the provider to have; empty: none.
func OpOf(step policy.Step) fleet.Op { return rungOf(step.Kind).op(step) }

// FirstStep returns the step that a repair of the machine would begin with, and whether there is one.
func FirstStep(m *belief.Machine, s *guard.Situation) (fleet.StepKind, bool) {
	if neverStood(m, s) {
		return fleet.StepRecreate, true
	}
	for rung, step := range s.Spec.Repair.Steps {
		if passedOver(m, s, rung) == "" {
			return step.Kind, true
		}
	}
	return "", false
}

// Admit says why no repair may begin for a machine with an open incident, and which step one would begin with. A parent
// incident weighs more than whatever else would pass by itself. When the time has come to evacuate, hearsay does not
// do.
func Admit(m *belief.Machine, s *guard.Situation) (held fleet.Reason, step fleet.StepKind) {
	step, some := FirstStep(m, s)
	held = guard.NewRepair(m, s, step)
	if held == "" && !some && s.Spec.Protects(m.Name) {
		held = fleet.ReasonProtected
	}
	switch held {
	case "", fleet.ReasonBrake, fleet.ReasonUnclear, fleet.ReasonUndecided, fleet.ReasonBackoff, fleet.ReasonBudget,
		fleet.ReasonStarts, fleet.ReasonNoWitness, fleet.ReasonRepairRate:
		r := guard.SharedFate(m, s, step)
		if r != "" && guard.Evacuating(m, guard.Parent(m, s), s) && guard.Hearsay(m, s) {
			r = fleet.ReasonSharedToken
		}
		if r != "" {
			return r, step
		}
	default:
	}
	return held, step
}

// act decides the rung's next call. Steps already true are no-ops.
func (w *Work) act(r *belief.Repair) onward {
	switch {
	case r.Kind == belief.RepairUndo:
		return exchange{w, r}.undo()
	case r.Kind == belief.RepairTidy:
		return w.call(r, fleet.OpDropSnapshot, r.Target)
	case r.Step == fleet.StepSnapshot:
		return copier{w, r}.order()
	case r.Kind == belief.RepairRemnant || r.Step == fleet.StepRecreate:
		return exchange{w, r}.replace()
	case r.Step == fleet.StepRebuild:
		return exchange{w, r}.rebuild()
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
	return w.call(r, OpOf(belief.CurrentStep(w.Situation.Spec, *r)), r.Target)
}

// run executes the step's command, unless what it is to be told of the instance is not known any more, or would be
// taken for something else.
func (w *Work) run(r *belief.Repair) onward {
	if why, placeholder := lacks(w.M, w.View, belief.CurrentStep(w.Situation.Spec, *r), r.Target); why != "" {
		return w.failRung(why, placeholder)
	}
	return w.call(r, fleet.OpRun, r.Target)
}

// spared returns the rungs that are for other checks than those that are down.
func (w *Work) spared() belief.Rungs {
	var out belief.Rungs
	for rung, step := range w.Situation.Spec.Repair.Steps {
		if !concerns(w.M, w.Situation.View, step) {
			out = out.With(rung)
		}
	}
	return out
}

// Worsen takes the machine out of quarantine when more fails now than what it was put there for, so that a step may
// help that was not for that, and reports whether it did. Once per incident: a check that comes and goes is no reason
// to begin again and again.
func (w *Work) Worsen() bool {
	m := w.M
	q := m.Quarantine
	if q == nil || q.Spared == 0 || m.Incident.Worsened || m.Health.Verdict != belief.VerdictUnhealthy ||
		guard.LeftAlone(m.Health.Cause, &w.Situation.Spec) {
		return false
	}
	for rung, step := range w.Situation.Spec.Repair.Steps {
		if !q.Spared.Has(rung) || step.Kind == fleet.StepPage || step.Kind == fleet.StepQuarantine ||
			unfit(m, w.Situation, step) != "" {
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
