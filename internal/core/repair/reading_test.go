package repair_test

import (
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// What a look shows of the instance's power may be another thing than what the step was chosen for: the listings do not
// say so yet. The next verdict decides, and not this step.
func TestALookThatContradictsTheStep(t *testing.T) {
	t.Parallel()
	const unclear = "look look-unclear; held look-unclear; look in 500ms"
	for name, c := range map[string]struct {
		step  fleet.StepKind
		power fleet.Power
		stop  fleet.Stop
		set   func(*stage)
		want  string
	}{
		"a reboot of what is off": {fleet.StepReboot, fleet.PowerOff, "", nil, unclear},
		"a reboot of what crashed": {fleet.StepReboot, fleet.PowerCrashed, "", nil,
			"look confirmed; CALL reboot old; act"},
		"a command for what is off": {fleet.StepRun, fleet.PowerOff, "", nil, unclear},
		"a recreate of what is off": {fleet.StepRecreate, fleet.PowerOff, "", nil,
			"look confirmed; proven confirmed-off; CALL delete old; act"},
		"a recreate of what is paused":  {fleet.StepRecreate, fleet.PowerPaused, fleet.StopGuest, nil, unclear},
		"a recreate of what is rescued": {fleet.StepRecreate, fleet.PowerPaused, fleet.StopRescue, nil, unclear},
		"of what a person stopped": {fleet.StepRecreate, fleet.PowerOff, fleet.StopExternal, func(st *stage) {
			st.s.Spec.Repair.OnExternalStop = policy.ExternalStopHoldThenPage
		}, unclear},
		"of what a person stopped, and wants repaired": {fleet.StepRecreate, fleet.PowerOff, fleet.StopExternal,
			func(st *stage) {
				st.s.Spec.Repair.OnExternalStop = policy.ExternalStopHoldThenPage
				st.m.Wanted = &belief.Wanted{Order: "o1", Until: st.s.Now.Wall.Add(hour.Sub(0))}
			}, "look confirmed; proven confirmed-off; CALL delete old; act"},
		"of what hale powered off before": {fleet.StepRecreate, fleet.PowerOff, fleet.StopExternal, func(st *stage) {
			st.s.Spec.Repair.OnExternalStop = policy.ExternalStopHoldThenPage
			st.m.Current.PoweredOff = true
		}, "look confirmed; proven confirmed-off; CALL delete old; act"},
		"of what this repair paused, as it told it to power off": {fleet.StepRecreate, fleet.PowerPaused, "",
			func(st *stage) {
				st.m.Repair.OffCalls, st.m.Repair.OffAccepted = 1, true
			}, "look confirmed; CALL power-off old; act"},
		"of a build that is to go": {fleet.StepRecreate, fleet.PowerPaused, "", func(st *stage) {
			st.m.Current.Certified, st.m.Current.Expired = false, true
			st.m.Repair.Target = st.m.Current
		}, "look confirmed; CALL power-off old; act"},
	} {
		st := looked(t, c.step, belief.CauseChecks)
		if c.set != nil {
			c.set(st)
		}
		st.show(fleet.Instance{ID: "old", Host: "h1", Power: c.power, Stop: c.stop}, fleet.StandingDown)
		st.want(name, st.round(), c.want)
	}
}

// L3: where a look shows nothing certain, the current order of a person stands for it; not where the provider says
// nothing, or something else.
func TestL3APersonsOrderStandsForALook(t *testing.T) {
	t.Parallel()
	const unclear = "look look-unclear; held look-unclear; look in 500ms"
	for name, c := range map[string]struct {
		power fleet.Power
		page  fleet.Standing
		until fleet.Instant // of the order
		want  string
	}{
		"nothing certain": {fleet.PowerRunning, fleet.StandingUnknown, 1 << 40,
			"look ordered; CALL reboot old; act"},
		"the order is over":         {fleet.PowerRunning, fleet.StandingUnknown, 0, unclear},
		"the provider says nothing": {"", fleet.StandingUnknown, 1 << 40, unclear},
		"it is off by now":          {fleet.PowerOff, fleet.StandingUnknown, 1 << 40, unclear},
		"it is well": {fleet.PowerRunning, fleet.StandingUp, 1 << 40,
			"look refuted; repair-ended refuted; over, again in 5s"},
		"it fails": {fleet.PowerRunning, fleet.StandingDown, 1 << 40,
			"look confirmed; CALL reboot old; act"},
	} {
		st := looked(t, fleet.StepReboot, belief.CauseChecks)
		st.m.Wanted = &belief.Wanted{Order: "o1", Until: st.s.Now.Wall.Add(c.until.Sub(0))}
		st.answer(c.power, c.page)
		st.want(name, st.round(), c.want)
	}
}

// A build whose time ran out and that still has no address cannot be asked anything: that is its own fault. Whatever
// else keeps hale from seeing is hale's (L4).
func TestABuildWithoutAnAddressIsConfirmed(t *testing.T) {
	t.Parallel()
	const unclear = "look look-unclear; held look-unclear; look in 500ms"
	noAddress := fleet.CheckState{Check: "page", Standing: fleet.StandingUnknown, Result: fleet.ResultNoAddress}
	local := fleet.CheckState{Check: "page", Standing: fleet.StandingUnknown, Result: fleet.ResultLocal}
	agent := fleet.CheckState{Check: "agent", Standing: fleet.StandingUnknown}
	for name, c := range map[string]struct {
		expired bool
		checks  []fleet.CheckState
		power   fleet.Power
		want    string
	}{
		"no address": {true, []fleet.CheckState{noAddress}, fleet.PowerRunning,
			"look confirmed; CALL power-off old; act"},
		"of what was well once":     {false, []fleet.CheckState{noAddress}, fleet.PowerRunning, unclear},
		"the provider says nothing": {true, []fleet.CheckState{noAddress}, "", unclear},
		"no descriptor of hale's":   {true, []fleet.CheckState{local}, fleet.PowerRunning, unclear},
		"one of each":               {true, []fleet.CheckState{noAddress, local}, fleet.PowerRunning, unclear},
		"and its agent is silent": {true, []fleet.CheckState{noAddress, agent}, fleet.PowerRunning,
			"look confirmed; CALL power-off old; act"},
		"and its agent answers": {true, []fleet.CheckState{noAddress, {Check: "agent",
			Standing: fleet.StandingUp}}, fleet.PowerRunning, unclear},
		"its agent is all that is asked": {true, []fleet.CheckState{agent}, fleet.PowerRunning, unclear},
	} {
		st := looked(t, fleet.StepRecreate, belief.CauseChecks)
		st.s.Spec.Checks = append(st.s.Spec.Checks, policy.Check{Name: "agent", Kind: policy.CheckAgent})
		st.m.Current.Certified, st.m.Current.Expired = !c.expired, c.expired
		st.m.Repair.Target = st.m.Current
		st.answer(c.power, fleet.StandingUnknown)
		st.view.Look.Checks = c.checks
		st.want(name, st.round(), c.want)
	}
}

// L4: nothing but the agent's silence bore witness to that of the machine. An agent that answers the look takes that
// back; where another machine is heard there, it is one check of several.
func TestL4AnAgentThatAnswersTheLook(t *testing.T) {
	t.Parallel()
	const unclear, confirmed = "look look-unclear; held look-unclear; look in 500ms",
		"look confirmed; CALL reboot old; act"
	for name, c := range map[string]struct {
		agent   fleet.Standing
		silence policy.Silence
		want    string
	}{
		"it answers":                        {fleet.StandingUp, "", unclear},
		"it is silent":                      {fleet.StandingDown, "", confirmed},
		"it answers, and silence is enough": {fleet.StandingUp, policy.SilenceActs, confirmed},
	} {
		st := looked(t, fleet.StepReboot, belief.CauseChecks)
		st.s.Spec.Repair.Silence = c.silence
		st.s.Spec.Checks = append(st.s.Spec.Checks, policy.Check{Name: "agent", Kind: policy.CheckAgent})
		st.s.Spec.UnhealthyWhen = policy.Condition{Op: policy.OpTerm, Term: "page"}
		st.view.Checks[0].Result, st.view.Checks[0].Answered = fleet.ResultTimeout, hour-1
		st.view.Checks = append(st.view.Checks, fleet.CheckState{Check: "agent", Standing: fleet.StandingDown,
			Result: fleet.ResultTimeout, Answered: hour - 1})
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.view.Look.Checks = append(st.view.Look.Checks, fleet.CheckState{Check: "agent", Standing: c.agent})
		st.want(name, st.round(), c.want)
	}
}

// The provider is silent of a machine since its host is lost. Its checks alone confirm the failure, for a step that
// leads elsewhere, and only where the host can be proven off.
func TestALookAtALostHost(t *testing.T) {
	t.Parallel()
	const unclear = "look look-unclear; held look-unclear; look in 500ms"
	for name, c := range map[string]struct {
		set  func(*stage)
		page fleet.Standing
		want string
	}{
		"its checks fail": {func(*stage) {}, fleet.StandingDown, "look confirmed; CALL fence old; act"},
		"its checks succeed": {func(*stage) {}, fleet.StandingUp,
			"look refuted; repair-ended refuted; over, again in 5s"},
		"nothing is certain": {func(*stage) {}, fleet.StandingUnknown, unclear},
		"its host answers": {func(st *stage) { st.s.Hosts[0].Up, st.m.Repair.Stranded = true, false },
			fleet.StandingDown, unclear},
		"the provider speaks of it": {func(st *stage) {
			st.view.Look.Seen = fleet.Sighting{Asked: 1, Instance: fleet.Instance{ID: "old", Host: "h1",
				Power: fleet.PowerRunning}}
		}, fleet.StandingDown, "look confirmed; CALL fence old; act"},
	} {
		st := lost(t, fleet.StepRecreate, fleet.Means{Tries: 1})
		st.begin()
		st.silent(c.page)
		c.set(st)
		st.want(name, st.round(), c.want)
	}
}

// A step that leads nowhere else is of no use to a machine that the provider is silent of: its checks alone confirm
// nothing.
func TestASilentLookConfirmsNoStepOnTheSpot(t *testing.T) {
	t.Parallel()
	st := lost(t, fleet.StepPage, fleet.Means{Tries: 1})
	st.want("it begins", st.begin(), "repair-started heal; then page; LOOK; look")
	st.silent(fleet.StandingDown)
	st.want("it fails", st.round(), "look look-unclear; held look-unclear; look in 500ms")
}
