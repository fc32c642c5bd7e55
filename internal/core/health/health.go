// Package health turns evidence into a verdict on one machine: three-valued conditions over checks, the provider's
// word, start-up grace.
//
// It promises that unknown is never taken for dead (L4), that evidence from before the last act is ignored, and that
// equal evidence gives equal verdicts. Rise and fall counts are applied earlier, by the probe engine; what follows from
// a verdict is decided later, by packages guard and repair.
package health

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Evidence is what a verdict rests on.
type Evidence struct {
	Spec   *policy.Spec // only read
	Now    fleet.Now
	Checks []fleet.CheckState
	// Epoch is the epoch of Checks; they count only when it is the machine's.
	Epoch uint64
	// Seen is the provider's last word on the current instance.
	Seen fleet.Sighting
	// ProviderUp says that the provider can be believed now.
	ProviderUp bool
	// Ended says that the machine shut down cleanly with its host, and the host has been silent since.
	Ended bool
	// Leave says that the policy is to leave hosts that are disabled, and the instance, as last seen, is on one.
	Leave bool
}

// Judge returns the machine's health as the evidence shows it.
func Judge(m *belief.Machine, e *Evidence) belief.Health {
	h := find(m, e)
	h.Cause = m.Blame(h.Cause, e.Seen.Instance.Stop)
	h.Grace = m.Health.Grace
	if providerWord(m, e).power == fleet.PowerUnknown {
		e.recall(m, &h)
	}
	if h.Grace != 0 && !e.Now.Due(h.Grace) && forgiven(h) {
		h.Verdict, h.Cause = belief.VerdictStarting, belief.CauseNone
		h.Result = found(e.Checks, h) // that a check fails until then says nothing of it
	}
	if h.Verdict == belief.VerdictHealthy || e.Now.Due(h.Grace) {
		h.Grace = 0
	}
	h.Since, h.SinceMono = m.Health.Since, m.Health.SinceMono
	if h.Verdict != m.Health.Verdict || h.Since.IsZero() || h.Muted() != m.Health.Muted() ||
		h.Unproven() != m.Health.Unproven() {
		h.Since, h.SinceMono = e.Now.Wall, e.Now.Mono
	}
	return h
}

// recall keeps the provider's last word on a machine that does not run, until the provider speaks again. On a machine
// that a person stopped, failing checks add nothing.
func (e *Evidence) recall(m *belief.Machine, h *belief.Health) {
	last := m.Health.Cause
	if last == belief.CauseShutdown && e.Ended {
		last = belief.CauseOff
	}
	holds := last.Parked() ||
		last.Personal() && e.Spec.Repair.OnExternalStop != policy.ExternalStopHeal
	switch {
	case holds && e.silent(m) && !e.contradicted(m, h):
		*h = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: last, Grace: h.Grace}
	case h.Verdict == belief.VerdictUnknown && last.Stopped():
		h.Cause = last
	}
}

// contradicted reports whether the verdict says more than that a machine was stopped: that it answers, and not only
// that it answered before that.
func (e *Evidence) contradicted(m *belief.Machine, h *belief.Health) bool {
	switch h.Verdict {
	case belief.VerdictHealthy:
		return slices.ContainsFunc(e.Checks, func(c fleet.CheckState) bool {
			return c.Standing == fleet.StandingUp && c.Since > m.Health.SinceMono
		})
	case belief.VerdictUnknown:
		return h.Grace == 0 // nothing is known, and nothing is forgotten either
	case belief.VerdictUnhealthy:
		return h.Cause != belief.CauseChecks
	case belief.VerdictSuspect, belief.VerdictStarting:
	}
	return false
}

// silent reports whether the provider says nothing of the instance as it is now: what it said before hale last acted,
// or began anew, is no word on that.
func (e *Evidence) silent(m *belief.Machine) bool {
	return !e.ProviderUp || !e.Seen.Known() || e.Seen.Asked <= m.Acted
}

// found returns the result behind the verdict, also where it counts for nothing since the check is unproven.
func found(checks []fleet.CheckState, h belief.Health) fleet.ResultReason {
	for i := range checks {
		if h.Result == fleet.ResultUnproven && checks[i].Check == h.Check {
			return checks[i].Found
		}
	}
	return h.Result
}

// OnlyUnproven reports whether only an unproven check keeps the machine, which may be starting, from being healthy: the
// check fails, and never succeeded as it is. The checks are as they are heeded.
func OnlyUnproven(h *belief.Health, checks []fleet.CheckState) bool {
	return h.Unproven() || h.Verdict == belief.VerdictStarting && !slices.ContainsFunc(checks, ails) &&
		slices.ContainsFunc(checks, func(c fleet.CheckState) bool { return c.Result == fleet.ResultUnproven })
}

// StartedByOthers reports whether the machine, last known to be stopped, runs now although hale did not start it. It
// then gets the time that every start gets, and what its checks said before no longer counts.
func StartedByOthers(m *belief.Machine, e *Evidence) bool {
	idle := m.Repair == nil || m.Repair.Kind == belief.RepairHeal &&
		(m.Repair.Phase == belief.PhaseLook || m.Repair.Phase == belief.PhaseLeave)
	return idle && m.Health.Cause.Stopped() && Runs(m, e)
}

// Runs reports whether the provider says that the machine runs, and said so after whatever hale did last.
func Runs(m *belief.Machine, e *Evidence) bool { return providerWord(m, e).power == fleet.PowerRunning }

// forgiven reports whether grace covers the finding: failing or silent checks are forgiven, the provider's word is not.
func forgiven(h belief.Health) bool {
	switch h.Verdict {
	case belief.VerdictUnhealthy:
		return h.Cause == belief.CauseChecks
	case belief.VerdictUnknown:
		return h.Cause != belief.CauseMissing
	case belief.VerdictSuspect:
		return true
	case belief.VerdictHealthy, belief.VerdictStarting:
	}
	return false
}

// find is the verdict without grace, from this evidence alone.
func find(m *belief.Machine, e *Evidence) belief.Health {
	if m.Current.None() {
		if m.Incident != nil && !m.Incident.Blind() {
			return belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseGone}
		}
		return belief.Health{Verdict: belief.VerdictUnknown, Cause: belief.CauseMissing}
	}
	word := providerWord(m, e)
	if cause, bad := word.cause(); bad && !Mentions(e.Spec.UnhealthyWhen, policy.ProviderTerm) {
		return belief.Health{Verdict: belief.VerdictUnhealthy, Cause: cause}
	}
	checks := e.Checks
	if e.Epoch != m.Epoch {
		checks = nil
	}
	down := e.down(checks, word, Unknown)
	culprit := worst(checks)
	blamed := belief.Health{Check: culprit.Check, Result: culprit.Result}
	cause, bad := word.cause()
	switch {
	case down == True && bad:
		return belief.Health{Verdict: belief.VerdictUnhealthy, Cause: cause}
	case down == True:
		blamed.Verdict, blamed.Cause = belief.VerdictUnhealthy, belief.CauseChecks
	case Spoilt(&m.Current, &e.Seen.Instance): // however well it looks
		return belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseBuild}
	case m.IsMarked(e.Now):
		return belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseMarked}
	case down == Unknown && e.suspect(checks, culprit, word):
		blamed.Verdict = belief.VerdictSuspect
	case down == Unknown:
		blamed = e.unsure(checks, culprit, word)
	case bad, culprit.Standing == fleet.StandingDown, culprit.Standing == fleet.StandingFailing:
		blamed.Verdict = belief.VerdictSuspect
	case e.Leave && word.power == fleet.PowerRunning:
		return belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseDisabled}
	default:
		return belief.Health{Verdict: belief.VerdictHealthy}
	}
	return blamed
}

// Spoilt reports whether the instance cannot be made what it is to be. If its mark says that it is finished, and hale
// does not know of that, another hale finished it.
func Spoilt(i *belief.Incarnation, seen *fleet.Instance) bool {
	return i.Spoilt && (i.Certified || !seen.Mark.Certified)
}

// down evaluates what makes the machine unhealthy. A check that is not heeded now is taken for muted.
func (e *Evidence) down(checks []fleet.CheckState, word word, muted Truth) Truth {
	return Evaluate(e.Spec.UnhealthyWhen, func(name fleet.CheckName) Truth {
		if name == policy.ProviderTerm {
			return word.truth()
		}
		if muted != Unknown {
			for _, c := range checks {
				if c.Check == name && unheeded(c) {
					return muted
				}
			}
		}
		return downTruth(checks, name)
	})
}

// suspect reports whether all that is unknown depends on a failing check, which may be down soon or up again. Then hale
// is not blind, and the machine may turn out to fail.
func (e *Evidence) suspect(checks []fleet.CheckState, culprit fleet.CheckState, word word) bool {
	return culprit.Standing == fleet.StandingFailing && Evaluate(e.Spec.UnhealthyWhen,
		func(name fleet.CheckName) Truth {
			if name == policy.ProviderTerm {
				return word.truth()
			}
			if slices.ContainsFunc(checks, func(c fleet.CheckState) bool {
				return c.Check == name &&
					c.Result == fleet.ResultDependsOn
			}) {
				return False
			}
			return downTruth(checks, name)
		}) == False
}

// unsure is the verdict when nothing certain is known. If a check that is not heeded now is the only cause, hale is not
// blind.
func (e *Evidence) unsure(checks []fleet.CheckState, culprit fleet.CheckState, word word) belief.Health {
	h := belief.Health{Verdict: belief.VerdictUnknown, Check: culprit.Check, Result: culprit.Result}
	muted := slices.IndexFunc(checks, unheeded)
	switch {
	case muted < 0:
	case e.down(checks, word, False) == False:
		h.Check, h.Result = checks[muted].Check, checks[muted].Result
	case h.Result == fleet.ResultNotEvery, h.Result == fleet.ResultUnproven:
		h.Check, h.Result = "", fleet.ResultNone // it is the provider's word that is wanting
	}
	return h
}

// unheeded reports whether the check fails, and that counts for nothing.
func unheeded(s fleet.CheckState) bool {
	return s.Result == fleet.ResultNotEvery || s.Result == fleet.ResultUnproven
}

// worst returns the check that stands worst: down before failing before unknown, and last what is not heeded.
func worst(checks []fleet.CheckState) fleet.CheckState {
	worst := -1
	for i := range checks {
		if rank := gravity(checks[i]); rank > 0 && (worst < 0 || rank > gravity(checks[worst])) {
			worst = i
		}
	}
	if worst < 0 {
		return fleet.CheckState{}
	}
	return checks[worst]
}

func gravity(s fleet.CheckState) int {
	if untold(s) {
		return 0
	}
	switch s.Standing {
	case fleet.StandingDown:
		return 4
	case fleet.StandingFailing:
		return 3
	case fleet.StandingUnknown:
		if unheeded(s) {
			return 1
		}
		return 2
	case fleet.StandingUp:
	}
	return 0
}

func downTruth(checks []fleet.CheckState, name fleet.CheckName) Truth {
	for _, c := range checks {
		if c.Check != name {
			continue
		}
		switch c.Standing {
		case fleet.StandingDown:
			return True
		case fleet.StandingUp, fleet.StandingFailing:
			return False
		case fleet.StandingUnknown:
			if untold(c) {
				return Absent
			}
		}
	}
	return Unknown
}

// untold reports whether the check has nothing to say: a load balancer speaks of those that it has serve, and hale has
// no machine serve before it is healthy, so its silence neither ails a machine nor keeps it from being well.
func untold(s fleet.CheckState) bool {
	return s.Standing == fleet.StandingUnknown && s.Result == fleet.ResultUntold
}

// word is the provider's power state for the current instance, as far as it may be believed.
type word struct {
	power fleet.Power
	stop  fleet.Stop
}

func providerWord(m *belief.Machine, e *Evidence) word {
	if e.silent(m) {
		return word{power: fleet.PowerUnknown}
	}
	return wordOn(&e.Seen.Instance)
}

func wordOn(i *fleet.Instance) word { return word{i.Power, i.Stop} }

func (w word) truth() Truth {
	if _, bad := w.cause(); bad {
		return True
	}
	if w.power == fleet.PowerRunning {
		return False
	}
	return Unknown
}

// PowerCause returns the cause that an instance's power state is, and whether it is one.
func PowerCause(i fleet.Instance) (belief.Cause, bool) { return wordOn(&i).cause() }

// cause translates a power state that is no state of health.
func (w word) cause() (belief.Cause, bool) {
	switch w.power {
	case fleet.PowerOff:
		switch w.stop {
		case fleet.StopExternal, fleet.StopMoved:
			return belief.CauseStopped, true
		case fleet.StopShutdown:
			return belief.CauseShutdown, true
		case fleet.StopCrash:
			return belief.CauseCrashed, true
		case fleet.StopGuest, fleet.StopUnknown, fleet.StopIOError, fleet.StopRescue:
		}
		return belief.CauseOff, true
	case fleet.PowerPaused:
		return pauseCause(w.stop), true
	case fleet.PowerCrashed:
		return belief.CausePanic, true
	case fleet.PowerError:
		return belief.CauseError, true
	case fleet.PowerGone:
		return belief.CauseGone, true
	case fleet.PowerRunning, fleet.PowerUnknown:
	}
	return belief.CauseNone, false
}

// pauseCause tells a person's pause from a pause without an order. An unknown one counts as a person's (L10).
func pauseCause(by fleet.Stop) belief.Cause {
	switch by {
	case fleet.StopGuest:
		return belief.CauseSuspended
	case fleet.StopIOError:
		return belief.CauseIOError
	case fleet.StopRescue:
		return belief.CauseRescued
	case fleet.StopUnknown, fleet.StopExternal, fleet.StopShutdown, fleet.StopMoved, fleet.StopCrash:
	}
	return belief.CausePaused
}

// ConfirmSilent says what the checks of a look show by themselves, where the provider could not be asked. What rests on
// its word is unknown.
func ConfirmSilent(spec *policy.Spec, look *fleet.Look) Truth {
	if len(look.Checks) == 0 {
		return Unknown
	}
	return Evaluate(spec.UnhealthyWhen, func(name fleet.CheckName) Truth {
		if name == policy.ProviderTerm {
			return Unknown
		}
		return downTruth(look.Checks, name)
	})
}

// Confirm says whether a look confirms the failure (True), refutes it (False), or says nothing. A look in which the
// provider did not answer says nothing: the checks may have asked at an old address.
func Confirm(spec *policy.Spec, look *fleet.Look) Truth {
	if !look.Seen.Known() {
		return Unknown
	}
	if _, bad := PowerCause(look.Seen.Instance); bad {
		return True
	}
	if len(look.Checks) == 0 {
		return Unknown
	}
	return Evaluate(spec.UnhealthyWhen, func(name fleet.CheckName) Truth {
		if name == policy.ProviderTerm {
			return wordOn(&look.Seen.Instance).truth()
		}
		return downTruth(look.Checks, name)
	})
}
