package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// What runs and fails is reset, or its guest is asked to reboot, and gets its time; in vain, the next step follows.
func TestAReboot(t *testing.T) {
	t.Parallel()
	for mode, op := range map[policy.RebootMode]string{"": "reboot", policy.RebootHard: "reboot",
		policy.RebootSoft: "soft-reboot"} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			step := steps[fleet.StepReboot]
			step.Mode = mode
			st := newStage(t, step, steps[fleet.StepPage])
			st.want("it begins", st.begin(), "repair-started heal; then reboot; LOOK; look")
			st.answer(fleet.PowerRunning, fleet.StandingDown)
			st.want("it fails", st.round(), "look confirmed; CALL "+op+" old; act")
			if got := st.action().Intent.Limit; got != 5*time.Second {
				t.Errorf("the call may take %v, and the policy says 5s", got)
			}
			epoch := st.m.Epoch
			st.ends(fleet.OutcomeDone)
			st.want("it reboots", st.round(), "verify")
			if st.m.Epoch == epoch || st.m.Acted != st.s.Now.Mono {
				t.Errorf("what was heard before the reboot counts: epoch %d, acted at %v", st.m.Epoch, st.m.Acted)
			}
			st.m.Health.Verdict, st.m.Health.Cause = belief.VerdictUnhealthy, belief.CauseChecks
			st.pass(10 * time.Second)
			st.want("in vain", st.round(), "step-failed not-verified; then page; LOOK; look")
		})
	}
}

// L12: whether a reset happened cannot be seen. It is not sent again; what counts is whether the machine is healthy.
func TestL12ALostResetIsNotSentAgain(t *testing.T) {
	t.Parallel()
	st := inAct(t, fleet.OpReboot, fleet.StepReboot, belief.CauseChecks)
	st.restarts()
	st.want("hale died", st.round(), "verify")
	if st.m.Repair.Intent != nil || st.m.Repair.Deadline != st.s.Now.Mono.Add(10*time.Second) {
		t.Errorf("it has not its whole time: %+v", st.m.Repair)
	}
}

// L10: nobody knows whether a reset was ever sent whose owner was gone before its answer: it turned nothing off. A step
// of the clock loses no answer.
func TestL10AResetInDoubtTurnedNothingOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(st *stage)
		want    bool // hale powered it off
	}{
		"another owner":             {func(st *stage) { st.restarts() }, false},
		"the clock is set":          {func(st *stage) { st.m = st.m.ClockSet(st.s.Now, st.s.Spec) }, true},
		"it was sent, and restarts": {func(st *stage) { st.m.Repair.Intent.Unknown = true; st.restarts() }, true},
	} {
		st := inAct(t, fleet.OpReboot, fleet.StepReboot, belief.CauseChecks)
		st.m.Current.PoweredOff = true
		c.happens(st)
		if got := st.m.Current.PoweredOff; got != c.want {
			t.Errorf("%s: hale powered it off: %t, want %t", name, got, c.want)
		}
	}
}

// L10: a reboot that hangs leaves the machine off, and that is hale's own doing, also when the answer was lost. A
// person who stops it is another thing, and so is what hale did not power off.
func TestWhatHalePowersOffIsRemembered(t *testing.T) {
	t.Parallel()
	for step, want := range map[fleet.StepKind]bool{
		fleet.StepReboot: true, fleet.StepRebuild: true, fleet.StepRecreate: true,
		fleet.StepRun: false, fleet.StepRescue: false, fleet.StepSnapshot: false,
	} {
		st := looked(t, step, belief.CauseChecks)
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.round()
		if got := st.m.Current.PoweredOff; got != want {
			t.Errorf("%s: hale powered it off: %t, want %t", step, got, want)
		}
	}
}

// L10: an order that surely had no effect turned nothing off: who does from then on is not hale. Of one that may have,
// and of another operation's failure, nothing is learnt.
func TestL10WhatSurelyDidNothingIsForgotten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op   fleet.Op
		kind fleet.OutcomeKind
		want bool // hale powered it off
	}{
		"a reboot":                 {fleet.OpReboot, fleet.OutcomeDone, true},
		"a reboot that is lost":    {fleet.OpReboot, fleet.OutcomeUnknown, true},
		"a reboot that failed":     {fleet.OpReboot, fleet.OutcomeFailed, false},
		"a reboot not sent":        {fleet.OpReboot, fleet.OutcomeNotSent, false},
		"an order off":             {fleet.OpPowerOff, fleet.OutcomeDone, true},
		"an order off that failed": {fleet.OpPowerOff, fleet.OutcomeFailed, false},
		"a start that failed":      {fleet.OpStart, fleet.OutcomeFailed, true},
		"a command that failed":    {fleet.OpRun, fleet.OutcomeFailed, true},
	} {
		st := calling[c.op](t)
		st.m.Current.PoweredOff = true
		st.ends(c.kind)
		st.round()
		if got := st.m.Current.PoweredOff; got != c.want {
			t.Errorf("%s: hale powered it off: %t, want %t", name, got, c.want)
		}
	}
}
