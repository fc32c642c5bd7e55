package repair_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/repair"
)

// theatre is a stage with a provider, on which calls have their effect, and machines become healthy when they were
// mended by the operation that helps.
type theatre struct {
	*stage
	world map[fleet.InstanceID]fleet.Power
	helps fleet.Op
	heals bool
	calls []string
	lose  int // the answer to this call is lost, and hale dies; 0: none
}

// effect is what the operation does to the instance.
var effect = map[fleet.Op]fleet.Power{
	fleet.OpStart: fleet.PowerRunning, fleet.OpResume: fleet.PowerRunning, fleet.OpReboot: fleet.PowerRunning,
	fleet.OpRebuild: fleet.PowerRunning, fleet.OpCreate: fleet.PowerRunning, fleet.OpPowerOff: fleet.PowerOff,
	fleet.OpDelete: fleet.PowerGone,
}

// act carries out what the last round asked for.
func (th *theatre) act() {
	th.Helper()
	th.pass(time.Second)
	for _, a := range th.actions {
		switch a.Kind {
		case fleet.ActionLook:
			page := fleet.StandingDown
			if th.heals {
				page = fleet.StandingUp
			}
			th.answer(th.power(a.Instance), page)
		case fleet.ActionObserve:
			th.observe(a.Instance)
		case fleet.ActionCall:
			th.call(a)
		case fleet.ActionGather:
		}
	}
}

func (th *theatre) power(id fleet.InstanceID) fleet.Power {
	if p, known := th.world[id]; known {
		return p
	}
	return fleet.PowerGone
}

func (th *theatre) observe(id fleet.InstanceID) {
	th.seen(fleet.Instance{ID: id, Host: "h1", Power: th.power(id), Mark: fleet.Mark{Installation: "ours", Fleet: "web",
		Machine: "web-1", Generation: th.m.Generation, Certified: id == "old" || th.m.Current.Certified}})
}

// call has the effect of the call, and answers it, or loses the answer. Never do two instances run (L1).
func (th *theatre) call(a fleet.Action) {
	th.Helper()
	op, id := a.Intent.Op, a.Instance
	th.calls = append(th.calls, string(op))
	if p, some := effect[op]; some {
		th.world[id] = p
	}
	th.heals = th.heals || op == th.helps
	running := 0
	for _, p := range th.world {
		if p == fleet.PowerRunning {
			running++
		}
	}
	if running > 1 {
		th.Errorf("L1: %d run after %v", running, th.calls)
	}
	if len(th.calls) == th.lose {
		th.m = th.m.Restart(th.s.Now, th.s.Spec)
		return
	}
	th.view.Outcome = &fleet.Outcome{Intent: a.Intent.ID, Kind: fleet.OutcomeDone}
}

// judge brings the verdict up to date, as far as a repair lets it be judged.
func (th *theatre) judge() {
	r := th.m.Repair
	switch {
	case r == nil || r.Phase == fleet.PhaseAct:
	case th.heals && r.Phase != fleet.PhaseLook:
		th.m.Health = fleet.Health{Verdict: fleet.VerdictHealthy}
	case r.Phase == fleet.PhaseVerify:
		th.m.Health.Verdict, th.m.Health.Cause = fleet.VerdictUnhealthy, fleet.CauseChecks
	default:
		th.m.Health.Verdict, th.m.Health.Cause = fleet.VerdictUnhealthy, th.m.Incident.Cause
	}
	th.view.Epoch = th.m.Epoch
}

// L1, L8, L12: whichever step helps, the machine is healed by it, once; and so it is when hale dies at any of its calls
// and their answers are lost.
func TestEachStepHealsAndBearsADeathAtEachOfItsCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause fleet.Cause
		power fleet.Power
		helps fleet.Op
		want  string
	}{
		"off":              {fleet.CauseOff, fleet.PowerOff, fleet.OpStart, "start"},
		"paused":           {fleet.CausePaused, fleet.PowerPaused, fleet.OpResume, "resume"},
		"a reset helps":    {fleet.CauseChecks, fleet.PowerRunning, fleet.OpReboot, "reboot"},
		"a new disk helps": {fleet.CauseChecks, fleet.PowerRunning, fleet.OpRebuild, "reboot power-off rebuild"},
		"only another one helps": {fleet.CauseChecks, fleet.PowerRunning, fleet.OpCreate,
			"reboot power-off rebuild power-off delete create certify"},
		"it is gone": {fleet.CauseGone, fleet.PowerGone, fleet.OpCreate, "delete create certify"},
	} {
		for lose := range len(strings.Fields(c.want)) + 1 {
			t.Run(fmt.Sprint(name, ", lost ", lose), func(t *testing.T) {
				t.Parallel()
				th := &theatre{stage: newStage(t, ladder[fleet.StepStart], ladder[fleet.StepResume],
					ladder[fleet.StepReboot],
					ladder[fleet.StepRebuild], ladder[fleet.StepRecreate]), helps: c.helps, lose: lose}
				th.world = map[fleet.InstanceID]fleet.Power{"old": c.power}
				th.m.Health.Cause, th.m.Incident.Cause = c.cause, c.cause
				th.play(func(w *repair.Work) { w.Begin(fleet.RepairHeal) })
				th.run()
				if th.m.Repair != nil || th.m.Incident != nil || !th.m.Current.Certified {
					th.Fatalf("after %v: %+v, incident %+v", th.calls, th.m.Repair, th.m.Incident)
				}
				want := strings.Fields(c.want)
				done := slices.Compact(slices.Clone(th.calls)) // what was lost may be ordered once more
				if lose == 0 && !slices.Equal(th.calls, want) || !slices.Equal(done, slices.Compact(want)) {
					th.Errorf("it took %v, want %v", th.calls, want)
				}
			})
		}
	}
}

// run plays rounds until the repair has ended.
func (th *theatre) run() {
	th.Helper()
	for range 300 {
		if th.m.Repair == nil {
			return
		}
		th.act()
		th.judge()
		th.round()
	}
	th.Fatalf("it has no end: %v, %+v", th.calls, th.m.Repair)
}
