package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
)

// L10: the provider calls a machine stopped that hale has ordered off, and does not say who did it. If it accepted the
// order, it was hale: the replacement goes on. Without an order, or with one that surely had no effect, it was a person,
// and the machine is left as it is.
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
		st := looked(t, fleet.StepRecreate, fleet.CauseChecks)
		st.s.Spec.Repair.OnExternalStop = fleet.ExternalStopHoldThenPage
		st.m.Health.Cause, st.m.Repair.OffOrders, st.m.Repair.OffAccepted = fleet.CauseStopped, c.orders, c.accepted
		st.answer(fleet.PowerOff, fleet.StandingDown)
		st.want(name, st.round(), c.want)
	}
}

// L10: an order to power off that failed for certain turned nothing off. What is off after it was stopped by a person;
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
		st.s.Spec.Repair.OnExternalStop, st.m.Current.PoweredOff = fleet.ExternalStopHoldThenPage, true
		st.view.Outcome = &fleet.Outcome{Intent: st.m.Repair.Intent.ID, Kind: how}
		st.round()
		st.pass(time.Minute)
		st.seen(fleet.Instance{ID: "old", Host: "h1", Power: fleet.PowerOff, Stop: fleet.StopExternal})
		st.want(string(how), st.round(), want)
	}
}

// While the place of hale's starts at the provider is silent, another hale could be at work on a copy of this one's
// store: nothing is built or destroyed, and the look that was taken until then is not kept for later. To set a machine
// going again doubles nothing.
func TestASilentPlaceOfStartsHoldsWhatBuilds(t *testing.T) {
	t.Parallel()
	for step, want := range map[fleet.StepKind]string{
		fleet.StepReboot:   "look confirmed; CALL reboot old; act",
		fleet.StepRecreate: "held place-silent; look",
	} {
		st := looked(t, step, fleet.CauseChecks)
		st.s.Roll.Silent = "the provider takes no note"
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.want(string(step), st.round(), want)
	}
}

// L1: a host is off, as its power controller says, and a check of the machine succeeds. One of the two is wrong, so
// that nothing takes the machine's place. What the check heard of an earlier start says nothing of now.
func TestAHostThatIsOffAndAMachineThatAnswers(t *testing.T) {
	t.Parallel()
	for epoch, want := range map[uint64]string{
		1: "repair-ended no-proof; quarantined no-proof; paged no-proof; over",
		0: "proven host-off; paged host-fenced; left-behind; CALL create new; act",
	} {
		st := calling[fleet.OpFence](t)
		st.view.Epoch, st.view.Checks[0].Standing = epoch, fleet.StandingUp
		st.view.Outcome = &fleet.Outcome{Intent: st.m.Repair.Intent.ID, Kind: fleet.OutcomeDone}
		st.want("fenced", st.round(), want)
	}
}
