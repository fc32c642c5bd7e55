package repair_test

import (
	"testing"

	"hale/internal/core/fleet"
)

// L10: the provider calls a machine stopped that hale has ordered off, and does not say who did it. It was hale: its
// replacement goes on. A machine that hale did not order off was stopped by a person, and is left as it is.
func TestWhatHaleOrderedOffWasNotStoppedByAPerson(t *testing.T) {
	t.Parallel()
	for orders, want := range map[int]string{
		0: "repair-ended stopped-by-person; over",
		1: "look confirmed; proven confirmed-off; CALL delete old; act",
	} {
		st := looked(t, fleet.StepRecreate, fleet.CauseChecks)
		st.s.Spec.Repair.OnExternalStop = fleet.ExternalStopHoldThenPage
		st.m.Health.Cause, st.m.Repair.OffOrders = fleet.CauseStopped, orders
		st.answer(fleet.PowerOff, fleet.StandingDown)
		st.want("stopped", st.round(), want)
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
