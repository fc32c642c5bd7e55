package look

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/health"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// reading is what a look at the target of a repair shows.
type reading struct {
	*chart.Chart
	r *belief.Repair
	l *fleet.Look
}

// Shows says what the look at the target of the repair shows, and why. Where it shows nothing certain, the current
// order of a person stands for it (L3).
func Shows(c *chart.Chart, r *belief.Repair, l *fleet.Look) (health.Truth, fleet.Reason) {
	s := reading{c, r, l}
	truth := s.truth()
	if truth == health.Unknown && s.Ordered() && s.r.Kind == belief.RepairHeal && s.l.Seen.Known() && !s.contradicts() {
		return health.True, fleet.ReasonOrdered
	}
	switch truth {
	case health.True:
		return truth, fleet.ReasonConfirmed
	case health.False:
		return truth, fleet.ReasonRefuted
	case health.Unknown, health.Absent:
	}
	return health.Unknown, fleet.ReasonLookUnclear
}

// Scope says how much the look for the machine's repair asks: the checks too, unless the provider's word decides.
func Scope(m *belief.Machine) situation.LookScope {
	switch c := m.Health.Cause; {
	case c.Stopped(), c == belief.CauseDisabled, c == belief.CauseMarked, m.Repair.Kind == belief.RepairRemnant:
		return situation.LookProvider
	}
	return situation.LookFull
}

func (s reading) truth() health.Truth {
	if s.r.Kind == belief.RepairRemnant {
		return s.ofRemnant()
	}
	truth := health.Confirm(&s.Situation.Spec, s.l)
	switch {
	case s.M.Health.Cause == belief.CauseDisabled:
		truth = s.leavesDisabled()
	case s.l.Seen.Known() && health.Spoilt(&s.r.Target, &s.l.Seen.Instance):
		truth = health.True // it cannot be made what it is to be
	case s.M.Health.Cause == belief.CauseMarked && s.l.Seen.Known():
		truth = health.True // the word stands, whatever the checks say
	}
	if truth == health.Unknown {
		truth = s.confirmSilent()
	}
	if truth == health.True && (s.contradicts() || s.agentSpeaks() || s.countersMove()) {
		return health.Unknown
	}
	if truth == health.Unknown && s.r.Target.Expired && s.l.Seen.Known() && s.neverAddressed() {
		return health.True // its time ran out, and the provider still knows no address of it
	}
	return truth
}

// ofRemnant says whether what was put aside, or left by an unfinished build, is still there as it was.
func (s reading) ofRemnant() health.Truth {
	is := s.l.Seen.Instance
	switch {
	case !s.l.Seen.Known():
		return health.Unknown
	case s.M.KeptAt(s.r.Target.ID) >= 0 && s.Aside(is):
		return health.True
	case s.M.KeptAt(s.r.Target.ID) >= 0, is.Power == fleet.PowerGone, !s.IsRemnant(is):
		return health.False
	}
	return health.True
}

// contradicts reports whether the look found the instance in a state that the rung was not chosen for: it was stopped
// meanwhile, and the listings do not say so yet. What it means, and what to do then, is for the next verdict.
func (s reading) contradicts() bool {
	cause, stopped := health.PowerCause(s.l.Seen.Instance)
	cause = s.M.Blame(cause, s.l.Seen.Instance.Stop)
	if !stopped || s.TurnedOff() || s.r.Target.Expired {
		return false // or it is our own doing, or a build that is to go in any case
	}
	ofRunning := s.r.Step == fleet.StepReboot || s.r.Step == fleet.StepRun
	return guard.LeftAlone(cause, &s.Situation.Spec) && !s.Ordered() || ofRunning && cause.Off() ||
		s.r.Step != fleet.StepResume && cause.Halted()
}

// neverAddressed reports whether the look says nothing for the one reason that is the build's own: no address. An agent
// needs none, and its silence says no more. Whatever else keeps us from seeing is our own trouble (L4).
func (s reading) neverAddressed() bool {
	some := false
	for _, c := range s.l.Checks {
		switch {
		case c.Result == fleet.ResultNoAddress:
			some = true
		case !s.isAgent(c) || c.Standing == fleet.StandingUp:
			return false
		}
	}
	return some
}

func (s reading) isAgent(c fleet.CheckState) bool {
	return slices.ContainsFunc(s.Situation.Spec.Checks,
		func(k policy.Check) bool { return k.Name == c.Check && k.Kind == policy.CheckAgent })
}

// agentSpeaks reports whether the look finds the agent answering, where only the agent's silence bore witness to the
// machine's (L4).
func (s reading) agentSpeaks() bool {
	answers := func(c fleet.CheckState) bool { return s.isAgent(c) && c.Standing == fleet.StandingUp }
	return s.r.Kind == belief.RepairHeal && slices.ContainsFunc(s.l.Checks, answers) &&
		guard.OnlyItsAgent(s.M, s.Situation)
}

// countersMove reports whether the look finds that the processors move, where only their standing still bore witness to
// the machine's silence (L4).
func (s reading) countersMove() bool {
	return s.r.Kind == belief.RepairHeal && s.l.Moves && guard.OnlyItsCounters(s.M, s.Situation)
}

// leavesDisabled says whether a look confirms that the instance is on a host that is to be left.
func (s reading) leavesDisabled() health.Truth {
	switch {
	case !s.l.Seen.Known():
		return health.Unknown
	case guard.Leaves(s.l.Seen, s.Situation):
		return health.True
	}
	return health.False
}

// confirmSilent says whether a look that the provider could not answer, since the host does not, confirms the failure
// all the same: by the checks alone.
func (s reading) confirmSilent() health.Truth {
	h, dead := s.DeadHost(s.r.Target)
	if !dead || s.l.Seen.Known() || s.r.Kind != belief.RepairHeal || !s.r.Step.GoesElsewhere() ||
		!guard.Fenceable(h, s.Situation) {
		return health.Unknown
	}
	return health.ConfirmSilent(&s.Situation.Spec, s.l)
}
