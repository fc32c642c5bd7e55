package repair_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// theatre is a stage with a provider, on which calls have their effect, and machines become healthy when they were
// mended by the operation that helps.
type theatre struct {
	addressed bool // its instances have an address
	*stage
	world map[fleet.InstanceID]fleet.Instance
	helps fleet.Op
	heals bool
	calls []string
	lose  int // the answer to this call is lost, and hale dies; 0: none
}

// open has the instances of the stage be there.
func (st *stage) open(helps fleet.Op, lose int, there ...fleet.Instance) *theatre {
	th := &theatre{stage: st, helps: helps, lose: lose, world: map[fleet.InstanceID]fleet.Instance{}}
	for _, i := range there {
		th.world[i.ID] = i
	}
	return th
}

// effect is what the operation does to the instance.
var effect = map[fleet.Op]func(*fleet.Instance){
	fleet.OpStart:    func(i *fleet.Instance) { i.Power = fleet.PowerRunning },
	fleet.OpResume:   func(i *fleet.Instance) { i.Power = fleet.PowerRunning },
	fleet.OpReboot:   func(i *fleet.Instance) { i.Power = fleet.PowerRunning },
	fleet.OpRebuild:  func(i *fleet.Instance) { i.Power = fleet.PowerRunning },
	fleet.OpCreate:   func(i *fleet.Instance) { i.Power = fleet.PowerRunning },
	fleet.OpPowerOff: func(i *fleet.Instance) { i.Power = fleet.PowerOff },
	fleet.OpDelete:   func(i *fleet.Instance) { i.Power = fleet.PowerGone },
	fleet.OpKeep:     func(i *fleet.Instance) { i.Mark.Kept = true },
	fleet.OpRestore:  func(i *fleet.Instance) { i.Mark.Kept = false },
	fleet.OpCertify:  func(i *fleet.Instance) { i.Mark.Certified = true },
	fleet.OpHook:     func(*fleet.Instance) {},
}

// act carries out what the last round asked for.
func (th *theatre) act() {
	th.Helper()
	th.pass(time.Second)
	for _, a := range th.actions {
		switch a.Kind {
		case situation.ActionLook:
			page := fleet.StandingDown
			if th.heals {
				page = fleet.StandingUp
			}
			th.show(th.instance(a.Instance), page)
		case situation.ActionObserve:
			th.seen(th.instance(a.Instance))
		case situation.ActionCall:
			th.call(a)
		case situation.ActionGather:
		}
	}
}

func (th *theatre) instance(id fleet.InstanceID) fleet.Instance {
	if i, known := th.world[id]; known {
		return i
	}
	return fleet.Instance{ID: id, Power: fleet.PowerGone}
}

// call has the effect of the call, and answers it, or loses the answer. Never do two instances run (L1).
func (th *theatre) call(a situation.Action) {
	th.Helper()
	op, i := a.Intent.Op, th.instance(a.Instance)
	th.calls = append(th.calls, string(op))
	if op == fleet.OpCreate {
		i = fleet.Instance{ID: a.Instance, Host: a.Host, Mark: a.Mark}
	}
	effect[op](&i)
	th.world[i.ID] = i
	th.heals = th.heals || op == th.helps
	running := 0
	for _, i := range th.world {
		if i.Power == fleet.PowerRunning {
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
	if th.addressed {
		th.m.Address = netip.MustParseAddr("10.0.0.1")
	}
	switch {
	case r == nil || r.Phase == belief.PhaseAct:
	case th.heals && r.Phase != belief.PhaseLook:
		th.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	case r.Phase == belief.PhaseVerify:
		th.m.Health.Verdict, th.m.Health.Cause = belief.VerdictUnhealthy, belief.CauseChecks
	case r.Kind == belief.RepairHeal:
		th.m.Health.Verdict, th.m.Health.Cause = belief.VerdictUnhealthy, th.m.Incident.Cause
	}
	th.view.Epoch = th.m.Epoch
}

// L1, L8, L12: whichever step helps, the machine is healed by it, once; and so it is when hale dies at any of its calls
// and their answers are lost.
func TestEachStepHealsAndBearsADeathAtEachOfItsCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause belief.Cause
		power fleet.Power
		helps fleet.Op
		want  string
	}{
		"off":              {belief.CauseOff, fleet.PowerOff, fleet.OpStart, "start"},
		"paused":           {belief.CausePaused, fleet.PowerPaused, fleet.OpResume, "resume"},
		"a reset helps":    {belief.CauseChecks, fleet.PowerRunning, fleet.OpReboot, "reboot"},
		"a new disk helps": {belief.CauseChecks, fleet.PowerRunning, fleet.OpRebuild, "reboot power-off rebuild"},
		"only another one helps": {belief.CauseChecks, fleet.PowerRunning, fleet.OpCreate,
			"reboot power-off rebuild power-off delete create certify"},
		"it is gone": {belief.CauseGone, fleet.PowerGone, fleet.OpCreate, "delete create certify"},
	} {
		for lose := range len(strings.Fields(c.want)) + 1 {
			t.Run(fmt.Sprint(name, ", lost ", lose), func(t *testing.T) {
				t.Parallel()
				old := marked("old", "h1", c.power, 1)
				old.Mark.Certified = true
				th := newStage(t, steps[fleet.StepStart], steps[fleet.StepResume], steps[fleet.StepReboot],
					steps[fleet.StepRebuild], steps[fleet.StepRecreate]).fails(c.cause).open(c.helps, lose, old)
				th.begin()
				th.run()
				if th.m.Repair != nil || th.m.Incident != nil || !th.m.Current.Certified {
					th.Fatalf("after %v: %+v, incident %+v", th.calls, th.m.Repair, th.m.Incident)
				}
				th.took(c.want)
			})
		}
	}
}

// took compares the calls that it took with those that are wanted. What was lost may be ordered once more.
func (th *theatre) took(calls string) {
	th.Helper()
	want, done := strings.Fields(calls), slices.Compact(slices.Clone(th.calls))
	if th.lose == 0 && !slices.Equal(th.calls, want) || !slices.Equal(done, slices.Compact(want)) {
		th.Errorf("it took %v, want %v", th.calls, want)
	}
}

// begun leaves out what the begin of the work was.
func begun(st *stage, _ string) *stage { return st }

// L1, L12, L13: the same for what a person ordered, for a first build, and for what lies beside a machine: each comes
// to its end, whenever hale dies.
func TestEachWorkBearsADeathAtEachOfItsCalls(t *testing.T) {
	t.Parallel()
	old, fresh := marked("old", "h1", fleet.PowerRunning, 1), marked("new", "h2", fleet.PowerRunning, 2)
	old.Mark.Certified, fresh.Mark.Certified = true, true
	for name, c := range map[string]struct {
		set   func(*testing.T) *stage
		there []fleet.Instance
		helps fleet.Op
		want  string // the calls
		ends  fleet.Reason
		left  string // what runs in the end
	}{
		"a removal": {func(t *testing.T) *stage { return begun(removing(t)) }, []fleet.Instance{old}, "",
			"power-off delete", fleet.ReasonRemoved, ""},
		"an update": {func(t *testing.T) *stage { return begun(updating(t, 0)) }, []fleet.Instance{old},
			fleet.OpCreate, "power-off delete create certify", fleet.ReasonUpdated, "new"},
		"an update that keeps": {func(t *testing.T) *stage { return begun(updating(t, time.Hour)) },
			[]fleet.Instance{old}, fleet.OpCreate, "power-off keep create certify", fleet.ReasonUpdated, "new"},
		"an undo": {func(t *testing.T) *stage { return begun(undoing(t)) }, []fleet.Instance{aside(), fresh},
			fleet.OpStart, "power-off keep restore start", fleet.ReasonUndone, "old"},
		"the end of what was kept": {func(t *testing.T) *stage {
			st, kept := expired(t)
			st.play(func(w *work) { w.BeginExpire(kept) })
			return st
		}, []fleet.Instance{aside(), fresh}, "", "delete", fleet.ReasonRemoved, "new"},
		"the removal of a remnant": {func(t *testing.T) *stage { return begun(remnant(t)) },
			[]fleet.Instance{marked("left", "h2", fleet.PowerRunning, 2)}, "", "power-off delete", fleet.ReasonRemoved,
			""},
		"a first build": {func(t *testing.T) *stage {
			st := newStage(t, steps[fleet.StepReboot])
			st.m = belief.Machine{Name: "web-1", Health: belief.Health{Verdict: belief.VerdictUnknown}}
			st.play(func(w *work) { w.Begin(belief.RepairBuild) })
			return st
		}, nil, fleet.OpCreate, "create certify", fleet.ReasonBuilt, "new"},
	} {
		for lose := range len(strings.Fields(c.want)) + 1 {
			t.Run(fmt.Sprint(name, ", lost ", lose), func(t *testing.T) {
				t.Parallel()
				th := c.set(t).open(c.helps, lose, c.there...)
				th.run()
				th.took(c.want)
				if got := th.record(record.RepairEnded).Reason; got != c.ends {
					th.Errorf("it ended %s, want %s", got, c.ends)
				}
				for id, i := range th.world {
					if (i.Power == fleet.PowerRunning) != (string(id) == c.left) {
						th.Errorf("%s is %s in the end", id, i.Power)
					}
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
