package repair_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/budget"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// held has the machine be held for the reason.
func (st *stage) held(why fleet.Reason) string {
	st.Helper()
	return st.play(func(w *work) { w.Wait(why, fleet.StepReboot) })
}

// A reason for which nothing is done is said once, and again when it came back; one that comes and goes is only
// counted.
func TestAReasonIsSaidOnce(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.want("the brake", st.held(fleet.ReasonBrake), "held brake; over")
	st.want("still", st.held(fleet.ReasonBrake), "over")
	st.want("no more", st.held(""), "over")
	st.want("once more", st.held(fleet.ReasonBrake), "held brake; over")
	for range 4 {
		st.want("another", st.held(""), "over")
		st.want("it comes and goes", st.held(fleet.ReasonBrake), "over")
	}
	st.held("")
	st.pass(time.Hour)
	st.want("an hour later", st.held(fleet.ReasonBrake), "held brake; over")
	if got := st.record(record.Held).Again; got != 4 {
		t.Errorf("it came back %d times without a word, want 4", got)
	}
}

// When a repair begins, what held the machine before says something new again, and how often it did is kept.
func TestWhatHeldAMachineIsCountedUntilItsRepair(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepReboot])
	for range 5 {
		st.held(fleet.ReasonBrake)
		st.held("")
	}
	st.want("it begins", st.begin(), "repair-started heal; then reboot; LOOK; look")
	if got := st.record(record.RepairStarted).Again; got != 3 || len(st.m.Swings) != 0 {
		t.Errorf("it was held %d times without a word, want 3; %+v", got, st.m.Swings)
	}
	st.want("from now on", st.held(fleet.ReasonBrake), "held brake; look")
}

// That the machine waited for its host, or for its provider, is remembered: a start is all that it may need then.
func TestWhatWaitedInTheDark(t *testing.T) {
	t.Parallel()
	for why, want := range map[fleet.Reason]bool{
		fleet.ReasonHostDown: true, fleet.ReasonProviderDown: true, fleet.ReasonBrake: false,
		fleet.ReasonAmnesty: false,
	} {
		st := newStage(t)
		st.held(why)
		if got := st.m.Incident.Dark; got != want {
			t.Errorf("%s: it waited in the dark: %t, want %t", why, got, want)
		}
	}
	st := newStage(t)
	st.m.Incident = nil
	st.want("without an incident", st.held(fleet.ReasonHostDown), "held host-down; over")
}

// A person who reads why a machine is held finds the arithmetic behind it.
func TestWhyAMachineIsHeld(t *testing.T) {
	t.Parallel()
	rack := fleet.Domain{Kind: fleet.DomainRack, Name: "r1"}
	for name, c := range map[string]struct {
		why  fleet.Reason
		set  func(*stage)
		want record.Record
	}{
		"the fleet's brake": {fleet.ReasonBrake, func(st *stage) { st.s.Tally = guard.Tally{Size: 5, Failing: 6} },
			record.Record{Failing: 6, Size: 5, Limit: 4}},
		"a person's brake": {fleet.ReasonBrake, func(st *stage) { st.s.Brake.By, st.s.Brake.Words = "ann", "a test" },
			record.Record{Size: 5, Limit: 4, By: "ann", Detail: "a test"}},
		"the brake of a provider": {fleet.ReasonBrake, func(st *stage) {
			st.s.Brake.Scope, st.s.Tolls = policy.ScopeProvider, []belief.Toll{{Scope: policy.ScopeProvider, Size: 20,
				Failing: 15}}
			st.s.Spec.Limits.Brakes = []policy.SharedBrake{{Scope: policy.ScopeProvider,
				Policy: policy.Brake{AtLeast: 12}}}
		}, record.Record{Failing: 15, Size: 25, Limit: 12, Scope: policy.ScopeProvider, Detail: "lab"}},
		"the brake of the installation": {fleet.ReasonBrake, func(st *stage) {
			st.s.Brake.Scope, st.s.Brake.Words = policy.ScopeInstallation, "a test"
		}, record.Record{Size: 5, Limit: 4, Scope: policy.ScopeInstallation, Detail: "a test"}},
		"the fleet's budget": {fleet.ReasonBudget, func(st *stage) { st.s.Tally.Failing = 2 },
			record.Record{Failing: 2, Size: 5, Limit: 4}},
		"a shared budget": {fleet.ReasonBudget, func(st *stage) {
			st.s.Spec.Limits.Shared = []policy.SharedLimit{{Scope: policy.ScopeProvider, InRepair: 1}}
			st.s.Slots = budget.Slots{{Machine: "db-1", Provider: "lab"}}
		}, record.Record{Failing: 1, Size: 5, Limit: 1, Scope: policy.ScopeProvider, Detail: "lab"}},
		"a shared fate": {fleet.ReasonSharedFate, func(st *stage) {
			st.s.Whole.Parents = []belief.Parent{{ID: "web/i1", Domain: rack, Failing: 4, Members: 6}}
			st.m.Incident.Parent = "web/i1"
		}, record.Record{Failing: 4, Size: 6, Domain: rack, Parent: "web/i1"}},
		"something else under a parent": {fleet.ReasonAmnesty, func(st *stage) {
			st.s.Whole.Parents = []belief.Parent{{ID: "web/i1", Domain: rack, Failing: 4, Members: 6}}
			st.m.Incident.Parent = "web/i1"
		}, record.Record{Size: 5, Limit: 4, Parent: "web/i1"}},
		"something else, and the brake is on": {fleet.ReasonAmnesty, func(st *stage) { st.s.Brake.By = "ann" },
			record.Record{Size: 5, Limit: 4}},
		"a host that was not asked": {fleet.ReasonHostUnasked, func(st *stage) {
			st.s.Silent = []fleet.Silence{{Host: "h2"}}
		}, record.Record{Size: 5, Limit: 4, Host: "h2"}},
		"something else, and a host was not asked": {fleet.ReasonAmnesty, func(st *stage) {
			st.s.Silent = []fleet.Silence{{Host: "h2"}}
		}, record.Record{Size: 5, Limit: 4}},
	} {
		st := newStage(t)
		c.set(st)
		st.held(c.why)
		want := c.want
		want.Kind, want.Reason, want.At, want.Fleet, want.Machine = record.Held, c.why, st.s.Now.Wall, "web",
			"web-1"
		want.Provider, want.Incident, want.Cause = "lab", "web-1/1", belief.CauseChecks
		want.Step, want.Instance = fleet.StepReboot, "old"
		if got := st.record(record.Held); !reflect.DeepEqual(got, want) {
			said, _ := json.Marshal(got)
			t.Errorf("%s: it is said %s", name, said)
		}
	}
}

// A record says which repair, step, incident and order it belongs to. What is no step of the ladder has none.
func TestWhatARecordBelongsTo(t *testing.T) {
	t.Parallel()
	for kind, step := range map[belief.RepairKind]fleet.StepKind{
		belief.RepairHeal: fleet.StepRecreate, belief.RepairBuild: fleet.StepRecreate,
		belief.RepairUpdate:  fleet.StepRecreate,
		belief.RepairRemnant: "", belief.RepairTidy: "", belief.RepairRemove: "", belief.RepairUndo: "",
	} {
		st := newStage(t)
		r := st.healing(fleet.StepRecreate)
		if r.Kind = kind; kind.Ordered() {
			r.Order = "o1"
		}
		st.m.Repair, st.m.Incident.Parent = &r, "web/i1"
		w := st.work()
		w.Order = "o7"
		w.Record(record.Record{Kind: record.Paged})
		w.Record(record.Record{Kind: record.Paged, Step: fleet.StepPage, Order: "o8", Incident: "i", Parent: "p"})
		if got := w.Records[0]; got.Step != step || got.Repair != "web-1/r1" || got.Incident != "web-1/1" ||
			got.Parent != "web/i1" || got.Order != "o7" {
			t.Errorf("%s: %+v", kind, got)
		}
		if got := w.Records[1]; got.Step != fleet.StepPage || got.Order != "o8" || got.Incident != "i" ||
			got.Parent != "p" {
			t.Errorf("%s: what is said is replaced: %+v", kind, got)
		}
	}
}

// A person is told once of an incident, and of what begins it; a joint page before counts for no word of its own.
func TestAPersonIsToldOnce(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.m.Incident.Joint = "web/j1"
	st.want("first", st.play(func(w *work) { w.Page(fleet.ReasonStepPage) }), "paged step-page; over")
	if i := st.m.Incident; !i.Told.Equal(st.s.Now.Wall) || i.For != fleet.ReasonStepPage || i.Joint != "" {
		t.Errorf("it is not said when, and why: %+v", i)
	}
	st.want("again", st.play(func(w *work) { w.Page(fleet.ReasonLocked) }), "over")
	st.m.Incident, st.m.Incidents = nil, 11
	st.want("without an incident", st.play(func(w *work) { w.Page(fleet.ReasonLocked) }), "over")
	st.play(func(w *work) { w.OpenIncident(belief.CauseBuild) })
	if got := st.m.Incident; got.ID != "web-1/12" || got.Cause != belief.CauseBuild ||
		!got.Opened.Equal(st.s.Now.Wall) {
		t.Errorf("the next incident is %+v", got)
	}
}

// What is left to a person is told, also where they were told before of the host, or that nothing was known, while hale
// went on.
func TestAQuarantineIsTold(t *testing.T) {
	t.Parallel()
	for before, want := range map[fleet.Reason]string{
		"":                     "quarantined attempts; paged attempts; over",
		fleet.ReasonHostFenced: "quarantined attempts; paged attempts; over",
		fleet.ReasonHostCut:    "quarantined attempts; paged attempts; over",
		fleet.ReasonBlind:      "quarantined attempts; paged attempts; over",
		fleet.ReasonStepPage:   "quarantined attempts; over",
		fleet.ReasonLocked:     "quarantined attempts; over",
	} {
		st := newStage(t)
		st.m.Incident.For, st.m.Incident.Paged, st.m.RetryAt = before, before != "", hour+1
		st.want("told of "+string(before), st.play(func(w *work) { w.LeaveToPerson(fleet.ReasonAttempts) }), want)
		if q := st.m.Quarantine; q == nil || q.Reason != fleet.ReasonAttempts || !q.Since.Equal(st.s.Now.Wall) ||
			st.m.Waiting != fleet.ReasonQuarantined || st.m.RetryAt != 0 {
			t.Errorf("it is not left to a person: %+v", st.m)
		}
	}
	st := newStage(t)
	st.m.Incident = nil
	st.play(func(w *work) { w.LeaveToPerson(fleet.ReasonAttempts) })
	if i := st.m.Incident; i == nil || i.Cause != belief.CauseBuild {
		t.Errorf("nothing shows what it is there for: %+v", i)
	}
}

// spared is a machine in quarantine: its page was down, and the step for that was in vain. Another step is for the disk
// alone.
func spared(t *testing.T) *stage {
	t.Helper()
	forPage, forDisk := steps[fleet.StepReboot], steps[fleet.StepRecreate]
	forPage.For, forDisk.For = []fleet.CheckName{"page"}, []fleet.CheckName{"disk"}
	st := newStage(t, forPage, steps[fleet.StepPage], forDisk)
	st.s.Spec.Checks = append(st.s.Spec.Checks, policy.Check{Name: "disk", Kind: policy.CheckTCP})
	st.view.Checks = append(st.view.Checks, fleet.CheckState{Check: "disk", Standing: fleet.StandingUp})
	st.m.Attempts, st.m.Incident.Failed, st.m.Incident.Paged = []fleet.Instant{hour, hour, hour}, 3, true
	st.play(func(w *work) { w.LeaveToPerson(fleet.ReasonAttempts) })
	return st
}

// A machine leaves its quarantine, once, when more fails than what it was put there for, so that a step may help which
// was not for that.
func TestAMachineThatGetsWorseIsTriedOnce(t *testing.T) {
	t.Parallel()
	const tried, left = "quarantine-over worsened; over", "over"
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"its disk fails, too":    {func(*stage) {}, tried},
		"its disk is well":       {func(st *stage) { st.view.Checks[1].Standing = fleet.StandingUp }, left},
		"that was before":        {func(st *stage) { st.view.Epoch++ }, left},
		"it did so once":         {func(st *stage) { st.m.Incident.Worsened = true }, left},
		"it is only suspect":     {func(st *stage) { st.m.Health.Verdict = belief.VerdictSuspect }, left},
		"it is in no quarantine": {func(st *stage) { st.m.Quarantine = nil }, left},
		"the step was tried":     {func(st *stage) { st.m.Quarantine.Spared = 0 }, left},
		"the step is not for it": {func(st *stage) { st.m.Current.Certified = false }, left},
		"a person stopped it": {func(st *stage) {
			st.s.Spec.Repair.OnExternalStop = policy.ExternalStopHoldThenPage
			st.m.Health.Cause = belief.CauseStopped
			st.s.Spec.Repair.Steps[2].For = []fleet.CheckName{policy.ProviderTerm}
		}, left},
		"the step only tells": {func(st *stage) {
			st.s.Spec.Repair.Steps[2].Kind = fleet.StepPage
		}, left},
		"the step only leaves it": {func(st *stage) {
			st.s.Spec.Repair.Steps[2].Kind = fleet.StepQuarantine
		}, left},
	} {
		st := spared(t)
		st.view.Checks[1].Standing = fleet.StandingDown
		c.set(st)
		st.want(name, st.play(func(w *work) { w.Worsen() }), c.want)
		if c.want == tried && (st.m.Quarantine != nil || st.m.Waiting != "" || len(st.m.Attempts) != 0 ||
			st.m.Incident.Failed != 0 || st.m.Incident.Paged || !st.m.Incident.Worsened) {
			t.Errorf("%s: it does not begin anew: %+v", name, st.m)
		}
	}
}

// L6: what holds new steps back lets one that is under way finish; what makes the picture bad holds that, too. A held
// host is held for whatever the repair is about.
func TestL6WhatHoldsARungBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set             func(*stage)
		first, underWay string // nothing was told to power off, and something was
	}{
		"nothing":   {func(*stage) {}, "LOOK; look", "LOOK; look"},
		"the brake": {func(st *stage) { st.s.Brake.Engaged = true }, "held brake; look", "LOOK; look"},
		"a person's hold": {func(st *stage) { st.s.Whole.Holds = []belief.Hold{{Machine: "web-1"}} },
			"repair-ended hold; held hold; over", "LOOK; look"},
		"the hold of its host": {func(st *stage) { st.s.Whole.Holds = []belief.Hold{{Host: "h1"}} },
			"repair-ended hold; held hold; over", "LOOK; look"},
		"the hold of another host": {func(st *stage) { st.s.Whole.Holds = []belief.Hold{{Host: "h2"}} },
			"LOOK; look", "LOOK; look"},
		"the time of day": {func(st *stage) { st.s.Closed = true }, "repair-ended window; held window; over",
			"LOOK; look"},
		"hale has just begun": {func(st *stage) { st.s.SteadyAt = hour + 1 }, "held amnesty; look",
			"held amnesty; look"},
		"hale is cut off": {func(st *stage) { st.s.Whole.Doubt.Reason = fleet.ReasonVantageIsolated },
			"held vantage-isolated; look", "held vantage-isolated; look"},
		"the brake, and hale has just begun": {func(st *stage) { st.s.Brake.Engaged, st.s.SteadyAt = true, hour+1 },
			"held amnesty; look", "held amnesty; look"},
	} {
		for orders, want := range []string{c.first, c.underWay} {
			st := looked(t, fleet.StepRecreate, belief.CauseChecks)
			st.m.Repair.Look, st.m.Repair.OffCalls, st.m.Repair.ClearedCalls = "", orders, orders
			c.set(st)
			st.want(name, st.round(), want)
		}
	}
}

// A person holds a host that the machine itself is not on: what lies there, and what would come back there, stays as it
// is.
func TestAHeldHostIsHeldForWhatLiesThere(t *testing.T) {
	t.Parallel()
	for host, want := range map[fleet.HostName]string{"h2": "held hold; look", "h3": "look"} {
		st, _ := remnant(t)
		st.s.Whole.Holds = []belief.Hold{{Host: host}}
		st.want("a remnant on h2, and held is "+string(host), st.round(), want)
	}
	for host, want := range map[fleet.HostName]string{"h1": "held hold; act", "h3": "ASK new; act"} {
		st, _ := undoing(t)
		st.s.Whole.Holds = []belief.Hold{{Host: host}}
		st.seen(aside())
		st.want("an undo of what is on h1, and held is "+string(host), st.round(), want)
	}
}

// An incident says when the first probe failed of those that led to it, when it opens and when it closes: not what
// failed before and succeeds again, nor what is unknown. Of what never succeeded that is not known.
func TestAnIncidentSaysWhenTheFirstProbeFailed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		checks []fleet.CheckState
		ago    time.Duration // 0: it is not known
	}{
		"one that is down": {[]fleet.CheckState{{Standing: fleet.StandingDown, Answered: hour.Add(-3 * time.Second)}},
			3 * time.Second},
		"the first of two": {[]fleet.CheckState{{Standing: fleet.StandingDown, Answered: hour.Add(-3 * time.Second)},
			{Standing: fleet.StandingFailing, Answered: hour.Add(-4 * time.Second)},
			{Standing: fleet.StandingUp, Answered: hour.Add(-time.Minute)},
			{Standing: fleet.StandingUnknown, Answered: hour.Add(-time.Minute)}}, 4 * time.Second},
		"one that never succeeded":   {[]fleet.CheckState{{Standing: fleet.StandingDown}}, 0},
		"the provider's word, alone": {nil, 0},
	} {
		st := newStage(t)
		st.m.Incident, st.view.Checks = nil, c.checks
		st.play(func(w *work) { w.OpenIncident(belief.CauseChecks) })
		want := time.Time{}
		if c.ago != 0 {
			want = st.s.Now.Wall.Add(-c.ago)
		}
		if got := st.record(record.IncidentOpen).Began; !got.Equal(want) {
			t.Errorf("%s: it began at %v, want %v", name, got, want)
		}
		st.pass(time.Minute)
		st.play(func(w *work) { w.Record(record.Record{Kind: record.IncidentClosed}) })
		if got := st.record(record.IncidentClosed).Began; !got.Equal(want) {
			t.Errorf("%s: at its end it is said to have begun at %v, want %v", name, got, want)
		}
	}
}
