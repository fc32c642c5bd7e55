package decide_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Whatever holds machines for long, a person is told of it again every half an hour, whether it is about one of them or
// about all; also by a hale that was started anew.
func TestWhateverHoldsForLongIsToldAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason fleet.Reason
		happen func(*tale)
	}{
		"the brake": {fleet.ReasonBrake, func(tl *tale) {
			tl.s.Spec.SharedFate.AtLeast = 0
			refuses(tl, some(14)...)
		}},
		"the brake by hand": {fleet.ReasonBrake, func(tl *tale) {
			tl.want("brake", tl.give(fleet.Order{Kind: fleet.OrderBrakeOn, Reason: "the switch is replaced"}), "")
			refuses(tl, 0)
		}},
		"a shared fate": {fleet.ReasonSharedFate, func(tl *tale) { tl.say(fleet.StandingDown, tl.rack(1)...) }},
		"a doubt": {fleet.ReasonVantageDoubtful, func(tl *tale) {
			tl.s.Spec.SharedFate.AtLeast = 0
			tl.say(fleet.StandingDown, all(60)...)
		}},
		"a doubt by canaries": {fleet.ReasonVantageIsolated, func(tl *tale) { tl.see(fleet.VantageIsolated) }},
		"no witness": {fleet.ReasonNoWitness, func(tl *tale) {
			tl.s.Spec.SharedFate.AtLeast = 0
			for i := 12; i < 60; i++ { // two are left on their host
				tl.s.Machines[i].Machine.Current.Host, tl.s.Machines[i].Seen[0].Instance.Host = "h05", "h05"
			}
			for i := range 10 {
				tl.s.Machines[i].Machine.Current.Host, tl.s.Machines[i].Seen[0].Instance.Host = "h04", "h04"
			}
			tl.say(fleet.StandingDown, 10, 11)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := street(t, 3)
			tl.s.Spec.Notify.RemindEvery = 30 * time.Minute
			tl.pass(time.Minute)
			c.happen(tl)
			tl.pass(50 * time.Minute)
			heard := make([]fleet.CheckState, len(tl.s.Machines))
			for i := range heard {
				heard[i] = tl.s.Machines[i].Checks[0]
			}
			tl.restart()
			for i := range heard {
				v := &tl.s.Machines[i]
				v.Checks[0], v.Epoch = heard[i], v.Machine.Epoch
			}
			tl.pass(75 * time.Minute)
			n := 0
			for i := range tl.records {
				event, some := tl.records[i].Notifies()
				if some && event == policy.NotifyReminder && tl.records[i].Reason == c.reason {
					n++
				}
			}
			if n < 3 || n > 4 {
				t.Errorf("in two hours, %d reminders of %s: %q", n, c.reason, tl.messages())
			}
		})
	}
}

// refuses lets the page check of machines be refused: they are reached, and fail.
func refuses(tl *tale, machines ...int) {
	tl.say(fleet.StandingDown, machines...)
	for _, i := range machines {
		tl.s.Machines[i].Checks[0].Result = fleet.ResultRefused
	}
}
