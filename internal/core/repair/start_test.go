package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// What is off is started: the provider alone is asked once more, and then the machine has its time to be healthy.
func TestWhatIsOffIsStarted(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepStart], steps[fleet.StepRecreate]).fails(belief.CauseOff)
	st.want("it begins", st.begin(), "repair-started heal; then start; LOOK; look")
	if got := st.action().Scope; got != situation.LookProvider {
		t.Errorf("checks that cannot answer are asked: %s", got)
	}
	st.answer(fleet.PowerOff, fleet.StandingDown)
	st.want("it is off", st.round(), "look confirmed; CALL start old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it was started", st.round(), "verify")
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	st.want("and is well", st.round(), "verified; repair-ended healed; incident-closed healed; over")
}

// A start harms nothing, so that a full budget, the brake and silence hold none; a person's hold, and a person's brake
// do.
func TestWhatHoldsAStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*guard.Situation)
		want string
	}{
		"a full budget": {func(s *guard.Situation) { s.Tally.InRepair = 5 }, "look confirmed; CALL start old; act"},
		"the brake": {func(s *guard.Situation) { s.Brake.Engaged = true },
			"look confirmed; CALL start old; act"},
		"no witness": {func(s *guard.Situation) { s.Spec.Repair.Silence = "" }, "look confirmed; CALL start old; act"},
		"a person's brake": {func(s *guard.Situation) { s.Brake.By = "ann" },
			"repair-ended brake; held brake; over"},
		"a person's hold": {func(s *guard.Situation) { s.Whole.Holds = []belief.Hold{{Machine: "web-1"}} },
			"repair-ended hold; held hold; over"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, steps[fleet.StepStart], steps[fleet.StepReboot]).fails(belief.CauseOff)
			st.want("it begins", st.begin(), "repair-started heal; then start; LOOK; look")
			c.set(&st.s)
			st.answer(fleet.PowerOff, fleet.StandingDown)
			st.want(name, st.round(), c.want)
		})
	}
}

// startedInVain is a machine that was off, runs since it was started, and fails all the same when its time is over.
func startedInVain(t *testing.T) *stage {
	t.Helper()
	st := newStage(t, steps[fleet.StepStart], steps[fleet.StepReboot], steps[fleet.StepPage]).fails(belief.CauseOff)
	st.begin()
	st.answer(fleet.PowerOff, fleet.StandingDown)
	st.round()
	st.ends(fleet.OutcomeDone)
	st.want("it was started", st.round(), "verify")
	st.m.Health.Verdict, st.m.Health.Cause = belief.VerdictUnhealthy, belief.CauseChecks
	st.view.Epoch = st.m.Epoch
	st.pass(10 * time.Second)
	return st
}

// L5: a repair that began with a start has no place in the budgets. Before it goes on to more than that it takes one,
// or waits for it with nothing done.
func TestL5AStartInVainTakesAPlaceBeforeItGoesOn(t *testing.T) {
	t.Parallel()
	st := startedInVain(t)
	st.s.Tally.InRepair = 5
	st.want("no place is free", st.round(), "step-failed not-verified; then reboot; held budget; look")
	if st.m.Repair.Budgeted() {
		t.Error("it took a place that was not free")
	}
	st.pass(time.Minute)
	st.want("nor later", st.round(), "look")
	st.s.Tally.InRepair = 4
	st.want("one is free", st.round(), "LOOK; look")
	if !st.m.Repair.Budgeted() {
		t.Error("it goes on without a place")
	}
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("it is rebooted", st.round(), "look confirmed; CALL reboot old; act")
}

// L6: the brake holds what comes after a start in vain, and that may be for long: the repair makes room, and the next
// one has to wait.
func TestL6TheBrakeEndsARepairThatStartedInVain(t *testing.T) {
	t.Parallel()
	st := startedInVain(t)
	st.s.Brake.Engaged = true
	st.want("the brake is on", st.round(),
		"step-failed not-verified; then reboot; repair-ended brake; held brake; over, again in 5s")
	if st.m.Incident.Failed != 1 || st.m.Incident.Last.Why != fleet.ReasonBrake || len(st.m.Attempts) != 2 {
		t.Errorf("the try is not counted: %+v, attempts %v", st.m.Incident, st.m.Attempts)
	}
}

// The machine was off when its repair began, and runs by now. With what ails it the ladder is chosen from anew, with or
// without a place in the budgets; what only may ail it, or starts, is looked at as before.
func TestWhatRunsByNowIsNotStarted(t *testing.T) {
	t.Parallel()
	const anew = "step-skipped not-off; then reboot; "
	for name, c := range map[string]struct {
		verdict belief.Verdict
		busy    int // machines in repair
		want    string
	}{
		"it fails":                       {belief.VerdictUnhealthy, 0, anew + "LOOK; look"},
		"it fails, and no place is free": {belief.VerdictUnhealthy, 5, anew + "held budget; look"},
		"it is suspect":                  {belief.VerdictSuspect, 0, "look"},
		"it is starting":                 {belief.VerdictStarting, 0, "repair-ended refuted; over, again in 5s"},
	} {
		st := newStage(t, steps[fleet.StepStart], steps[fleet.StepReboot]).fails(belief.CauseOff)
		st.begin()
		st.m.Health.Cause, st.m.Health.Verdict, st.s.Tally.InRepair = belief.CauseChecks, c.verdict, c.busy
		st.want(name, st.round(), c.want)
	}
}

// A host took the machine along, and a start was all it needed: however often that happens, it is no sign of trouble of
// the machine's own, and counts for no attempt.
func TestAStartAfterAHostsRebootIsNoAttempt(t *testing.T) {
	t.Parallel()
	for dark, attempts := range map[bool]int{true: 1, false: 2} {
		st := newStage(t, steps[fleet.StepStart]).fails(belief.CauseOff)
		st.m.Incident.Dark = dark
		st.begin()
		st.answer(fleet.PowerOff, fleet.StandingDown)
		st.round()
		st.ends(fleet.OutcomeDone)
		st.round()
		st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
		st.want("it is well", st.round(), "verified; repair-ended healed; incident-closed healed; over")
		if len(st.m.Attempts) != attempts {
			t.Errorf("taken along %t: %d attempts, want %d", dark, len(st.m.Attempts), attempts)
		}
	}
}

// L1: to start the machine while another instance with its mark may run would make two of it.
func TestL1NothingIsStartedBesideAnother(t *testing.T) {
	t.Parallel()
	for power, want := range map[fleet.Power]string{
		fleet.PowerRunning: "held rival; look",
		fleet.PowerPaused:  "held rival; look",
		fleet.PowerUnknown: "held rival; look",
		fleet.PowerOff:     "LOOK; look",
		fleet.PowerGone:    "LOOK; look",
	} {
		for _, step := range []fleet.StepKind{fleet.StepStart, fleet.StepResume} {
			cause := map[fleet.StepKind]belief.Cause{
				fleet.StepStart: belief.CauseOff, fleet.StepResume: belief.CausePaused}[step]
			st := looked(t, step, cause)
			st.m.Repair.Look = ""
			st.seen(marked("other", "h2", power, 1))
			st.want(string(step)+" beside one that is "+string(power), st.round(), want)
		}
	}
}

// What runs is not doubled by a step, and what is gone is not started: another instance beside it is no reason to leave
// it sick.
func TestWhatRunsIsMendedBesideAnother(t *testing.T) {
	t.Parallel()
	for step, cause := range map[fleet.StepKind]belief.Cause{
		fleet.StepReboot: belief.CauseChecks, fleet.StepRecreate: belief.CauseGone} {
		st := looked(t, step, cause)
		st.m.Repair.Look = ""
		st.seen(marked("other", "h2", fleet.PowerRunning, 1))
		st.want(string(step), st.round(), "LOOK; look")
	}
}

// L2: what stands still with its memory is resumed, and never reset. What could not write, and what a person has in
// their hands, is for that person.
func TestL2WhatStandsStillIsResumed(t *testing.T) {
	t.Parallel()
	for cause, want := range map[belief.Cause]string{
		belief.CausePaused:    "repair-started heal; step-skipped not-off; then resume; LOOK; look",
		belief.CauseSuspended: "repair-started heal; step-skipped not-off; then resume; LOOK; look",
		belief.CauseIOError: "repair-started heal; step-skipped not-off; step-skipped io-error; " +
			"step-skipped halted; step-skipped halted; " + toPerson("no-step"),
		belief.CauseRescued: "repair-started heal; step-skipped not-off; step-skipped rescued; " +
			"step-skipped halted; step-skipped halted; " + toPerson("no-step"),
	} {
		st := newStage(t, steps[fleet.StepStart], steps[fleet.StepResume], steps[fleet.StepReboot],
			steps[fleet.StepRecreate]).fails(cause)
		st.want(string(cause), st.begin(), want)
	}
}

// L10: the policy leaves a person's stop alone. A repair that was to start the machine ends when it turns out that a
// person stopped it, unless a person orders that it is repaired all the same, or hale stopped it.
func TestL10APersonsStopIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"hale has to leave it": {func(*stage) {}, "repair-ended stopped-by-person; over"},
		"a person orders its repair": {func(st *stage) {
			st.m.Wanted = &belief.Wanted{Order: "o1", Until: st.s.Now.Wall.Add(time.Hour)}
		}, "look"},
		"hale told it to power off": {func(st *stage) {
			st.m.Repair.OffCalls, st.m.Repair.OffAccepted = 1, true
		}, "look"},
		"hale may have turned it off": {func(st *stage) {
			st.m.Repair.OffCalls, st.m.Current.PoweredOff = 1, true
		}, "look"},
		"its provider refused hale's order": {func(st *stage) { st.m.Repair.OffCalls = 1 },
			"repair-ended stopped-by-person; over"},
		"the policy heals it": {func(st *stage) { st.s.Spec.Repair.OnExternalStop = policy.ExternalStopHeal }, "look"},
		"its build is to go":  {func(st *stage) { st.m.Repair.Target.Expired = true }, "look"},
	} {
		st := looked(t, fleet.StepRecreate, belief.CauseStopped)
		st.s.Spec.Repair.OnExternalStop = policy.ExternalStopHoldThenPage
		c.set(st)
		st.want(name, st.round(), c.want)
		if st.m.Repair == nil && len(st.m.Attempts) != 0 {
			t.Errorf("%s: what was not tried counts", name)
		}
	}
}
