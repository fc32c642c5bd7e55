package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// A rescue puts the machine into a person's hands, who is told although they were told of its failure before, and the
// ladder ends there.
func TestARescueIsHandedToAPerson(t *testing.T) {
	t.Parallel()
	for _, phase := range []belief.Phase{belief.PhaseVerify, belief.PhaseLook} { // also if it took effect late
		st := newStage(t, steps[fleet.StepRescue], steps[fleet.StepRecreate])
		st.m.Incident.Paged = true
		st.want("it begins", st.begin(), "repair-started heal; then rescue; LOOK; look")
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.want("it fails", st.round(), "look confirmed; CALL rescue old; act")
		st.ends(fleet.OutcomeDone)
		st.want("it is ordered", st.round(), "verify")
		if phase == belief.PhaseLook {
			st.m.Repair.LookAgain()
		}
		st.m.Health.Verdict, st.m.Health.Cause = belief.VerdictUnhealthy, belief.CauseRescued
		st.want("another system runs", st.round(), "paged rescued; repair-ended rescued; over")
		if st.m.Incident == nil || st.m.Quarantine != nil {
			t.Errorf("its incident is over, or it is given up: %+v", st.m)
		}
	}
}

// What a person rescues for reasons of their own is not hale's doing, and is left alone without a word.
func TestAPersonsRescueIsLeftAlone(t *testing.T) {
	t.Parallel()
	st := verifying(t, fleet.StepReboot, true)
	st.m.Health.Verdict, st.m.Health.Cause = belief.VerdictUnhealthy, belief.CauseRescued
	st.want("rescued", st.round(), "repair-ended stopped-by-person; over")
}

// A rescue that shows no effect in its time has failed, and the next step follows.
func TestARescueWithoutEffect(t *testing.T) {
	t.Parallel()
	st := verifying(t, fleet.StepRescue, true)
	st.m.Health.Verdict, st.m.Health.Cause = belief.VerdictUnhealthy, belief.CauseChecks
	st.pass(10 * time.Second)
	st.want("its time is over", st.round(), "step-failed not-verified; then page; LOOK; look")
}

// L12: the answer to a rescue was lost. What is paused for another reason than a rescue does not show that it took
// effect.
func TestL12OnlyARescueShowsARescue(t *testing.T) {
	t.Parallel()
	for stop, want := range map[fleet.Stop]string{
		fleet.StopRescue:   "verify",
		fleet.StopExternal: "look in 500ms",
		fleet.StopIOError:  "look in 500ms",
	} {
		st := inAct(t, fleet.OpRescue, fleet.StepRescue, belief.CauseChecks)
		st.restarts()
		i := marked("old", "h1", fleet.PowerPaused, 1)
		i.Stop = stop
		st.seen(i)
		st.want(string(stop), st.round(), want)
	}
}
