package repair_test

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/hooks"
	"hale/internal/core/policy"
)

// asking is a machine whose step waits for a person's word, for a minute.
func asking(t *testing.T, otherwise policy.Unapproved) *stage {
	t.Helper()
	st := newStage(t, steps[fleet.StepReboot])
	st.s.Spec.Repair.Steps[0].Approve = policy.Approval{Within: time.Minute, Otherwise: otherwise}
	r := st.healing(fleet.StepReboot)
	r.Phase = belief.PhaseLeave
	st.m.Repair = &r
	st.want("a person is asked, and told", st.round(), "hook-begun; paged approval; held approval; leave")
	st.pass(30 * time.Second)
	st.want("nothing is done meanwhile", st.round(), "leave")
	return st
}

// says lets a person give the word.
func (st *stage) says(word fleet.HookWord) {
	st.Helper()
	o := &fleet.Order{Hook: fleet.Approval, Word: word, Reason: "seen"}
	said, refused := hooks.Say(&st.m, &st.s.Spec, o, st.s.Now)
	if refused != "" {
		st.Fatal(refused)
	}
	st.m.Repair.Hooks = said
}

// L3: a step that a person approves is done, after one more look: the person may have taken an hour.
func TestAnApprovedStepIsLookedAtOnceMore(t *testing.T) {
	t.Parallel()
	st := asking(t, policy.UnapprovedHold)
	st.says(fleet.HookDone)
	st.want("it goes on", st.round(), "hook-over; LOOK; look")
}

// What a person denies is not done, and nothing else is: the machine is theirs.
func TestADeniedStepIsNotDone(t *testing.T) {
	t.Parallel()
	st := asking(t, policy.UnapprovedGoOn)
	st.says(fleet.HookFail)
	got := st.round()
	if !strings.HasPrefix(got, "hook-over denied; repair-ended denied; quarantined denied; ") ||
		strings.Contains(got, "paged") { // the person has just said so
		t.Errorf("it is %s", got)
	}
}

// Without a word in time the step is done, or the machine left to a person, as the policy says.
func TestWithoutAWordThePolicyDecides(t *testing.T) {
	t.Parallel()
	for otherwise, want := range map[policy.Unapproved]string{
		policy.UnapprovedGoOn: "hook-over unapproved; LOOK; look",
		policy.UnapprovedHold: "hook-over unapproved; repair-ended unapproved; quarantined unapproved; " +
			"paged unapproved",
	} {
		t.Run(string(otherwise), func(t *testing.T) {
			t.Parallel()
			st := asking(t, otherwise)
			st.pass(30*time.Second - 1)
			st.want("not yet", st.round(), "leave")
			st.pass(1)
			if got := st.round(); !strings.HasPrefix(got, want) {
				t.Errorf("it is %s, and not %s", got, want)
			}
		})
	}
}

// A restart gives the person the whole time again (L15).
func TestARestartAsksForTheWholeTimeAgain(t *testing.T) {
	t.Parallel()
	st := asking(t, policy.UnapprovedGoOn)
	st.restarts()
	st.m.Repair.Phase = belief.PhaseLeave // the look is taken again first, and confirms it
	st.m.Repair.Confirmed = true
	st.want("asked again", st.round(), "hook-begun; held approval; leave")
	st.pass(time.Minute - 1)
	st.want("not yet", st.round(), "leave")
}

// Each question is a page of its own, and so is what follows: the person who had the machine rebooted does not wait for
// the question whether it may be replaced.
func TestEachQuestionIsAPage(t *testing.T) {
	t.Parallel()
	st := asking(t, policy.UnapprovedHold)
	st.says(fleet.HookDone)
	st.round()
	next := st.healing(fleet.StepReboot)
	next.Phase, next.Hooks = belief.PhaseLeave, nil
	st.m.Repair = &next
	st.want("the next one is asked, and told", st.round(), "hook-begun; paged approval; held approval; leave")
}
