package health_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/health"
	"hale/internal/core/policy"
)

func term(name fleet.CheckName) policy.Condition {
	return policy.Condition{Op: policy.OpTerm, Term: name}
}

func any3(names ...fleet.CheckName) policy.Condition { return tree(policy.OpAny, 0, names...) }
func all3(names ...fleet.CheckName) policy.Condition { return tree(policy.OpAll, 0, names...) }

func tree(op policy.ConditionOp, n int, names ...fleet.CheckName) policy.Condition {
	c := policy.Condition{Op: op, N: n}
	for _, name := range names {
		c.Of = append(c.Of, term(name))
	}
	return c
}

// now is long after the machine's last act.
var now = fleet.Now{Mono: fleet.Instant(time.Hour), Wall: time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)}

func machine() belief.Machine {
	return belief.Machine{Name: "web-1", Generation: 1, Epoch: 7, Acted: fleet.Instant(time.Minute),
		Current: belief.Incarnation{ID: "a", Generation: 1, Certified: true}}
}

func checks(page, alive fleet.Standing) []fleet.CheckState {
	return []fleet.CheckState{{Check: "alive", Standing: alive}, {Check: "page", Standing: page}}
}

func seen(p fleet.Power, stop fleet.Stop) fleet.Sighting {
	return fleet.Sighting{Asked: now.Mono - 1, Instance: fleet.Instance{ID: "a", Power: p, Stop: stop}}
}

const (
	up, failing, down, unknown = fleet.StandingUp, fleet.StandingFailing, fleet.StandingDown, fleet.StandingUnknown
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	running := seen(fleet.PowerRunning, "")
	for name, c := range map[string]struct {
		cond    policy.Condition
		page    fleet.Standing
		alive   fleet.Standing
		seen    fleet.Sighting
		down    bool // the provider
		spoil   func(*belief.Machine)
		verdict belief.Verdict
		cause   belief.Cause
	}{
		"all up": {cond: any3("page", "alive"), page: up, alive: up, seen: running,
			verdict: belief.VerdictHealthy},
		"one down of any": {cond: any3("page", "alive"), page: down, alive: up, seen: running,
			verdict: belief.VerdictUnhealthy, cause: belief.CauseChecks},
		"one down of all is suspect": {cond: all3("page", "alive"), page: down, alive: up, seen: running,
			verdict: belief.VerdictSuspect},
		"both down of all (S45)": {cond: all3("page", "alive"), page: down, alive: down, seen: running,
			verdict: belief.VerdictUnhealthy, cause: belief.CauseChecks},
		"failing is suspect": {cond: any3("page", "alive"), page: failing, alive: up, seen: running,
			verdict: belief.VerdictSuspect},
		"S06 unknown is never healthy": {cond: any3("page", "alive"), page: unknown, alive: up, seen: running,
			verdict: belief.VerdictUnknown},
		"unknown beside down of any": {cond: any3("page", "alive"), page: unknown, alive: down, seen: running,
			verdict: belief.VerdictUnhealthy, cause: belief.CauseChecks},
		"unknown beside down of all": {cond: all3("page", "alive"), page: unknown, alive: down, seen: running,
			verdict: belief.VerdictUnknown},
		"one of at least two": {cond: tree(policy.OpAtLeast, 2, "page", "alive"), page: down, alive: up,
			seen: running, verdict: belief.VerdictSuspect},
		"S42 off": {cond: any3("page"), page: up, alive: up, seen: seen(fleet.PowerOff, ""),
			verdict: belief.VerdictUnhealthy, cause: belief.CauseOff},
		"S42 stopped by a person": {cond: any3("page"), page: up, alive: up,
			seen: seen(fleet.PowerOff, fleet.StopExternal), verdict: belief.VerdictUnhealthy,
			cause: belief.CauseStopped},
		"S42 shut down in order": {cond: any3("page"),
			page:    up,
			alive:   up,
			seen:    seen(fleet.PowerOff, fleet.StopShutdown),
			verdict: belief.VerdictUnhealthy,
			cause:   belief.CauseShutdown},
		"S42 crashed": {cond: any3("page"), page: up, alive: up,
			seen: seen(fleet.PowerOff, fleet.StopCrash), verdict: belief.VerdictUnhealthy, cause: belief.CauseCrashed},
		"S42 error": {cond: any3("page"), page: up, alive: up, seen: seen(fleet.PowerError, ""),
			verdict: belief.VerdictUnhealthy, cause: belief.CauseError},
		"S42 gone": {cond: any3("page"), page: up, alive: up, seen: seen(fleet.PowerGone, ""),
			verdict: belief.VerdictUnhealthy, cause: belief.CauseGone},
		"S21 off, but the provider down": {cond: any3("page"), page: up, alive: up, seen: seen(fleet.PowerOff, ""),
			down: true, verdict: belief.VerdictHealthy},
		"off, said before the last act": {cond: any3("page"), page: up, alive: up, verdict: belief.VerdictHealthy,
			seen: fleet.Sighting{
				Asked:    fleet.Instant(time.Minute),
				Instance: fleet.Instance{ID: "a", Power: fleet.PowerOff},
			}},
		"checks of an older epoch": {cond: any3("page"), page: down, alive: down, seen: running,
			verdict: belief.VerdictUnknown, spoil: func(m *belief.Machine) { m.Epoch++ }},
		"provider and page must both say so": {cond: all3("provider", "page"), page: up, alive: up,
			seen: seen(fleet.PowerOff, ""), verdict: belief.VerdictSuspect},
		"provider and page both say so": {cond: all3("provider", "page"), page: down, alive: up,
			seen: seen(fleet.PowerOff, ""), verdict: belief.VerdictUnhealthy, cause: belief.CauseOff},
		"no checks, running":       {cond: any3("provider"), seen: running, verdict: belief.VerdictHealthy},
		"no checks, provider down": {cond: any3("provider"), seen: running, down: true, verdict: belief.VerdictUnknown},
		"never built": {cond: any3("page"), verdict: belief.VerdictUnknown, cause: belief.CauseMissing,
			spoil: func(m *belief.Machine) { m.Current = belief.Incarnation{} }},
		"S46 within grace": {cond: any3("page"), page: down, alive: up, seen: running, verdict: belief.VerdictStarting,
			spoil: func(m *belief.Machine) { m.Health.Grace = now.Mono + 1 }},
		"S46 past grace": {cond: any3("page"), page: down, alive: up, seen: running,
			verdict: belief.VerdictUnhealthy, cause: belief.CauseChecks,
			spoil: func(m *belief.Machine) { m.Health.Grace = now.Mono }},
		"grace does not cover the provider's word": {cond: any3("page"), page: down, alive: up,
			seen: seen(fleet.PowerGone, ""), verdict: belief.VerdictUnhealthy, cause: belief.CauseGone,
			spoil: func(m *belief.Machine) { m.Health.Grace = now.Mono + 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machine()
			if c.spoil != nil {
				c.spoil(&m)
			}
			got := health.Judge(&m, &health.Evidence{
				Spec:       &policy.Spec{UnhealthyWhen: c.cond, Grace: time.Minute},
				Now:        now,
				Checks:     checks(c.page, c.alive),
				Epoch:      7,
				Seen:       c.seen,
				ProviderUp: !c.down,
			})
			if got.Verdict != c.verdict || got.Cause != c.cause {
				t.Errorf("judged %s (%s), want %s (%s)", got.Verdict, got.Cause, c.verdict, c.cause)
			}
		})
	}
}

func TestALookConfirmsOnlyWhatItSaw(t *testing.T) {
	t.Parallel()
	spec := policy.Spec{UnhealthyWhen: any3("page", "alive")}
	for name, c := range map[string]struct {
		checks []fleet.CheckState
		seen   fleet.Sighting
		want   health.Truth
	}{
		"still down": {checks: checks(down, up), seen: seen(fleet.PowerRunning, ""),
			want: health.True},
		"up again": {checks: checks(up, up), seen: seen(fleet.PowerRunning, ""),
			want: health.False},
		"nothing known": {checks: checks(unknown, unknown),
			seen: seen(fleet.PowerRunning, ""), want: health.Unknown},
		"the provider alone says crashed": {seen: seen(fleet.PowerOff, fleet.StopCrash), want: health.True},
		"the provider alone says running": {seen: seen(fleet.PowerRunning, ""), want: health.Unknown},
		"down, and the provider cannot be asked": {checks: checks(down, down), seen: fleet.Sighting{},
			want: health.Unknown},
		"the provider cannot be asked": {seen: fleet.Sighting{}, want: health.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := health.Confirm(&spec, &fleet.Look{Checks: c.checks, Seen: c.seen}); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// A load balancer that says nothing of a machine counts for nothing, whatever the condition is (S35).
func TestABalancerThatSaysNothingCountsForNothing(t *testing.T) {
	t.Parallel()
	told := func(page, lb fleet.Standing, result fleet.ResultReason) []fleet.CheckState {
		return []fleet.CheckState{{Check: "lb", Standing: lb, Result: result}, {Check: "page", Standing: page}}
	}
	const silent = fleet.ResultUntold
	for name, c := range map[string]struct {
		cond   policy.Condition
		checks []fleet.CheckState
		want   belief.Verdict
		look   health.Truth
	}{
		"a machine out of its pool is well by its own checks": {any3("lb", "page"), told(up, unknown, silent),
			belief.VerdictHealthy, health.False},
		"and fails by them": {any3("lb", "page"), told(down, unknown, silent), belief.VerdictUnhealthy, health.True},
		"where both must be down, the page decides alone": {all3("lb", "page"), told(down, unknown, silent),
			belief.VerdictUnhealthy, health.True},
		"so it does where two of two must be": {tree(policy.OpAtLeast, 2, "lb", "page"), told(down, unknown, silent),
			belief.VerdictSuspect, health.False},
		"one that no one was asked about yet is unknown": {any3("lb", "page"), told(up, unknown, ""),
			belief.VerdictUnknown, health.Unknown},
		"nothing else is known": {any3("lb"), told(up, unknown, silent), belief.VerdictUnknown, health.Unknown},
		"it finds the machine down": {any3("lb", "page"), told(up, down, fleet.ResultPoolDown),
			belief.VerdictUnhealthy, health.True},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, spec := machine(), policy.Spec{UnhealthyWhen: c.cond}
			got := health.Judge(&m, &health.Evidence{Spec: &spec, Now: now, Checks: c.checks, Epoch: 7,
				Seen: seen(fleet.PowerRunning, ""), ProviderUp: true})
			if got.Verdict != c.want {
				t.Errorf("judged %s, want %s", got.Verdict, c.want)
			}
			l := fleet.Look{Checks: c.checks, Seen: seen(fleet.PowerRunning, "")}
			if truth := health.Confirm(&spec, &l); truth != c.look {
				t.Errorf("a look shows %v, want %v", truth, c.look)
			}
		})
	}
}

func TestStartedByOthers(t *testing.T) {
	t.Parallel()
	off, running := machine(), machine()
	off.Health.Cause = belief.CauseStopped
	e := health.Evidence{Now: now, ProviderUp: true, Seen: seen(fleet.PowerRunning, "")}
	if !health.StartedByOthers(&off, &e) {
		t.Error("a stopped machine that runs again was not noticed")
	}
	if health.StartedByOthers(&running, &e) {
		t.Error("a machine that was running all the time was taken for started")
	}
	e.ProviderUp = false
	if health.StartedByOthers(&off, &e) {
		t.Error("a provider that is down was believed")
	}
}

// What a person stopped stays so: also when the host has forgotten it, and while the provider does not answer.
func TestL10WhatAPersonStoppedStaysStopped(t *testing.T) {
	t.Parallel()
	forgotten, silent := seen(fleet.PowerOff, fleet.StopUnknown), fleet.Sighting{}
	before := forgotten
	before.Asked = machine().Acted
	const bad, unknownYet = belief.VerdictUnhealthy, belief.VerdictUnknown
	for name, c := range map[string]struct {
		last    belief.Cause
		seen    fleet.Sighting
		checks  fleet.Standing
		since   fleet.Instant // of the checks' standing; the stop is an hour old
		heal    bool
		ended   bool // with its host
		ours    bool
		verdict belief.Verdict
		cause   belief.Cause
	}{
		"its host has forgotten it": {
			last: belief.CauseStopped, seen: forgotten, checks: down, verdict: bad, cause: belief.CauseStopped,
		},
		"or that it shut down": {
			last: belief.CauseShutdown, seen: forgotten, checks: down, verdict: bad, cause: belief.CauseShutdown,
		},
		"or that it was paused": {
			last: belief.CausePaused, seen: forgotten, checks: down, verdict: bad, cause: belief.CauseStopped,
		},
		"hale itself turned it off": {
			last: belief.CauseStopped, seen: forgotten, checks: down, ours: true, verdict: bad, cause: belief.CauseOff,
		},
		"it had crashed": {
			last: belief.CauseCrashed, seen: forgotten, checks: down, verdict: bad, cause: belief.CauseOff,
		},
		"it was started, and crashed": {
			last: belief.CauseStopped, seen: seen(fleet.PowerOff, fleet.StopCrash), checks: down,
			verdict: bad, cause: belief.CauseCrashed,
		},
		"the provider is silent": {
			last: belief.CauseStopped, seen: silent, checks: down, verdict: bad, cause: belief.CauseStopped,
		},
		"it has not spoken since hale began anew": {
			last: belief.CauseStopped, seen: before, checks: failing, verdict: bad, cause: belief.CauseStopped,
		},
		"nor have the checks told yet": {
			last: belief.CauseStopped, seen: silent, checks: failing, verdict: bad, cause: belief.CauseStopped,
		},
		"they are older than the stop": {
			last: belief.CauseStopped, seen: silent, checks: up, since: 1, verdict: bad, cause: belief.CauseStopped,
		},
		"they answer again": {
			last: belief.CauseStopped, seen: silent, checks: up, since: now.Mono, verdict: belief.VerdictHealthy,
		},
		"nothing is known": {
			last: belief.CauseStopped, seen: silent, checks: unknown, verdict: unknownYet, cause: belief.CauseStopped,
		},
		"a stop is a failure": {
			last: belief.CauseStopped, seen: silent, checks: down, heal: true, verdict: bad, cause: belief.CauseChecks,
		},
		"it went down with its host": {
			last: belief.CauseShutdown, seen: silent, checks: down, ended: true, verdict: bad,
			cause: belief.CauseChecks,
		},
		"and nothing is known of it": {
			last: belief.CauseShutdown, seen: silent, checks: unknown, ended: true,
			verdict: unknownYet, cause: belief.CauseOff,
		},
		"a person's order, whatever ended": {
			last: belief.CauseStopped, seen: silent, checks: down, ended: true, verdict: bad,
			cause: belief.CauseStopped,
		},
	} {
		m := machine()
		m.Health = belief.Health{Verdict: bad, Cause: c.last, SinceMono: fleet.Instant(time.Minute)}
		m.Current.PoweredOff = c.ours
		spec := policy.Spec{UnhealthyWhen: any3("page", "alive")}
		if c.heal {
			spec.Repair.OnExternalStop = policy.ExternalStopHeal
		}
		heard := checks(c.checks, c.checks)
		for i := range heard {
			heard[i].Since = c.since
		}
		h := health.Judge(&m, &health.Evidence{
			Spec: &spec, Now: now, ProviderUp: true, Seen: c.seen, Checks: heard, Epoch: m.Epoch, Ended: c.ended,
		})
		if h.Verdict != c.verdict || h.Cause != c.cause {
			t.Errorf("%s: %s, %q; want %s, %q", name, h.Verdict, h.Cause, c.verdict, c.cause)
		}
	}
}
