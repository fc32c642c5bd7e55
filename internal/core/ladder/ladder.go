// Package ladder says which of its steps fits a machine as it stands, with which of them a repair would begin, and why
// none may. What a step does, package repair knows.
//
// It promises that whatever stands still with its memory intact is never reset or replaced, and that nothing is put in
// the place of what was not seen whole. It changes nothing.
package ladder

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// NeverStood reports whether the machine's only instance is a build that never became healthy, or already gone: it is
// built anew, unless it is protected, or only hearsay speaks against it. Then it may serve users all the same.
func NeverStood(m *belief.Machine, s *guard.Situation) bool {
	gone := m.Current.None() && m.Incident != nil && m.Incident.Cause == belief.CauseBuild
	return (gone || m.Current.Expired && !s.Spec.Protects(m.Name)) && !guard.Hearsay(m, s)
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
	if r := Unfit(m, s, step); r != "" {
		return r
	}
	if slices.Contains(s.Cannot, OpOf(step)) {
		return fleet.ReasonUnsupported
	}
	if r := Keepable(m, s, step); r != "" {
		return r
	}
	if p := guard.Parent(m, s); p != nil && guard.Evacuating(m, p, s) {
		return guard.SharedFate(m, s, step.Kind)
	}
	return ""
}

// Outdated reports whether the rung of the machine's repair no longer fits: the cause changed, or the ladder was edited
// since it was chosen.
func Outdated(m *belief.Machine, s *guard.Situation) bool {
	r := m.Repair
	if r.Kind != belief.RepairHeal || r.Rung == belief.NoRung || m.Health.Verdict != belief.VerdictUnhealthy {
		return false
	}
	step, ok := s.Spec.Repair.Step(r.Rung)
	return !ok || step.Kind != r.Step || (r.OffCalls == 0 && Unfit(m, s, step) != "")
}

// Unfit says why the step is not for the machine as it stands.
func Unfit(m *belief.Machine, s *guard.Situation, step policy.Step) fleet.Reason {
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
	reason, _ := Lacks(m, s.View, step, m.Current)
	return reason
}

// FactsOf are what is known of the machine's instance for a command.
func FactsOf(m *belief.Machine, v *situation.View, on belief.Incarnation) policy.Facts {
	f := policy.Facts{Machine: m.Name, Instance: on.ID, Host: on.Host, Address: m.Address}
	if v != nil {
		f.Metadata = v.Sighting(on.ID).Instance.Metadata
	}
	return f
}

// Lacks returns why the step's command cannot be told of the instance what it is to be told, and the placeholder;
// empty: it can.
func Lacks(m *belief.Machine, v *situation.View, step policy.Step, on belief.Incarnation) (why fleet.Reason,
	placeholder string) {
	if step.Kind != fleet.StepRun {
		return "", ""
	}
	facts := FactsOf(m, v, on)
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
	if NeverStood(m, s) {
		return fleet.StepRecreate, true
	}
	for rung, step := range s.Spec.Repair.Steps {
		if PassedOver(m, s, rung) == "" {
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
		fleet.ReasonStarts, fleet.ReasonNoWitness, fleet.ReasonRepairRate, fleet.ReasonAfter:
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

// Spared returns the rungs that are for other checks than those that are down.
func Spared(m *belief.Machine, s *guard.Situation) belief.Rungs {
	var out belief.Rungs
	for rung, step := range s.Spec.Repair.Steps {
		if !concerns(m, s.View, step) {
			out = out.With(rung)
		}
	}
	return out
}

// PassedOver says why the ladder passes the rung over. A copy is only made for a later step that would lose something.
func PassedOver(m *belief.Machine, s *guard.Situation, rung int) fleet.Reason {
	steps := s.Spec.Repair.Steps
	if steps[rung].Kind != fleet.StepSnapshot || Unfit(m, s, steps[rung]) != "" {
		return skipped(m, s, steps[rung])
	}
	for _, later := range steps[rung+1:] {
		if (later.Kind == fleet.StepRebuild || later.Kind == fleet.StepRecreate) && skipped(m, s, later) == "" {
			return skipped(m, s, steps[rung])
		}
	}
	return fleet.ReasonNothingAfter
}

// Demanded reports whether the ladder must not go on without the copy that cannot be made.
func Demanded(step policy.Step, why fleet.Reason) bool {
	return step.Kind == fleet.StepSnapshot && step.OnFailure != policy.OnFailureContinue &&
		why == fleet.ReasonUnsupported
}

// Keepable says why a recreate that keeps the old instance cannot; empty: it can, or has nothing to keep.
func Keepable(m *belief.Machine, s *guard.Situation, step policy.Step) fleet.Reason {
	switch {
	case step.KeepOld == 0:
		return ""
	case slices.Contains(s.Cannot, fleet.OpKeep), m.Current.Adopted: // it bears no mark that would say that it is kept
		return fleet.ReasonUnsupported
	case len(m.Kept) >= belief.MostKept:
		return fleet.ReasonTooManyKept
	}
	return ""
}

// toLeave says why the step is not for the machine, as its host stands: from a disabled host a step must lead away,
// and no step leaves a host that is as it should be.
func toLeave(m *belief.Machine, s *guard.Situation, step policy.Step) fleet.Reason {
	_, dead := guard.DeadHost(m.Current.Host, s)
	return rungOf(step.Kind).leaves(m.Health.Cause == belief.CauseDisabled, dead)
}

// MakesRoom reports whether a repair that is held before its next step ends, since that may take as long as it likes.
// What comes after a start in vain, the brake holds for long.
func MakesRoom(held fleet.Reason, r *belief.Repair) bool {
	switch held {
	case fleet.ReasonHold, fleet.ReasonWindow, fleet.ReasonAfter, fleet.ReasonHostDown, fleet.ReasonNoWitness:
		return true
	case fleet.ReasonBrake:
		return r.Revives
	default:
		return false
	}
}
