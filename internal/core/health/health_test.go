package health_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/health"
)

func term(name fleet.CheckName) fleet.Condition {
	return fleet.Condition{Op: fleet.OpTerm, Term: name}
}

func any3(names ...fleet.CheckName) fleet.Condition { return tree(fleet.OpAny, 0, names...) }
func all3(names ...fleet.CheckName) fleet.Condition { return tree(fleet.OpAll, 0, names...) }

func tree(op fleet.ConditionOp, n int, names ...fleet.CheckName) fleet.Condition {
	c := fleet.Condition{Op: op, N: n}
	for _, name := range names {
		c.Of = append(c.Of, term(name))
	}
	return c
}

// now is long after the machine's last act.
var now = fleet.Now{Mono: fleet.Instant(time.Hour), Wall: time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)}

func machine() fleet.Machine {
	return fleet.Machine{Name: "web-1", Generation: 1, Epoch: 7, Acted: fleet.Instant(time.Minute),
		Current: fleet.Incarnation{ID: "a", Generation: 1, Certified: true}}
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
		cond    fleet.Condition
		page    fleet.Standing
		alive   fleet.Standing
		seen    fleet.Sighting
		down    bool // the provider
		spoil   func(*fleet.Machine)
		verdict fleet.Verdict
		cause   fleet.Cause
	}{
		"all up": {cond: any3("page", "alive"), page: up, alive: up, seen: running,
			verdict: fleet.VerdictHealthy},
		"one down of any": {cond: any3("page", "alive"), page: down, alive: up, seen: running,
			verdict: fleet.VerdictUnhealthy, cause: fleet.CauseChecks},
		"one down of all is suspect": {cond: all3("page", "alive"), page: down, alive: up, seen: running,
			verdict: fleet.VerdictSuspect},
		"both down of all (S45)": {cond: all3("page", "alive"), page: down, alive: down, seen: running,
			verdict: fleet.VerdictUnhealthy, cause: fleet.CauseChecks},
		"failing is suspect": {cond: any3("page", "alive"), page: failing, alive: up, seen: running,
			verdict: fleet.VerdictSuspect},
		"S06 unknown is never healthy": {cond: any3("page", "alive"), page: unknown, alive: up, seen: running,
			verdict: fleet.VerdictUnknown},
		"unknown beside down of any": {cond: any3("page", "alive"), page: unknown, alive: down, seen: running,
			verdict: fleet.VerdictUnhealthy, cause: fleet.CauseChecks},
		"unknown beside down of all": {cond: all3("page", "alive"), page: unknown, alive: down, seen: running,
			verdict: fleet.VerdictUnknown},
		"one of at least two": {cond: tree(fleet.OpAtLeast, 2, "page", "alive"), page: down, alive: up,
			seen: running, verdict: fleet.VerdictSuspect},
		"S42 off": {cond: any3("page"), page: up, alive: up, seen: seen(fleet.PowerOff, ""),
			verdict: fleet.VerdictUnhealthy, cause: fleet.CauseOff},
		"S42 stopped by a person": {cond: any3("page"), page: up, alive: up,
			seen: seen(fleet.PowerOff, fleet.StopExternal), verdict: fleet.VerdictUnhealthy, cause: fleet.CauseStopped},
		"S42 shut down in order": {cond: any3("page"),
			page:    up,
			alive:   up,
			seen:    seen(fleet.PowerOff, fleet.StopShutdown),
			verdict: fleet.VerdictUnhealthy,
			cause:   fleet.CauseShutdown},
		"S42 crashed": {cond: any3("page"), page: up, alive: up,
			seen: seen(fleet.PowerOff, fleet.StopCrash), verdict: fleet.VerdictUnhealthy, cause: fleet.CauseCrashed},
		"S42 error": {cond: any3("page"), page: up, alive: up, seen: seen(fleet.PowerError, ""),
			verdict: fleet.VerdictUnhealthy, cause: fleet.CauseError},
		"S42 gone": {cond: any3("page"), page: up, alive: up, seen: seen(fleet.PowerGone, ""),
			verdict: fleet.VerdictUnhealthy, cause: fleet.CauseGone},
		"S21 off, but the provider down": {cond: any3("page"), page: up, alive: up, seen: seen(fleet.PowerOff, ""),
			down: true, verdict: fleet.VerdictHealthy},
		"off, said before the last act": {cond: any3("page"), page: up, alive: up, verdict: fleet.VerdictHealthy,
			seen: fleet.Sighting{
				Asked:    fleet.Instant(time.Minute),
				Instance: fleet.Instance{ID: "a", Power: fleet.PowerOff},
			}},
		"checks of an older epoch": {cond: any3("page"), page: down, alive: down, seen: running,
			verdict: fleet.VerdictUnknown, spoil: func(m *fleet.Machine) { m.Epoch++ }},
		"provider and page must both say so": {cond: all3("provider", "page"), page: up, alive: up,
			seen: seen(fleet.PowerOff, ""), verdict: fleet.VerdictSuspect},
		"provider and page both say so": {cond: all3("provider", "page"), page: down, alive: up,
			seen: seen(fleet.PowerOff, ""), verdict: fleet.VerdictUnhealthy, cause: fleet.CauseOff},
		"no checks, running":       {cond: any3("provider"), seen: running, verdict: fleet.VerdictHealthy},
		"no checks, provider down": {cond: any3("provider"), seen: running, down: true, verdict: fleet.VerdictUnknown},
		"never built": {cond: any3("page"), verdict: fleet.VerdictUnknown, cause: fleet.CauseMissing,
			spoil: func(m *fleet.Machine) { m.Current = fleet.Incarnation{} }},
		"S46 within grace": {cond: any3("page"), page: down, alive: up, seen: running, verdict: fleet.VerdictStarting,
			spoil: func(m *fleet.Machine) { m.Health.Grace = now.Mono + 1 }},
		"S46 past grace": {cond: any3("page"), page: down, alive: up, seen: running,
			verdict: fleet.VerdictUnhealthy, cause: fleet.CauseChecks,
			spoil: func(m *fleet.Machine) { m.Health.Grace = now.Mono }},
		"grace does not cover the provider's word": {cond: any3("page"), page: down, alive: up,
			seen: seen(fleet.PowerGone, ""), verdict: fleet.VerdictUnhealthy, cause: fleet.CauseGone,
			spoil: func(m *fleet.Machine) { m.Health.Grace = now.Mono + 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machine()
			if c.spoil != nil {
				c.spoil(&m)
			}
			got := health.Judge(&m, &health.Evidence{
				Spec:       &fleet.Spec{UnhealthyWhen: c.cond, Grace: time.Minute},
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
	spec := fleet.Spec{UnhealthyWhen: any3("page", "alive")}
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

func TestStartedByOthers(t *testing.T) {
	t.Parallel()
	off, running := machine(), machine()
	off.Health.Cause = fleet.CauseStopped
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
	const bad, unknownYet = fleet.VerdictUnhealthy, fleet.VerdictUnknown
	for name, c := range map[string]struct {
		last    fleet.Cause
		seen    fleet.Sighting
		checks  fleet.Standing
		since   fleet.Instant // of the checks' standing; the stop is an hour old
		heal    bool
		ended   bool // with its host
		ours    bool
		verdict fleet.Verdict
		cause   fleet.Cause
	}{
		"its host has forgotten it": {
			last: fleet.CauseStopped, seen: forgotten, checks: down, verdict: bad, cause: fleet.CauseStopped,
		},
		"or that it shut down": {
			last: fleet.CauseShutdown, seen: forgotten, checks: down, verdict: bad, cause: fleet.CauseShutdown,
		},
		"or that it was paused": {
			last: fleet.CausePaused, seen: forgotten, checks: down, verdict: bad, cause: fleet.CauseStopped,
		},
		"hale itself turned it off": {
			last: fleet.CauseStopped, seen: forgotten, checks: down, ours: true, verdict: bad, cause: fleet.CauseOff,
		},
		"it had crashed": {
			last: fleet.CauseCrashed, seen: forgotten, checks: down, verdict: bad, cause: fleet.CauseOff,
		},
		"it was started, and crashed": {
			last: fleet.CauseStopped, seen: seen(fleet.PowerOff, fleet.StopCrash), checks: down,
			verdict: bad, cause: fleet.CauseCrashed,
		},
		"the provider is silent": {
			last: fleet.CauseStopped, seen: silent, checks: down, verdict: bad, cause: fleet.CauseStopped,
		},
		"it has not spoken since hale began anew": {
			last: fleet.CauseStopped, seen: before, checks: failing, verdict: bad, cause: fleet.CauseStopped,
		},
		"nor have the checks told yet": {
			last: fleet.CauseStopped, seen: silent, checks: failing, verdict: bad, cause: fleet.CauseStopped,
		},
		"they are older than the stop": {
			last: fleet.CauseStopped, seen: silent, checks: up, since: 1, verdict: bad, cause: fleet.CauseStopped,
		},
		"they answer again": {
			last: fleet.CauseStopped, seen: silent, checks: up, since: now.Mono, verdict: fleet.VerdictHealthy,
		},
		"nothing is known": {
			last: fleet.CauseStopped, seen: silent, checks: unknown, verdict: unknownYet, cause: fleet.CauseStopped,
		},
		"a stop is a failure": {
			last: fleet.CauseStopped, seen: silent, checks: down, heal: true, verdict: bad, cause: fleet.CauseChecks,
		},
		"it went down with its host": {
			last: fleet.CauseShutdown, seen: silent, checks: down, ended: true, verdict: bad, cause: fleet.CauseChecks,
		},
		"and nothing is known of it": {
			last: fleet.CauseShutdown, seen: silent, checks: unknown, ended: true,
			verdict: unknownYet, cause: fleet.CauseOff,
		},
		"a person's order, whatever ended": {
			last: fleet.CauseStopped, seen: silent, checks: down, ended: true, verdict: bad, cause: fleet.CauseStopped,
		},
	} {
		m := machine()
		m.Health = fleet.Health{Verdict: bad, Cause: c.last, SinceMono: fleet.Instant(time.Minute)}
		m.Current.PoweredOff = c.ours
		spec := fleet.Spec{UnhealthyWhen: any3("page", "alive")}
		if c.heal {
			spec.Repair.OnExternalStop = fleet.ExternalStopHeal
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
