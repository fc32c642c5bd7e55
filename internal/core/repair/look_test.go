package repair_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"hale/internal/core/fleet"
)

// looked is the stage of a repair that waits for its look.
func looked(t *testing.T, step fleet.StepKind, cause fleet.Cause) *stage {
	t.Helper()
	st := newStage(t, ladder[step], ladder[fleet.StepPage])
	st.m.Health.Cause, st.m.Incident.Cause = cause, cause
	r := st.healing(step)
	r.Phase, r.Confirmed, r.Calls, r.Look, r.Looks = fleet.PhaseLook, false, 0, "web-1/r1/look1", 1
	st.m.Repair = &r
	return st
}

// answer is what the look shows of the machine's instance: of its power, and of its check.
func (st *stage) answer(p fleet.Power, page fleet.Standing) {
	st.show(fleet.Instance{ID: "old", Host: "h1", Power: p}, page)
}

// show is what the look shows of an instance; without a power, the provider says nothing.
func (st *stage) show(i fleet.Instance, page fleet.Standing) {
	st.pass(time.Millisecond)
	l := &fleet.Look{ID: st.m.Repair.Look, Started: st.s.Now.Mono,
		Checks: []fleet.CheckState{{Check: "page", Standing: page}}}
	if i.Power != "" {
		l.Seen = fleet.Sighting{Asked: st.s.Now.Mono, Instance: i}
		st.view.Seen = []fleet.Sighting{l.Seen}
	}
	st.view.Look = l
}

// L3: a look is the last word before a step: it confirms the failure, refutes it, or says nothing, and then it is taken
// again.
func TestWhatALookDecides(t *testing.T) {
	t.Parallel()
	causes := map[fleet.StepKind]fleet.Cause{fleet.StepStart: fleet.CauseOff, fleet.StepResume: fleet.CausePaused}
	for _, step := range []fleet.StepKind{fleet.StepStart, fleet.StepResume, fleet.StepReboot, fleet.StepRun,
		fleet.StepRebuild, fleet.StepRecreate, fleet.StepRescue, fleet.StepSnapshot, fleet.StepPage} {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			cause, stopped := causes[step]
			if !stopped {
				cause = fleet.CauseChecks
			}
			for _, p := range append([]fleet.Power{""}, powers...) {
				for _, page := range []fleet.Standing{fleet.StandingUp, fleet.StandingDown, fleet.StandingUnknown} {
					st := looked(t, step, cause)
					st.answer(p, page)
					c := string(step) + " " + cmp.Or(string(p), "silent") + "/" + string(page)
					st.want(c, st.round(), looks[c])
				}
			}
		})
	}
}

// L4: that its processors stand still was all that bore witness to a machine's silence. Those that move in the look
// take that back.
func TestALookInWhichProcessorsMoveDisruptsNothing(t *testing.T) {
	t.Parallel()
	for moves, want := range map[bool]string{
		false: "look confirmed; CALL reboot old; act",
		true:  "look look-unclear; held look-unclear; look in 500ms",
	} {
		st := looked(t, fleet.StepReboot, fleet.CauseChecks)
		st.s.Spec.Repair.Silence, st.s.Still = "", []fleet.InstanceID{st.m.Current.ID}
		st.view.Checks[0].Result = fleet.ResultTimeout
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.view.Look.Moves, st.view.Look.Checks[0].Result = moves, fleet.ResultTimeout
		st.want(fmt.Sprint("they move: ", moves), st.round(), want)
	}
}

// L3: a look that began for another question decides nothing.
func TestAnotherLookDecidesNothing(t *testing.T) {
	t.Parallel()
	st := looked(t, fleet.StepReboot, fleet.CauseChecks)
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.view.Look.ID = "web-1/r0/look1"
	st.want("another", st.round(), "look")
}

// L8: a look that says nothing ten times makes room, and a person is told.
func TestALookThatSaysNothingForLong(t *testing.T) {
	t.Parallel()
	st := looked(t, fleet.StepReboot, fleet.CauseChecks)
	for n := 1; n <= 10; n++ {
		st.answer("", fleet.StandingUnknown)
		got := st.round()
		switch n {
		case 1:
			st.want("first", got, "look look-unclear; held look-unclear; look in 500ms")
		case 10:
			st.want("last", got, "look look-unclear; paged look-unclear; repair-ended look-unclear; over, again in 5s")
			return
		}
		st.pass(st.m.Repair.RetryAt.Sub(st.s.Now.Mono))
		st.want("again", st.round(), "LOOK; look")
	}
}

// verifying is the stage of a machine that was rebooted.
func verifying(t *testing.T, step fleet.StepKind, certified bool) *stage {
	t.Helper()
	st := newStage(t, ladder[step], ladder[fleet.StepPage])
	st.m.Current.Certified = certified
	st.m.Health = fleet.Health{Verdict: fleet.VerdictStarting}
	r := st.healing(step)
	r.Phase, r.Deadline, r.LastOutcome = fleet.PhaseVerify, hour.Add(10*time.Second), hour
	st.m.Repair = &r
	return st
}

// L8: after a step the machine has its time to be healthy, to the nanosecond, and no longer.
func TestWhatVerifyingDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		certified bool
		after     time.Duration
		health    fleet.Health
		seen      fleet.Power
		want      string
	}{
		"starting": {true, time.Second, fleet.Health{Verdict: fleet.VerdictStarting}, "",
			"verify"},
		"just before its time is over": {true, 10*time.Second - 1, fleet.Health{Verdict: fleet.VerdictStarting}, "",
			"verify"},
		"its time is over": {true, 10 * time.Second, fleet.Health{Verdict: fleet.VerdictStarting}, "",
			"step-failed not-verified; then page; repair-ended refuted; over, again in 5s"},
		"unhealthy when its time is over": {true, 10 * time.Second, fleet.Health{Verdict: fleet.VerdictUnhealthy,
			Cause: fleet.CauseChecks}, "", "step-failed not-verified; then page; LOOK; look"},
		"unhealthy, and there is time": {true, time.Second, fleet.Health{Verdict: fleet.VerdictUnhealthy,
			Cause: fleet.CauseChecks}, "", "verify"},
		"healthy": {true, time.Second, fleet.Health{Verdict: fleet.VerdictHealthy}, "",
			"verified; repair-ended healed; incident-closed healed; over"},
		"healthy for the first time": {false, time.Second, fleet.Health{Verdict: fleet.VerdictHealthy}, "",
			"verified; CALL certify old; certify"},
		"off, as it was before the step": {true, time.Second, fleet.Health{Verdict: fleet.VerdictUnhealthy,
			Cause: fleet.CauseOff}, "", "verify"},
		"off, as it is seen now": {true, time.Second, fleet.Health{Verdict: fleet.VerdictUnhealthy,
			Cause: fleet.CauseOff}, fleet.PowerOff, "step-failed not-verified; then page; LOOK; look"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := verifying(t, fleet.StepReboot, c.certified)
			st.m.Health = c.health
			st.s.Now.Mono = hour.Add(c.after)
			if c.seen != "" {
				st.view.Seen = []fleet.Sighting{{Asked: hour + 1, Instance: fleet.Instance{ID: "old", Power: c.seen}}}
			}
			st.want(name, st.round(), c.want)
		})
	}
}

// L15: a new owner gives the time to be healthy again, in full.
func TestANewOwnerVerifiesAnew(t *testing.T) {
	t.Parallel()
	st := verifying(t, fleet.StepReboot, true)
	st.pass(9 * time.Second)
	st.m = st.m.Restart(st.s.Now, st.s.Spec)
	st.pass(10*time.Second - 1)
	st.want("before", st.round(), "verify")
	st.pass(1)
	st.want("then", st.round(), "step-failed not-verified; then page; LOOK; look")
}

// L3, L9: whatever was confirmed before a restart is looked at once more before anything is done.
func TestANewOwnerLooksAgain(t *testing.T) {
	t.Parallel()
	for _, step := range []fleet.StepKind{fleet.StepReboot, fleet.StepRun, fleet.StepRebuild, fleet.StepRecreate,
		fleet.StepRescue, fleet.StepSnapshot} {
		for _, phase := range []fleet.Phase{fleet.PhaseLook, fleet.PhaseAct} {
			st := looked(t, step, fleet.CauseChecks)
			st.m.Repair.Phase = phase
			st.m.Repair.Confirmed, st.m.Repair.Proof = phase == fleet.PhaseAct, fleet.ProofConfirmedOff
			st.pass(time.Second)
			st.m = st.m.Restart(st.s.Now, st.s.Spec)
			st.m.Health.Verdict, st.m.Health.Cause = fleet.VerdictUnhealthy, fleet.CauseChecks
			st.want(string(step)+" "+string(phase), st.round(), "LOOK; look")
			if r := st.m.Repair; r.Confirmed || r.Proof != "" {
				t.Errorf("%s in %s: confirmed %t, proof %s", step, phase, r.Confirmed, r.Proof)
			}
		}
	}
}

// L1: what was removed is proven off once more before anything is built in its place.
func TestANewOwnerProvesAgainBeforeItBuilds(t *testing.T) {
	t.Parallel()
	for _, p := range powers {
		st := calling[fleet.OpCreate](t)
		st.m.Repair.Intent, st.m.Repair.Next = nil, fleet.Incarnation{}
		st.pass(time.Second)
		st.m = st.m.Restart(st.s.Now, st.s.Spec)
		st.want("unseen", st.round(), "ASK old; act")
		st.seen(fleet.Instance{ID: "old", Host: "h1", Power: p})
		c := "removed, and " + string(p)
		st.want(c, st.round(), seen[c])
	}
}

// An instance that came of a lost order does not run. It is the rung's target from then on, and nothing is known of it
// yet: neither the proof nor the orders were about it, nor the time for which its host was left as it is.
func TestL1WhatIsKnownOfOneTargetIsNotOfTheNext(t *testing.T) {
	t.Parallel()
	st := calling[fleet.OpCreate](t)
	r := st.m.Repair
	r.Aim = fleet.Aim{Target: fleet.Incarnation{ID: "old", Host: "h1", Certified: true}, Removed: true, OffOrders: 2,
		ClearedOrders: 2, FenceAt: hour, Finding: fleet.Finding{Look: "web-1/r1/look1", Confirmed: true,
			Proof: fleet.ProofConfirmedOff}}
	r.Intent.Unknown = true
	st.seen(fleet.Instance{ID: "new", Host: "h2", Power: fleet.PowerOff,
		Mark: fleet.Mark{Installation: "ours", Fleet: "web", Machine: "web-1", Generation: 2}})
	st.want("half made", st.round(), "LOOK; look")
	if at := st.m.Repair.Aim; at.Look == "" || at.Target != st.m.Current || at.Target.ID != "new" || at.Removed ||
		at.OffOrders+at.ClearedOrders != 0 || at.FenceAt != 0 || at.Confirmed || at.Proof != "" {
		t.Errorf("of the new target is known: %+v", at)
	}
}

// A phase begins with nothing of the one before, but what it is about.
func TestAPhaseBeginsWithItsOwnData(t *testing.T) {
	t.Parallel()
	st := inAct(t, fleet.OpReboot, fleet.StepReboot, fleet.CauseChecks)
	st.m.Repair.Stage = fleet.Stage{Phase: fleet.PhaseAct, Since: 1, RetryAt: 2, AskAt: 3, Retries: 4,
		Deadline: 5, Dark: true}
	st.view.Outcome = &fleet.Outcome{Intent: st.m.Repair.Intent.ID, Kind: fleet.OutcomeDone}
	st.want("rebooted", st.round(), "verify")
	want := fleet.Stage{Phase: fleet.PhaseVerify, Since: st.s.Now.Mono, Deadline: st.s.Now.Mono.Add(10 * time.Second)}
	if got := st.m.Repair.Stage; got != want {
		t.Errorf("it verifies with %+v", got)
	}
}
