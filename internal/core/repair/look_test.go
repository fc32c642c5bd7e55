package repair_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// looked is the stage of a repair that waits for its look.
func looked(t *testing.T, step fleet.StepKind, cause belief.Cause) *stage {
	t.Helper()
	st := newStage(t, steps[step], steps[fleet.StepPage])
	st.m.Health.Cause, st.m.Incident.Cause = cause, cause
	r := st.healing(step)
	r.Phase, r.Confirmed, r.Calls, r.Look, r.Looks = belief.PhaseLook, false, 0, "web-1/r1/look1", 1
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
	causes := map[fleet.StepKind]belief.Cause{fleet.StepStart: belief.CauseOff, fleet.StepResume: belief.CausePaused}
	for _, step := range []fleet.StepKind{fleet.StepStart, fleet.StepResume, fleet.StepReboot, fleet.StepRun,
		fleet.StepRebuild, fleet.StepRecreate, fleet.StepRescue, fleet.StepSnapshot, fleet.StepPage} {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			cause, stopped := causes[step]
			if !stopped {
				cause = belief.CauseChecks
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
		st := looked(t, fleet.StepReboot, belief.CauseChecks)
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
	st := looked(t, fleet.StepReboot, belief.CauseChecks)
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.view.Look.ID = "web-1/r0/look1"
	st.want("another", st.round(), "look")
}

// L8: a look that says nothing ten times makes room, and a person is told.
func TestALookThatSaysNothingForLong(t *testing.T) {
	t.Parallel()
	st := looked(t, fleet.StepReboot, belief.CauseChecks)
	asked := map[string]bool{}
	for n := 1; n <= 10; n++ {
		if id := st.m.Repair.Look; asked[id] {
			t.Errorf("another look has the id %s", id)
		}
		asked[st.m.Repair.Look] = true
		st.answer("", fleet.StandingUnknown)
		got := st.round()
		switch n {
		case 1:
			st.want("first", got, "look look-unclear; held look-unclear; look in 500ms")
		case 10:
			st.want("last", got, "look look-unclear; paged look-unclear; repair-ended look-unclear; over, again in 5s")
			if i := st.m.Incident; i.Failed != 1 || i.Last.Why != fleet.ReasonLookUnclear || len(st.m.Attempts) != 0 {
				t.Errorf("it is not said why it failed, or counts: %+v, %v", i, st.m.Attempts)
			}
			return
		}
		st.pass(st.m.Repair.RetryAt.Sub(st.s.Now.Mono))
		st.want("again", st.round(), "LOOK; look")
	}
}

// verifying is the stage of a machine that was rebooted.
func verifying(t *testing.T, step fleet.StepKind, certified bool) *stage {
	t.Helper()
	st := newStage(t, steps[step], steps[fleet.StepPage])
	st.m.Current.Certified = certified
	st.m.Health = belief.Health{Verdict: belief.VerdictStarting}
	r := st.healing(step)
	r.Phase, r.Deadline, r.LastOutcome = belief.PhaseVerify, hour.Add(10*time.Second), hour
	st.m.Repair = &r
	return st
}

// L8: after a step the machine has its time to be healthy, to the nanosecond, and no longer.
func TestWhatVerifyingDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		certified bool
		after     time.Duration
		health    belief.Health
		seen      fleet.Power
		want      string
	}{
		"starting": {true, time.Second, belief.Health{Verdict: belief.VerdictStarting}, "",
			"verify"},
		"just before its time is over": {true, 10*time.Second - 1, belief.Health{Verdict: belief.VerdictStarting}, "",
			"verify"},
		"its time is over": {true, 10 * time.Second, belief.Health{Verdict: belief.VerdictStarting}, "",
			"step-failed not-verified; then page; repair-ended refuted; over, again in 5s"},
		"unhealthy when its time is over": {true, 10 * time.Second, belief.Health{Verdict: belief.VerdictUnhealthy,
			Cause: belief.CauseChecks}, "", "step-failed not-verified; then page; LOOK; look"},
		"unhealthy, and there is time": {true, time.Second, belief.Health{Verdict: belief.VerdictUnhealthy,
			Cause: belief.CauseChecks}, "", "verify"},
		"healthy": {true, time.Second, belief.Health{Verdict: belief.VerdictHealthy}, "",
			"verified; repair-ended healed; incident-closed healed; over"},
		"healthy for the first time": {false, time.Second, belief.Health{Verdict: belief.VerdictHealthy}, "",
			"verified; CALL certify old; certify"},
		"off, as it was before the step": {true, time.Second, belief.Health{Verdict: belief.VerdictUnhealthy,
			Cause: belief.CauseOff}, "", "verify"},
		"off, as it is seen now": {true, time.Second, belief.Health{Verdict: belief.VerdictUnhealthy,
			Cause: belief.CauseOff}, fleet.PowerOff, "step-failed not-verified; then page; LOOK; look"},
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
		for _, phase := range []belief.Phase{belief.PhaseLook, belief.PhaseAct} {
			st := looked(t, step, belief.CauseChecks)
			st.m.Repair.Phase = phase
			st.m.Repair.Confirmed, st.m.Repair.Proof = phase == belief.PhaseAct, fleet.ProofConfirmedOff
			st.pass(time.Second)
			st.m = st.m.Restart(st.s.Now, st.s.Spec)
			st.m.Health.Verdict, st.m.Health.Cause = belief.VerdictUnhealthy, belief.CauseChecks
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
		st.m.Repair.Intent, st.m.Repair.Next = nil, belief.Incarnation{}
		st.pass(time.Second)
		st.m = st.m.Restart(st.s.Now, st.s.Spec)
		st.want("unseen", st.round(), "ASK old; act")
		st.seen(fleet.Instance{ID: "old", Host: "h1", Power: p})
		c := "removed, and " + string(p)
		st.want(c, st.round(), seen[c])
	}
}

// An instance that came of a lost call does not run. It is the rung's target from then on, and nothing is known of it
// yet: neither the proof nor the orders were about it, nor the time for which its host was left as it is.
func TestL1WhatIsKnownOfOneTargetIsNotOfTheNext(t *testing.T) {
	t.Parallel()
	st := calling[fleet.OpCreate](t)
	r := st.m.Repair
	r.Aim = belief.Aim{Target: belief.Incarnation{ID: "old", Host: "h1", Certified: true}, Removed: true, OffCalls: 2,
		ClearedCalls: 2, FenceAt: hour, Finding: belief.Finding{Look: "web-1/r1/look1", Confirmed: true,
			Proof: fleet.ProofConfirmedOff}}
	r.Intent.Unknown = true
	st.seen(fleet.Instance{ID: "new", Host: "h2", Power: fleet.PowerOff,
		Mark: fleet.Mark{Installation: "ours", Fleet: "web", Machine: "web-1", Generation: 2}})
	st.want("half made", st.round(), "LOOK; look")
	if at := st.m.Repair.Aim; at.Look == "" || at.Target != st.m.Current || at.Target.ID != "new" || at.Removed ||
		at.OffCalls+at.ClearedCalls != 0 || at.FenceAt != 0 || at.Confirmed || at.Proof != "" {
		t.Errorf("of the new target is known: %+v", at)
	}
}

// A phase begins with nothing of the one before, but what it is about.
func TestAPhaseBeginsWithItsOwnData(t *testing.T) {
	t.Parallel()
	st := inAct(t, fleet.OpReboot, fleet.StepReboot, belief.CauseChecks)
	st.m.Repair.Stage = belief.Stage{Phase: belief.PhaseAct, Since: 1, RetryAt: 2, AskAt: 3, Retries: 4,
		Deadline: 5, Dark: true}
	st.view.Outcome = &fleet.Outcome{Intent: st.m.Repair.Intent.ID, Kind: fleet.OutcomeDone}
	st.want("rebooted", st.round(), "verify")
	want := belief.Stage{Phase: belief.PhaseVerify, Since: st.s.Now.Mono, Deadline: st.s.Now.Mono.Add(10 * time.Second)}
	if got := st.m.Repair.Stage; got != want {
		t.Errorf("it verifies with %+v", got)
	}
}

// L10: the provider calls a machine stopped that hale has told to power off, and does not say who did it. If it
// accepted the order, it was hale: the replacement goes on. Without an order, or with one that surely had no effect, it
// was a person, and the machine is left as it is.
func TestWhatHaleOrderedOffWasNotStoppedByAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		orders   int
		accepted bool
		want     string
	}{
		"not ordered":  {want: "repair-ended stopped-by-person; over"},
		"ordered":      {orders: 1, accepted: true, want: "look confirmed; proven confirmed-off; CALL delete old; act"},
		"not accepted": {orders: 1, want: "repair-ended stopped-by-person; over"},
	} {
		st := looked(t, fleet.StepRecreate, belief.CauseChecks)
		st.s.Spec.Repair.OnExternalStop = policy.ExternalStopHoldThenPage
		st.m.Health.Cause, st.m.Repair.OffCalls, st.m.Repair.OffAccepted = belief.CauseStopped, c.orders, c.accepted
		st.answer(fleet.PowerOff, fleet.StandingDown)
		st.want(name, st.round(), c.want)
	}
}

// L10: a call to power off that failed for certain turned nothing off. What is off after it was stopped by a person;
// of an order that was accepted, or may have been, hale's own proof follows.
func TestAFailedOrderTurnsNothingOff(t *testing.T) {
	t.Parallel()
	for how, want := range map[fleet.OutcomeKind]string{
		fleet.OutcomeDone:        "proven confirmed-off; CALL delete old; act",
		fleet.OutcomeUnknown:     "proven confirmed-off; CALL delete old; act",
		fleet.OutcomeFailed:      "LOOK; look",
		fleet.OutcomeUnsupported: "LOOK; look",
		fleet.OutcomeRetry:       "LOOK; look",
	} {
		st := calling[fleet.OpPowerOff](t)
		st.s.Spec.Repair.OnExternalStop, st.m.Current.PoweredOff = policy.ExternalStopHoldThenPage, true
		st.view.Outcome = &fleet.Outcome{Intent: st.m.Repair.Intent.ID, Kind: how}
		st.round()
		st.pass(time.Minute)
		st.seen(fleet.Instance{ID: "old", Host: "h1", Power: fleet.PowerOff, Stop: fleet.StopExternal})
		st.want(string(how), st.round(), want)
	}
}

// What a look asked, and what it found, is written down: of several checks the one that is down.
func TestWhatALookSays(t *testing.T) {
	t.Parallel()
	up := fleet.CheckState{Check: "disk", Standing: fleet.StandingUp, Result: fleet.ResultOK, Detail: "fine"}
	down := fleet.CheckState{Check: "page", Standing: fleet.StandingDown, Result: fleet.ResultStatus, Detail: "503"}
	for name, c := range map[string]struct {
		checks []fleet.CheckState
		want   string
	}{
		"one that is down": {[]fleet.CheckState{up, down}, "page status 503"},
		"none is":          {[]fleet.CheckState{up}, "disk ok fine"},
		"none was asked":   {nil, "  running"},
	} {
		st := looked(t, fleet.StepReboot, belief.CauseChecks)
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.view.Look.Checks = c.checks
		st.pass(300 * time.Millisecond)
		st.round()
		got := st.record(record.Look)
		if said := fmt.Sprint(got.Check, " ", got.Result, " ", got.Detail); said != c.want ||
			got.Took != 300*time.Millisecond {
			t.Errorf("%s: it is said %q, after %v", name, said, got.Took)
		}
	}
}

// A look is asked for once, and what comes meanwhile changes the question: a step that fits no more, or a ladder that
// was edited, is chosen anew.
func TestAStepThatIsOutdated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"nothing changed": {func(*stage) {}, "look"},
		"it is off by now": {func(st *stage) { st.m.Health.Cause = belief.CauseOff },
			"step-skipped not-running; then page; LOOK; look"},
		"its ladder was edited": {func(st *stage) { st.s.Spec.Repair.Steps[0] = steps[fleet.StepRun] },
			"then run; LOOK; look"},
		"its ladder is shorter": {func(st *stage) {
			st.m.Repair.Rung, st.s.Spec.Repair.Steps = 1,
				st.s.Spec.Repair.Steps[:1]
		}, "then reboot; LOOK; look"},
		"it is only suspect": {func(st *stage) {
			st.m.Health.Verdict, st.m.Health.Cause = belief.VerdictSuspect,
				belief.CauseOff
		}, "look"},
		"it was told to power off": {func(st *stage) { st.m.Repair.OffCalls, st.m.Health.Cause = 1, belief.CauseOff },
			"look"},
		"it is on no rung": {func(st *stage) { st.m.Repair.Rung = belief.NoRung }, "look"},
	} {
		st := looked(t, fleet.StepReboot, belief.CauseChecks)
		c.set(st)
		st.want(name, st.round(), c.want)
	}
}

// The regular evidence was faster than the look: the machine is well, or was just started, not by hale. An order to
// repair it outlasts the latter.
func TestALookThatIsOvertaken(t *testing.T) {
	t.Parallel()
	const over = "repair-ended refuted; over, again in 5s"
	for name, c := range map[string]struct {
		verdict belief.Verdict
		ordered bool
		kind    belief.RepairKind
		want    string
	}{
		"it is well":                          {belief.VerdictHealthy, false, belief.RepairHeal, over},
		"it is starting":                      {belief.VerdictStarting, false, belief.RepairHeal, over},
		"it is well, and a person orders":     {belief.VerdictHealthy, true, belief.RepairHeal, over},
		"it is starting, and a person orders": {belief.VerdictStarting, true, belief.RepairHeal, "look"},
		"it is suspect":                       {belief.VerdictSuspect, false, belief.RepairHeal, "look"},
		"it is well beside a remnant":         {belief.VerdictHealthy, false, belief.RepairRemnant, "look"},
	} {
		st := looked(t, fleet.StepReboot, belief.CauseChecks)
		st.m.Repair.Kind, st.m.Health.Verdict = c.kind, c.verdict
		if c.ordered {
			st.m.Wanted = &belief.Wanted{Order: "o1", Until: st.s.Now.Wall.Add(time.Hour)}
		}
		st.want(name, st.round(), c.want)
		if st.m.Repair == nil && (len(st.m.Attempts) != 0 || st.m.Incident.Refuted != 1 || c.ordered &&
			st.m.Wanted != nil) {
			t.Errorf("%s: it counts, or is to be repaired still: %+v", name, st.m)
		}
	}
}

// A listing that is older than the truth refutes itself again and again: the pause grows, to a minute.
func TestLooksThatFindTheMachineAlive(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepReboot])
	for _, again := range []string{"5s", "10s", "20s", "40s", "1m0s", "1m0s"} {
		st.begin()
		st.answer(fleet.PowerRunning, fleet.StandingUp)
		st.want("it answers", st.round(), "look refuted; repair-ended refuted; over, again in "+again)
	}
	st = newStage(t, steps[fleet.StepReboot])
	st.s.Spec.Repair.Backoff = 5 * time.Minute
	st.begin()
	st.answer(fleet.PowerRunning, fleet.StandingUp)
	st.want("the policy has longer ones", st.round(), "look refuted; repair-ended refuted; over, again in 5m0s")
}

// Nothing speaks against the machine but a check that never succeeded as it is: nothing is done for that alone.
func TestAnUnprovenCheckEndsARepair(t *testing.T) {
	t.Parallel()
	st := looked(t, fleet.StepReboot, belief.CauseChecks)
	st.m.Health.Verdict, st.m.Health.Result = belief.VerdictUnknown, fleet.ResultUnproven
	st.answer(fleet.PowerRunning, fleet.StandingUnknown)
	st.want("a look", st.round(), "look look-unclear; repair-ended unproven; held unproven; over")

	st = verifying(t, fleet.StepReboot, true)
	st.m.Health.Verdict, st.m.Health.Result = belief.VerdictUnknown, fleet.ResultUnproven
	st.s.Now.Mono = st.m.Repair.Deadline
	st.want("a verification", st.round(), "repair-ended unproven; held unproven; over, again in 5s")
}

// L6: a parent incident holds what was not told to power off already.
func TestL6AParentHoldsWhatWasNotBegun(t *testing.T) {
	t.Parallel()
	for orders, want := range []string{"repair-ended shared-fate; held shared-fate; over", "LOOK; look"} {
		st := looked(t, fleet.StepRecreate, belief.CauseChecks)
		st.s.Whole.Parents = []belief.Parent{{ID: "web/i1", Domain: fleet.Domain{Kind: fleet.DomainRack, Name: "r9"}}}
		st.m.Incident.Parent, st.m.Repair.Look = "web/i1", ""
		st.m.Repair.OffCalls, st.m.Repair.ClearedCalls = orders, orders
		st.want("a parent", st.round(), want)
	}
}

// What holds a step for as long as it likes ends its repair, which keeps the place of others; something else it waits
// for.
func TestWhatMakesRoom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"a hold": {func(st *stage) { st.s.Whole.Holds = []belief.Hold{{}} },
			"repair-ended hold; held hold; over"},
		"the time of day": {func(st *stage) { st.s.Closed = true }, "repair-ended window; held window; over"},
		"no witness": {func(st *stage) {
			st.s.Spec.Repair.Silence, st.view.Checks[0].Result = "", fleet.ResultTimeout
		}, "repair-ended no-witness; held no-witness; over"},
		"the brake": {func(st *stage) { st.s.Brake.Engaged = true }, "held brake; look"},
		"the provider": {func(st *stage) { st.s.Provider.Standing = fleet.ProviderDown },
			"held provider-down; look"},
		"a remnant is held": {func(st *stage) {
			st.m.Repair.Kind, st.s.Whole.Holds = belief.RepairRemnant, []belief.Hold{{}}
		}, "held hold; look"},
	} {
		st := looked(t, fleet.StepReboot, belief.CauseChecks)
		c.set(st)
		st.want(name, st.round(), c.want)
		if r := st.m.Repair; r != nil && r.Look != "" {
			t.Errorf("%s: an old look decides", name)
		}
	}
}

// L6: machines come under suspicion between a repair's begin and its look: they may yet engage the brake, and get the
// time that their checks need, from when the rung looked; once, and then it goes on (L8).
func TestL6SuspectsHoldALook(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepReboot])
	st.pass(10 * time.Minute)
	st.want("it begins", st.begin(), "repair-started heal; then reboot; LOOK; look")
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	looked := st.m.Repair.Since
	st.s.Tally.Suspect = 5
	st.want("others are suspect", st.round(), "held picture-unclear; look")
	st.s.Now.Mono = looked.Add(guard.SettleTime(st.s.Spec) - 1)
	st.want("a moment before they tell", st.round(), "look")
	st.s.Now.Mono++
	st.want("they could have told", st.round(), "LOOK; look")
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("it goes on", st.round(), "look confirmed; CALL reboot old; act")
	if st.m.Waiting != "" {
		t.Errorf("it waits still: %s", st.m.Waiting)
	}
}

// L4: a look found nothing but silence. What a machine near by says counts for that look: once the repair was held, a
// look is taken anew.
func TestASilenceSaysNothingOnceTheRepairWasHeld(t *testing.T) {
	t.Parallel()
	for held, want := range map[bool]string{false: "CALL reboot old; act", true: "LOOK; look"} {
		st := looked(t, fleet.StepReboot, belief.CauseChecks)
		st.m.Repair.SilentAt = st.s.Now.Mono
		if held {
			st.s.Provider.Standing = fleet.ProviderDown
			st.want("held", st.round(), "held provider-down; look")
			st.s.Provider.Standing = fleet.ProviderUp
		}
		st.want("afterwards", st.round(), want)
	}
}
