// Package health turns evidence into a verdict on one machine: three-valued conditions over checks, the provider's
// word, start-up grace.
//
// It promises that unknown is never taken for dead (L4), that evidence from before the last act is ignored, and that
// equal evidence gives equal verdicts. Rise and fall counts are applied earlier, by the probe engine; what follows from
// a verdict is decided later, by packages guard and repair.
package health

import (
	"slices"

	"hale/internal/core/fleet"
)

// Evidence is what a verdict rests on.
type Evidence struct {
	Spec   *fleet.Spec // only read
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
func Judge(m *fleet.Machine, e *Evidence) fleet.Health {
	h := find(m, e)
	h.Cause = m.Blame(h.Cause, e.Seen.Instance.Stop)
	h.Grace = m.Health.Grace
	if providerWord(m, e).power == fleet.PowerUnknown {
		e.recall(m, &h)
	}
	if h.Grace != 0 && !e.Now.Due(h.Grace) && forgiven(h) {
		h.Verdict, h.Cause = fleet.VerdictStarting, fleet.CauseNone
		h.Result = found(e.Checks, h) // that a check fails until then says nothing of it
	}
	if h.Verdict == fleet.VerdictHealthy || e.Now.Due(h.Grace) {
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
func (e *Evidence) recall(m *fleet.Machine, h *fleet.Health) {
	last := m.Health.Cause
	if last == fleet.CauseShutdown && e.Ended {
		last = fleet.CauseOff
	}
	holds := last.Personal() && e.Spec.Repair.OnExternalStop != fleet.ExternalStopHeal
	switch {
	case holds && e.silent(m) && !e.contradicted(m, h):
		*h = fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: last, Grace: h.Grace}
	case h.Verdict == fleet.VerdictUnknown && last.Stopped():
		h.Cause = last
	}
}

// contradicted reports whether the verdict says more than that a machine was stopped: that it answers, and not only
// that it answered before that.
func (e *Evidence) contradicted(m *fleet.Machine, h *fleet.Health) bool {
	switch h.Verdict {
	case fleet.VerdictHealthy:
		return slices.ContainsFunc(e.Checks, func(c fleet.CheckState) bool {
			return c.Standing == fleet.StandingUp && c.Since > m.Health.SinceMono
		})
	case fleet.VerdictUnknown:
		return h.Grace == 0 // nothing is known, and nothing is forgotten either
	case fleet.VerdictUnhealthy:
		return h.Cause != fleet.CauseChecks
	case fleet.VerdictSuspect, fleet.VerdictStarting:
	}
	return false
}

// silent reports whether the provider says nothing of the instance as it is now: what it said before hale last acted,
// or began anew, is no word on that.
func (e *Evidence) silent(m *fleet.Machine) bool {
	return !e.ProviderUp || !e.Seen.Known() || e.Seen.Asked <= m.Acted
}

// found returns the result behind the verdict, also where it counts for nothing since the check is unproven.
func found(checks []fleet.CheckState, h fleet.Health) fleet.ResultReason {
	for i := range checks {
		if h.Result == fleet.ResultUnproven && checks[i].Check == h.Check {
			return checks[i].Found
		}
	}
	return h.Result
}

// OnlyUnproven reports whether only an unproven check keeps the machine, which may be starting, from being healthy: the
// check fails, and never succeeded as it is. The checks are as they are heeded.
func OnlyUnproven(h *fleet.Health, checks []fleet.CheckState) bool {
	return h.Unproven() || h.Verdict == fleet.VerdictStarting && !slices.ContainsFunc(checks, ails) &&
		slices.ContainsFunc(checks, func(c fleet.CheckState) bool { return c.Result == fleet.ResultUnproven })
}

// StartedByOthers reports whether the machine, last known to be stopped, runs now although hale did not start it. It
// then gets the time that every start gets, and what its checks said before no longer counts.
func StartedByOthers(m *fleet.Machine, e *Evidence) bool {
	idle := m.Repair == nil || m.Repair.Phase == fleet.PhaseLook && m.Repair.Kind == fleet.RepairHeal
	return idle && m.Health.Cause.Stopped() && Runs(m, e)
}

// Runs reports whether the provider says that the machine runs, and said so after whatever hale did last.
func Runs(m *fleet.Machine, e *Evidence) bool { return providerWord(m, e).power == fleet.PowerRunning }

// forgiven reports whether grace covers the finding: failing or silent checks are forgiven, the provider's word is not.
func forgiven(h fleet.Health) bool {
	switch h.Verdict {
	case fleet.VerdictUnhealthy:
		return h.Cause == fleet.CauseChecks
	case fleet.VerdictUnknown:
		return h.Cause != fleet.CauseMissing
	case fleet.VerdictSuspect:
		return true
	case fleet.VerdictHealthy, fleet.VerdictStarting:
	}
	return false
}

// find is the verdict without grace, from this evidence alone.
func find(m *fleet.Machine, e *Evidence) fleet.Health {
	if m.Current.None() {
		if m.Incident != nil && !m.Incident.Blind() {
			return fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: fleet.CauseGone}
		}
		return fleet.Health{Verdict: fleet.VerdictUnknown, Cause: fleet.CauseMissing}
	}
	word := providerWord(m, e)
	if cause, bad := word.cause(); bad && !Mentions(e.Spec.UnhealthyWhen, fleet.ProviderTerm) {
		return fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: cause}
	}
	checks := e.Checks
	if e.Epoch != m.Epoch {
		checks = nil
	}
	down := e.down(checks, word, Unknown)
	culprit := worst(checks)
	blamed := fleet.Health{Check: culprit.Check, Result: culprit.Result}
	cause, bad := word.cause()
	switch {
	case down == True && bad:
		return fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: cause}
	case down == True:
		blamed.Verdict, blamed.Cause = fleet.VerdictUnhealthy, fleet.CauseChecks
	case down == Unknown && e.suspect(checks, culprit, word):
		blamed.Verdict = fleet.VerdictSuspect
	case down == Unknown:
		blamed = e.unsure(checks, culprit, word)
	case bad, culprit.Standing == fleet.StandingDown, culprit.Standing == fleet.StandingFailing:
		blamed.Verdict = fleet.VerdictSuspect
	case e.Leave && word.power == fleet.PowerRunning:
		return fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: fleet.CauseDisabled}
	default:
		return fleet.Health{Verdict: fleet.VerdictHealthy}
	}
	return blamed
}

// down evaluates what makes the machine unhealthy. A check that is not heeded now is taken for muted.
func (e *Evidence) down(checks []fleet.CheckState, word word, muted Truth) Truth {
	return Evaluate(e.Spec.UnhealthyWhen, func(name fleet.CheckName) Truth {
		if name == fleet.ProviderTerm {
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
			if name == fleet.ProviderTerm {
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
func (e *Evidence) unsure(checks []fleet.CheckState, culprit fleet.CheckState, word word) fleet.Health {
	h := fleet.Health{Verdict: fleet.VerdictUnknown, Check: culprit.Check, Result: culprit.Result}
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
		}
	}
	return Unknown
}

// word is the provider's power state for the current instance, as far as it may be believed.
type word struct {
	power fleet.Power
	stop  fleet.Stop
}

func providerWord(m *fleet.Machine, e *Evidence) word {
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
func PowerCause(i fleet.Instance) (fleet.Cause, bool) { return wordOn(&i).cause() }

// cause translates a power state that is no state of health.
func (w word) cause() (fleet.Cause, bool) {
	switch w.power {
	case fleet.PowerOff:
		switch w.stop {
		case fleet.StopExternal, fleet.StopMoved:
			return fleet.CauseStopped, true
		case fleet.StopShutdown:
			return fleet.CauseShutdown, true
		case fleet.StopCrash:
			return fleet.CauseCrashed, true
		case fleet.StopGuest, fleet.StopUnknown, fleet.StopIOError, fleet.StopRescue:
		}
		return fleet.CauseOff, true
	case fleet.PowerPaused:
		return pauseCause(w.stop), true
	case fleet.PowerCrashed:
		return fleet.CausePanic, true
	case fleet.PowerError:
		return fleet.CauseError, true
	case fleet.PowerGone:
		return fleet.CauseGone, true
	case fleet.PowerRunning, fleet.PowerUnknown:
	}
	return fleet.CauseNone, false
}

// pauseCause tells a person's pause from a pause without an order. An unknown one counts as a person's (L10).
func pauseCause(by fleet.Stop) fleet.Cause {
	switch by {
	case fleet.StopGuest:
		return fleet.CauseSuspended
	case fleet.StopIOError:
		return fleet.CauseIOError
	case fleet.StopRescue:
		return fleet.CauseRescued
	case fleet.StopUnknown, fleet.StopExternal, fleet.StopShutdown, fleet.StopMoved, fleet.StopCrash:
	}
	return fleet.CausePaused
}

// ConfirmSilent says what the checks of a look show by themselves, where the provider could not be asked. What rests on
// its word is unknown.
func ConfirmSilent(spec *fleet.Spec, look *fleet.Look) Truth {
	if len(look.Checks) == 0 {
		return Unknown
	}
	return Evaluate(spec.UnhealthyWhen, func(name fleet.CheckName) Truth {
		if name == fleet.ProviderTerm {
			return Unknown
		}
		return downTruth(look.Checks, name)
	})
}

// Confirm says whether a look confirms the failure (True), refutes it (False), or says nothing. A look in which the
// provider did not answer says nothing: the checks may have asked at an old address.
func Confirm(spec *fleet.Spec, look *fleet.Look) Truth {
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
		if name == fleet.ProviderTerm {
			return wordOn(&look.Seen.Instance).truth()
		}
		return downTruth(look.Checks, name)
	})
}
