package decide_test

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/situation"
)

// A machine fails beside one that is suspect. Before anything is done, every machine in its rack is asked once, and no
// other: all of them answer, and it is healed at once, without waiting for their regular checks.
func TestL04EveryMachineNearAFailingOneIsAskedOnce(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.pass(time.Second)
	tl.say(fleet.StandingFailing, 81)
	refuses(tl, 80)
	tl.decide()
	tl.wantHeld(fleet.ReasonUnclear, []int{80})
	tl.wantCount("repairs before they answer", tl.repairs(), 0)
	if want := tl.rack(4)[1:]; !slices.Equal(tl.asked, want) {
		t.Errorf("asked: %v, want %v", tl.asked, want)
	}
	tl.decide()
	tl.wantCount("repairs", tl.repairs(), 1)
	tl.pass(time.Minute)
	tl.wantCount("machines that were asked", len(tl.asked), 19)
}

// L4: all near a machine that fails were asked, and its rung looks at it, when another one of the rack comes under
// suspicion. What the look shows counts for nothing until all were asked anew; then another look lets the rung go on.
// The evidence that comes meanwhile is kept, and is not waited for again.
func TestL04ThoseNearAMachineAreAskedAnewBeforeTheCall(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.pass(time.Second)
	tl.say(fleet.StandingFailing, 82)
	refuses(tl, 80)
	tl.decide()
	tl.decide()
	tl.wantCount("repairs", tl.repairs(), 1)
	tl.say(fleet.StandingUp, 82)
	tl.pass(time.Second)
	tl.say(fleet.StandingFailing, 81)
	tl.confirm()
	tl.decide()
	tl.wantHeld(fleet.ReasonUnclear, []int{80})
	tl.wantCount("calls before they answer", tl.calls(), 0)
	if rack := tl.rack(4)[1:]; !slices.Equal(tl.asked, append(slices.Clone(rack), rack...)) {
		t.Errorf("asked: %v, want twice %v", tl.asked, rack)
	}
	tl.decide()
	tl.confirm()
	tl.decide()
	tl.wantCount("calls", tl.calls(), 1)
}

// L8: an answer that never comes holds nothing for ever.
func TestL08AnAnswerThatNeverComesHoldsNothing(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.unheard = true
	tl.pass(time.Second)
	tl.say(fleet.StandingFailing, 81)
	refuses(tl, 80)
	tl.pass(time.Second)
	tl.wantCount("repairs", tl.repairs(), 0)
	tl.pass(time.Minute)
	tl.wantCount("repairs when it was waited for long enough", tl.repairs(), 1)
}

// S74: the first machines of a host fail, one is suspect, and the others are not due yet. Asked, none of them answers:
// that is the host's, before their checks have noticed.
func TestS74ThoseThatDoNotAnswerWhenAskedShareTheFate(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.pass(time.Second)
	tl.unheard = true
	host := tl.rack(4)[:10]
	tl.say(fleet.StandingFailing, host[1])
	refuses(tl, host[0])
	tl.decide()
	for _, i := range tl.asked {
		v := &tl.s.Machines[i]
		if v.Asked, v.Asking = (situation.Asked{At: v.Asking, Down: slices.Contains(host, i)}), 0; v.Asked.Down {
			tl.s.InVain = append(tl.s.InVain, i)
		}
	}
	tl.decide()
	tl.wantHeld(fleet.ReasonSharedFate, host[:1])
	if p := tl.s.Whole.Parents; len(p) != 1 || p[0].Failing != 10 {
		t.Errorf("open parents: %+v", p)
	}
	tl.wantCount("repairs", tl.repairs(), 0)
}
