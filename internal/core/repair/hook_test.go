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
	"hale/internal/core/record"
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

// A request that is not answered in its time is late; one whose answer is lost before is unclear.
func TestAHookThatIsNotAnsweredIsLate(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{30 * time.Second: "hook-late", 20 * time.Second: "hook-unclear"} {
		st := leaving(t, policy.Hook{Name: "tell", Kind: policy.HookHTTP, Within: 30 * time.Second,
			OnFailure: policy.HookGoOn})
		if got := st.round(); !strings.Contains(got, "CALL hook") {
			t.Fatalf("it is %s", got)
		}
		st.pass(after)
		st.ends(fleet.OutcomeUnknown)
		if got := st.round(); !strings.Contains(got, "hook-over "+want) {
			t.Errorf("after %s: %s", after, got)
		}
	}
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

// A hook after a repair that is to stop it keeps the healthy machine from its users until a person ends that: its
// health does not, nor what fails on it later.
func TestAStopAfterARepairIsAPersonsToEnd(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepReboot], steps[fleet.StepRecreate])
	st.s.Spec.Repair.Steps[1].For = []fleet.CheckName{"disk"}
	st.s.Spec.Hooks.After = []policy.Hook{{Name: "smoke", Kind: policy.HookCommand, Within: time.Minute,
		OnFailure: policy.HookStop}}
	r := st.healing(fleet.StepReboot)
	r.Phase = belief.PhaseAfter
	st.m.Repair, st.m.Health = &r, belief.Health{Verdict: belief.VerdictHealthy}
	st.want("it is run", st.round(), "CALL hook old; after")
	st.ends(fleet.OutcomeFailed)
	st.want("it fails", st.round(),
		"hook-over hook-failed; repair-ended hook-failed; quarantined hook-failed; paged hook-failed; over")
	if !st.m.Stays() {
		t.Error("its health ends the quarantine")
	}
	st.m.Health.Verdict, st.m.Health.Cause = belief.VerdictUnhealthy, belief.CauseChecks
	st.view.Checks = append(st.view.Checks, fleet.CheckState{Check: "disk", Standing: fleet.StandingDown})
	if st.play(func(w *work) { w.Worsen() }); !st.m.Stays() {
		t.Error("what fails later ends the quarantine")
	}
}

// provisioning is a new instance that looks well and was not provisioned: it has yet to be, by these hooks, of which
// those ended so.
func provisioning(t *testing.T, hooks []policy.Hook, ended ...belief.HookOver) *stage {
	t.Helper()
	st := newStage(t, steps[fleet.StepRecreate])
	st.s.Spec.Provision = hooks
	st.m.Current.Certified, st.m.Current.Raw, st.m.Address = false, true, netip.MustParseAddr("10.0.0.1")
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	for _, o := range ended {
		st.m.Provisioned = st.m.Provisioned.End(o.Hook, o.Why)
	}
	return st
}

// L12: when an instance is provisioned again, what is done is not done again, what failed is run again if it bears
// that, and what began and does not bear it is never run twice: what its failure means holds on.
func TestProvisioningGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	once := func(name fleet.HookName, means policy.HookFailure) policy.Hook {
		return policy.Hook{Name: name, Kind: policy.HookCommand, Within: time.Minute, OnFailure: means}
	}
	again := once("again", policy.HookStop)
	again.Idempotent = true
	asked := policy.Hook{Name: "asked", Kind: policy.HookWait, Within: time.Minute, OnFailure: policy.HookStop}
	for name, c := range map[string]struct {
		hooks []policy.Hook
		ended belief.HookOver
		want  string
	}{
		"what is done": {[]policy.Hook{once("a", policy.HookStop)},
			belief.HookOver{Hook: "provision/a"}, "verify"},
		"what failed, and goes on": {[]policy.Hook{once("a", policy.HookGoOn)},
			belief.HookOver{Hook: "provision/a", Why: fleet.ReasonHookUnclear}, "verify"},
		"what never began": {[]policy.Hook{once("a", policy.HookStop)},
			belief.HookOver{Hook: "provision/a", Why: fleet.ReasonNoSecret}, "CALL hook old; provision"},
		"what bears it": {[]policy.Hook{again},
			belief.HookOver{Hook: "provision/again", Why: fleet.ReasonHookFailed}, "CALL hook old; provision"},
		"a word": {[]policy.Hook{asked},
			belief.HookOver{Hook: "provision/asked", Why: fleet.ReasonHookLate}, "hook-begun; provision"},
	} {
		st := provisioning(t, c.hooks, c.ended)
		st.want(name, st.play(func(w *work) { w.BeginProvision() }), "repair-started build; "+c.want)
	}
}

// L12: of a hook of provisioning it is unknown how far it came, since hale was stopped meanwhile, and it does not bear
// to be run twice. What it stops is replaced, however well it looks; what goes on goes on.
func TestWhatMustNotBeRunTwiceIsReplaced(t *testing.T) {
	t.Parallel()
	for means, spoilt := range map[policy.HookFailure]bool{policy.HookStop: true, policy.HookGoOn: false} {
		st := provisioning(t, []policy.Hook{{Name: "site", Kind: policy.HookCommand, Within: time.Minute,
			OnFailure: means}})
		st.m.Incident = nil
		st.play(func(w *work) { w.BeginProvision() })
		st.restarts()
		if st.round(); st.m.Current.Spoilt != spoilt {
			t.Errorf("%s: it is to be replaced: %v", means, st.m.Current.Spoilt)
		}
		if !spoilt {
			st.want("it goes on", st.outline(), "hook-over hook-unclear; verify")
			continue
		}
		st.m.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseBuild}
		st.want("it is healed", st.begin(), "repair-started heal; then recreate; LOOK; look")
		kept := st.m.Clone()
		done := marked("old", "h1", fleet.PowerRunning, 1)
		done.Mark.Certified = true
		st.show(done, fleet.StandingUp)
		if got := st.round(); !strings.HasPrefix(got, "look refuted; ") {
			t.Errorf("another hale finished it, and it is %s", got)
		}
		st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
		if st.play(func(w *work) { w.BeginProvision() }); st.m.Current.Spoilt {
			t.Error("what another hale finished is still to be replaced")
		}
		st.m = kept
		st.answer(fleet.PowerRunning, fleet.StandingUp)
		st.want("it looks well", st.round(), "look confirmed; CALL power-off old; act")
	}
}

// What was refused is said as what it is: a program that is not there, or what a receiver, or a machine, turned down.
func TestWhatWasRefusedIsSaid(t *testing.T) {
	t.Parallel()
	for kind, want := range map[policy.HookKind]string{policy.HookCommand: "no-program",
		policy.HookAnsible: "no-program",
		policy.HookHTTP:    "hook-refused", policy.HookCopy: "hook-refused"} {
		st := leaving(t, policy.Hook{Name: "drain", Kind: kind, Within: time.Minute, OnFailure: policy.HookGoOn})
		st.m.Address = netip.MustParseAddr("10.0.0.1")
		st.round()
		st.ends(fleet.OutcomeRefused)
		st.want(string(kind), st.round(), "hook-over "+want+"; LOOK; look")
		if over := st.record(record.HookOver); over.Detail == "" {
			t.Errorf("%s: what was said is lost: %+v", kind, over)
		}
	}
}

// A spare has no users to leave: what is for those is skipped, and said to be. One that gave its place away a moment
// ago has some still.
func TestASpareHasNoUsersToLeave(t *testing.T) {
	t.Parallel()
	for served, want := range map[bool]string{true: "hook-begun; leave", false: "hook-over idle; "} {
		st := leaving(t, policy.Hook{Name: "finish", Kind: policy.HookWait, Within: time.Hour})
		st.s.Whole.Ledger = &belief.Ledger{Size: 6, Spares: []fleet.MachineName{"web-1"}}
		st.m.Repair.Target.Served = served
		if got := st.round(); !strings.HasPrefix(got, want) {
			t.Errorf("it served: %v, and it is %s", served, got)
		}
	}
}

// While a new instance is provisioned it may fail, and so it may when hale begins afresh meanwhile.
func TestGraceLastsAsLongAsProvisioning(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*stage){
		"a restart":  func(st *stage) { st.m = st.m.Restart(st.s.Now, st.s.Spec) },
		"blind":      func(st *stage) { st.m.Afresh(st.s.Now, st.s.Spec) },
		"clock step": func(st *stage) { st.m = st.m.ClockSet(st.s.Now, st.s.Spec) },
	} {
		st := provisioning(t, []policy.Hook{{Name: "site", Kind: policy.HookAnsible, Within: 20 * time.Minute,
			Idempotent: true}})
		r := st.healing(fleet.StepRecreate)
		r.Phase, r.Removed, r.Proof = belief.PhaseProvision, true, fleet.ProofDeleted
		st.m.Repair, st.m.Health = &r, belief.Health{Verdict: belief.VerdictStarting, Grace: st.s.Now.Mono + 1}
		again(st)
		if left := st.m.Health.Grace.Sub(st.s.Now.Mono); left < 20*time.Minute {
			t.Errorf("%s: it may fail for %s more", name, left)
		}
	}
}
