// Package chore judges what a person has hale do with one machine, be it well or not: replace, start, stop, reboot or
// migrate it.
//
// It promises that what stands against it for good is said at once, and that one thing at a time is done with a
// machine: who has it in hand is named. When it may begin is for package guard, and how it goes for package repair.
package chore

import (
	"cmp"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/ladder"
	"hale/internal/core/policy"
)

// Step returns the step that carries the order out on the machine as it stands.
func Step(k fleet.OrderKind, m *belief.Machine) fleet.StepKind {
	if m.Health.Cause.Halted() {
		return k.Step().Resumed()
	}
	return k.Step()
}

// Copy returns the copy of the machine's disks that the order has put back: the one that it names, or the youngest.
// Empty: there is none that is whole, and lies on the host of the machine's instance.
func Copy(o *fleet.Order, m *belief.Machine) fleet.SnapshotID {
	for _, d := range slices.Backward(m.Snapshots) {
		if (o.Copy == "" || d.ID == o.Copy) && m.IsWhole(d.ID, m.Current.Host) {
			return d.ID
		}
	}
	return ""
}

// Refused says why the order to the machine cannot be followed; empty: it can.
func Refused(k fleet.OrderKind, m *belief.Machine, s *guard.Situation) fleet.Reason {
	step := Step(k, m)
	_, occupied := m.Occupied(s.Whole.Ledger)
	switch {
	case s.Spec.Mode == policy.ModeObserve:
		return fleet.ReasonObserve
	case m.Current.Candidate():
		return fleet.ReasonCandidate
	case guard.Surplus(m, &s.Spec):
		return fleet.ReasonSurplus
	case occupied:
		return fleet.ReasonOccupied
	case m.Current.None():
		return fleet.ReasonNoInstance
	case guard.HoldOn(m, s) != nil:
		return fleet.ReasonHold
	case s.Brake.On() && (s.Brake.By != "" || !guard.Revives(m, s, step)):
		return fleet.ReasonBrake
	}
	return Unfit(k, m, s)
}

// Unfit says why it cannot be done with the machine as it stands, and as the configuration stands; empty: it can.
func Unfit(k fleet.OrderKind, m *belief.Machine, s *guard.Situation) fleet.Reason {
	step := Step(k, m)
	switch {
	case !step.Gentle() && s.Spec.Protects(m.Name):
		return fleet.ReasonProtected
	case k == fleet.OrderReplace:
		return replaceable(m, s)
	case !m.Current.Certified && !m.Current.Adopted:
		return fleet.ReasonNotCertified
	case k == fleet.OrderStop && m.Health.Cause == belief.CauseParked:
		return fleet.ReasonAlready
	case k == fleet.OrderStop && m.Health.Cause == belief.CauseGone:
		return fleet.ReasonNoInstance
	case k == fleet.OrderStop:
		return "" // every provider can
	}
	does := s.Spec.Doing(step)
	if why := ladder.Precondition(m, &s.Spec, does); why != "" {
		return why
	}
	return unless(s, ladder.OpOf(does))
}

// Restarts reports whether what is turned off can be started again.
func Restarts(s *guard.Situation) bool {
	return unless(s, ladder.OpOf(s.Spec.Doing(fleet.StepStart))) == ""
}

// replaceable says why nothing may take the place of the machine's instance; empty: a new one may.
func replaceable(m *belief.Machine, s *guard.Situation) fleet.Reason {
	step := s.Spec.Repair.Building()
	return cmp.Or(unless(s, ladder.OpOf(step)), unless(s, fleet.OpDelete), ladder.Precondition(m, &s.Spec, step),
		ladder.Keepable(m, s, step))
}

// unless says that the provider lacks the operation, where it does.
func unless(s *guard.Situation, op fleet.Op) fleet.Reason {
	if slices.Contains(s.Cannot, op) {
		return fleet.ReasonUnsupported
	}
	return ""
}
