package repair_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// hook is one that may be run again.
func hook(name fleet.HookName) []policy.Hook {
	return []policy.Hook{{Name: name, Kind: policy.HookCommand, Within: 2 * time.Minute, OnFailure: policy.HookStop,
		Idempotent: true}}
}

// L1, L8, L12: with hooks at every moment a machine is healed, once, and so it is when hale dies at any of its calls
// and their answers are lost: the hooks before it is disrupted come before the call that does so, and after them it is
// looked at once more; a new instance is provisioned before it is certified.
func TestHooksBearADeathAtEachCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step  fleet.StepKind
		helps fleet.Op
		want  []string
	}{
		"reset": {fleet.StepReboot, fleet.OpReboot, []string{"hook", "hook", "reboot", "hook"}},
		"recreate": {fleet.StepRecreate, fleet.OpCreate, []string{"hook", "hook", "power-off", "delete", "create",
			"hook", "certify", "hook"}},
		"rebuild": {fleet.StepRebuild, fleet.OpRebuild, []string{"hook", "hook", "power-off", "rebuild", "hook",
			"hook"}},
	} {
		for lose := range len(c.want) + 1 {
			t.Run(fmt.Sprint(name, ", lost ", lose), func(t *testing.T) {
				t.Parallel()
				old := marked("old", "h1", fleet.PowerRunning, 1)
				old.Mark.Certified = true
				st := newStage(t, steps[c.step])
				st.s.Spec.Hooks = policy.Hooks{Before: hook("tell"), Leave: hook("drain"), After: hook("smoke")}
				st.s.Spec.Provision = hook("site")
				st.m.Address = netip.MustParseAddr("10.0.0.1")
				th := st.fails(belief.CauseChecks).open(c.helps, lose, old)
				th.addressed = true
				th.begin()
				th.run()
				if th.m.Repair != nil || th.m.Incident != nil || !th.m.Current.Certified || th.m.Current.Raw {
					th.Fatalf("after %v: %+v, incident %+v", th.calls, th.m.Repair, th.m.Incident)
				}
				th.took(strings.Join(c.want, " "))
			})
		}
	}
}

// leaving is a machine whose rung waits for the hook.
func leaving(t *testing.T, h policy.Hook) *stage {
	t.Helper()
	st := newStage(t, steps[fleet.StepReboot])
	st.s.Spec.Hooks.Leave = []policy.Hook{h}
	r := st.healing(fleet.StepReboot)
	r.Phase = belief.PhaseLeave
	st.m.Repair = &r
	return st
}

// A hook that waits for a word is given up when its time is over, and what follows is what is written: the look is
// taken once more, and then the machine is reset.
func TestAHookThatNobodyAnswersIsGivenUp(t *testing.T) {
	t.Parallel()
	st := leaving(t, policy.Hook{Name: "finish", Kind: policy.HookWait, Within: time.Minute, Deadline: time.Hour,
		OnFailure: policy.HookGoOn})
	st.want("asked", st.round(), "hook-begun; leave")
	st.pass(time.Minute - 1)
	st.want("not yet", st.round(), "leave")
	st.pass(1)
	st.want("its time is over", st.round(), "hook-over hook-late; LOOK; look")
}

// A restart gives a hook that waits its whole time again (L15).
func TestARestartGivesAWaitItsWholeTime(t *testing.T) {
	t.Parallel()
	st := leaving(t, policy.Hook{Name: "finish", Kind: policy.HookWait, Within: time.Minute, Deadline: time.Hour})
	st.s.Spec.Hooks.Leave[0].OnFailure = policy.HookGoOn
	st.m.Repair.Kind, st.m.Repair.Order, st.m.Incident = belief.RepairRemove, "o1", nil
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	st.s.Whole.Ledger = &belief.Ledger{Removals: []belief.Removal{{Machine: "web-1", Order: "o1", Named: true}}}
	st.want("asked", st.round(), "hook-begun; leave")
	st.pass(50 * time.Second)
	st.restarts()
	st.want("asked again", st.round(), "hook-begun; leave")
	st.pass(time.Minute - 1)
	st.want("not yet", st.round(), "leave")
}

// A hook that needs the machine does not hold up one that is off.
func TestAMachineThatIsOffIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	st := leaving(t, policy.Hook{Name: "finish", Kind: policy.HookWait, Within: time.Minute})
	st.s.Spec.Pools = []policy.Pool{{Balancer: "edge", Wait: time.Minute}}
	st.m.Health.Cause = belief.CauseOff
	if got := st.round(); !strings.HasPrefix(got, "pool-left not-running; hook-over not-running; ") {
		t.Errorf("it is %s", got)
	}
}

// A machine waits for its pool's word, and is looked at once more before it is reset.
func TestAMachineLeavesItsPoolFirst(t *testing.T) {
	t.Parallel()
	st := leaving(t, policy.Hook{Name: "tell", Kind: policy.HookCommand, Within: time.Minute})
	st.s.Spec.Hooks.Leave = nil
	st.s.Spec.Pools = []policy.Pool{{Balancer: "edge", Wait: 30 * time.Second}}
	st.want("waits", st.round(), "held draining; leave")
	st.pass(time.Second)
	st.view.Members = []fleet.Membership{{Balancer: "edge", State: fleet.MemberOut, Asked: st.s.Now.Mono}}
	st.want("is out", st.round(), "pool-left out; LOOK; look")
}

// A new instance whose host does not answer just then is not certified without its provisioning: it is waited for, and
// given up when its time is over.
func TestProvisioningIsNotLeftOut(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepRecreate])
	st.s.Spec.Provision = []policy.Hook{{Name: "site", Kind: policy.HookWait, Within: time.Hour}}
	r := st.healing(fleet.StepRecreate)
	r.Phase, r.Deadline, r.Removed, r.Proof = belief.PhaseProvision, st.s.Now.Mono.Add(5*time.Minute), true,
		fleet.ProofDeleted
	st.m.Repair, st.m.Current.Certified, st.m.Current.Raw = &r, false, true
	st.m.Address = netip.MustParseAddr("10.0.0.1")
	st.m.Health.Cause = belief.CauseOff // as a listing says that was asked for before
	st.want("not seen since", st.round(), "provision")
	if !st.m.Current.Raw {
		t.Error("it is taken for provisioned")
	}
	st.pass(5 * time.Minute)
	if got := st.round(); strings.Contains(got, "certify") || !strings.Contains(got, "step-failed") {
		t.Errorf("when its time is over it is %s", got)
	}
}

// A machine that goes by an opinion's word, and is still leaving its users, stays as soon as something keeps machines
// from going, and can be taken back. By a person's word it goes.
func TestAMachineThatIsStillLeavingCanStay(t *testing.T) {
	t.Parallel()
	for opinion, want := range map[fleet.OpinionName]string{"load": "held shared-fate; act", "": "ASK old; act"} {
		st := leaving(t, policy.Hook{Name: "drain", Kind: policy.HookCommand, Within: time.Minute})
		st.m.Repair.Kind, st.m.Repair.Order, st.m.Incident = belief.RepairRemove, "o1", nil
		st.m.Repair.Step, st.m.Repair.Rung = fleet.StepRecreate, belief.NoRung
		st.m.Repair.Calls, st.m.Health = 1, belief.Health{Verdict: belief.VerdictHealthy}
		st.m.Repair.Hooks = st.m.Repair.Hooks.End(fleet.MomentLeave.Hook("drain"), "")
		st.s.Whole.Ledger = &belief.Ledger{Removals: []belief.Removal{{Machine: "web-1", Order: "o1",
			Named: opinion == "", Opinion: opinion}}}
		if st.m.Repair.BeganRemoval("o1") {
			t.Error("a hook is taken for the removal's begin")
		}
		st.s.Whole.Parents = []belief.Parent{{ID: "rack:r9/1"}} // others fail together
		if got := st.round(); got != want {
			t.Errorf("by opinion %q it is %s, want %s", opinion, got, want)
		}
	}
}
