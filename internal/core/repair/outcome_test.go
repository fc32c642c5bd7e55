package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// outcomes are all ends of a call.
var outcomes = []fleet.OutcomeKind{
	fleet.OutcomeDone, fleet.OutcomeUnknown, fleet.OutcomeRetry, fleet.OutcomeNotSent, fleet.OutcomeConflict,
	fleet.OutcomeNotFound, fleet.OutcomeRefused, fleet.OutcomeNoSecret, fleet.OutcomeUnsupported, fleet.OutcomeFailed,
	fleet.OutcomeLocked,
}

// A new step, and a new operation, is asked all that the others are asked here.
func TestEveryStepAndOperationIsOnTheStage(t *testing.T) {
	t.Parallel()
	for _, step := range fleet.Steps() {
		if _, there := steps[step]; !there && step != fleet.StepQuarantine {
			t.Errorf("the steps lack %s", step)
		}
	}
	for _, op := range fleet.Ops() {
		if calling[op] == nil {
			t.Errorf("calling lacks the operation %s", op)
		}
	}
}

// calling sets the stage for each operation: its call is under way.
var calling = map[fleet.Op]func(*testing.T) *stage{
	fleet.OpStart: func(t *testing.T) *stage { return inAct(t, fleet.OpStart, fleet.StepStart, belief.CauseOff) },
	fleet.OpResume: func(t *testing.T) *stage {
		return inAct(t, fleet.OpResume, fleet.StepResume,
			belief.CausePaused)
	},
	fleet.OpReboot: func(t *testing.T) *stage {
		return inAct(t, fleet.OpReboot, fleet.StepReboot,
			belief.CauseChecks)
	},
	fleet.OpSoftReboot: func(t *testing.T) *stage {
		return inAct(t, fleet.OpSoftReboot, fleet.StepReboot,
			belief.CauseChecks)
	},
	fleet.OpHook: func(t *testing.T) *stage {
		st := newStage(t, steps[fleet.StepReboot])
		st.s.Spec.Hooks.Leave = []policy.Hook{{Name: "drain", Kind: policy.HookCommand, Within: time.Minute,
			OnFailure: policy.HookStop}}
		r := st.healing(fleet.StepReboot)
		r.Phase, r.Hooks = belief.PhaseLeave, (*belief.Hooking)(nil).Due("leave/drain", hour+fleet.Instant(time.Minute),
			0)
		st.underWay(fleet.OpHook, r)
		st.m.Repair.Intent.Hook = "leave/drain"
		return st
	},
	fleet.OpAdjust: func(t *testing.T) *stage {
		st := newStage(t, steps[fleet.StepPage])
		st.adjusts(2<<30, "")
		r := st.healing(fleet.StepRecreate)
		r.Rung, r.Kind, r.Order, r.InPlace = belief.NoRung, belief.RepairUpdate, "o1", &belief.Adjusting{Rest: true}
		st.underWay(fleet.OpAdjust, r)
		return provenOff(st)
	},
	fleet.OpRun: func(t *testing.T) *stage { return inAct(t, fleet.OpRun, fleet.StepRun, belief.CauseChecks) },
	fleet.OpRescue: func(t *testing.T) *stage {
		return inAct(t, fleet.OpRescue, fleet.StepRescue,
			belief.CauseChecks)
	},
	fleet.OpPowerOff: func(t *testing.T) *stage {
		return inAct(t, fleet.OpPowerOff, fleet.StepRecreate,
			belief.CauseChecks)
	},
	fleet.OpRebuild: func(t *testing.T) *stage {
		return provenOff(inAct(t, fleet.OpRebuild, fleet.StepRebuild, belief.CauseChecks))
	},
	fleet.OpRevert: func(t *testing.T) *stage {
		st := newStage(t, steps[fleet.StepReboot])
		st.m.Incident, st.m.Attempts = nil, nil
		copied(st)
		st.underWay(fleet.OpRevert, belief.Repair{ID: "web-1/r1", Kind: belief.RepairOperate, Order: "o1", Copy: "c1",
			Climb: belief.Climb{Rung: belief.NoRung, Step: fleet.StepRevert, Aim: belief.AimAt(st.m.Current),
				Stage: belief.Stage{Phase: belief.PhaseAct}}})
		st.m.Repair.Intent.Snapshot = "c1"
		return provenOff(st)
	},
	fleet.OpDelete: func(t *testing.T) *stage {
		return provenOff(inAct(t, fleet.OpDelete, fleet.StepRecreate, belief.CauseChecks))
	},
	fleet.OpKeep: func(t *testing.T) *stage {
		st := provenOff(inAct(t, fleet.OpKeep, fleet.StepRecreate, belief.CauseChecks))
		st.s.Spec.Repair.Steps[0].KeepOld = time.Hour
		return st
	},
	fleet.OpMigrate: func(t *testing.T) *stage {
		st := inAct(t, fleet.OpMigrate, fleet.StepMigrate, belief.CauseDisabled)
		st.s.Hosts[0].Disabled = true
		return st
	},
	fleet.OpEvacuate: func(t *testing.T) *stage {
		st := inAct(t, fleet.OpEvacuate, fleet.StepEvacuate, belief.CauseChecks)
		st.s.Hosts[0] = fleet.Host{Name: "h1", Fence: fleet.Means{Tries: 2, Limit: time.Second}}
		st.m.Repair.Proof, st.m.Repair.Stranded = fleet.ProofHostOff, true
		return st
	},
	fleet.OpFence: func(t *testing.T) *stage {
		st := inAct(t, fleet.OpFence, fleet.StepRecreate, belief.CauseChecks)
		st.s.Hosts[0] = fleet.Host{Name: "h1", Fence: fleet.Means{Tries: 2, Limit: time.Second}}
		st.m.Repair.Stranded, st.m.Repair.Intent.Try = true, 1
		return st
	},
	fleet.OpCreate: func(t *testing.T) *stage {
		st := newStage(t, steps[fleet.StepRecreate])
		st.m.Generation = 2
		r := st.healing(fleet.StepRecreate)
		r.Removed, r.Proof = true, fleet.ProofConfirmedOff
		r.Next = belief.Incarnation{ID: "new", Host: "h2", Generation: 2}
		st.m.Current = belief.Incarnation{}
		st.underWay(fleet.OpCreate, r)
		return st
	},
	fleet.OpRestore: func(t *testing.T) *stage {
		st := newStage(t, steps[fleet.StepRecreate])
		back := st.m.Current
		st.m.Kept = []belief.KeptInstance{belief.KeepFor(back, time.Hour, st.s.Now)}
		st.m.Current = belief.Incarnation{}
		r := belief.Repair{
			ID:    "web-1/r1",
			Kind:  belief.RepairUndo,
			Order: "o1",
			Back:  back,
			Climb: belief.Climb{
				Rung:  belief.NoRung,
				Step:  fleet.StepRecreate,
				Aim:   belief.Aim{Removed: true, Finding: belief.Finding{Confirmed: true, Proof: fleet.ProofDeleted}},
				Stage: belief.Stage{Phase: belief.PhaseAct},
			},
		}
		st.underWay(fleet.OpRestore, r)
		return st
	},
	fleet.OpCertify: func(t *testing.T) *stage {
		st := newStage(t, steps[fleet.StepRecreate])
		st.m.Current.Certified = false
		st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
		st.view.Checks[0].Standing = fleet.StandingUp
		r := st.healing(fleet.StepRecreate)
		r.Phase = belief.PhaseCertify
		st.underWay(fleet.OpCertify, r)
		return st
	},
	fleet.OpSnapshot: func(t *testing.T) *stage {
		st := inAct(t, fleet.OpSnapshot, fleet.StepSnapshot, belief.CauseChecks)
		st.copied()
		return st
	},
	fleet.OpDropSnapshot: func(t *testing.T) *stage {
		st := newStage(t, steps[fleet.StepPage])
		st.underWay(fleet.OpDropSnapshot, belief.Repair{
			ID:   "web-1/r1",
			Kind: belief.RepairTidy,
			Drop: "r1",
			Climb: belief.Climb{
				Rung:  belief.NoRung,
				Step:  fleet.StepRecreate,
				Aim:   belief.Aim{Target: st.m.Current},
				Stage: belief.Stage{Phase: belief.PhaseAct},
			},
		})
		st.m.Incident, st.m.Health = nil, belief.Health{Verdict: belief.VerdictHealthy}
		st.copied()
		return st
	},
}

// healing is a repair that acts on the step, which is the first of the ladder.
func (st *stage) healing(step fleet.StepKind) belief.Repair {
	return belief.Repair{
		ID:      "web-1/r1",
		Kind:    belief.RepairHeal,
		Started: st.s.Now.Wall,
		Calls:   1,
		Climb: belief.Climb{
			Step:  step,
			Aim:   belief.Aim{Target: st.m.Current, Finding: belief.Finding{Confirmed: true, Proof: fleet.ProofNone}},
			Stage: belief.Stage{Phase: belief.PhaseAct, Since: hour},
		},
	}
}

// copied has the copy of the disks written down that the call is about.
func (st *stage) copied() {
	st.m.Snapshots = []belief.DiskSnapshot{{ID: "r1", Instance: "old", Generation: 1, Host: "h1"}}
	st.m.Repair.Intent.Snapshot = "r1"
}

// inAct has the call of the step's operation be under way; after the step, a person is told.
func inAct(t *testing.T, op fleet.Op, step fleet.StepKind, cause belief.Cause) *stage {
	t.Helper()
	st := newStage(t, steps[step], steps[fleet.StepPage])
	st.m.Health.Cause, st.m.Incident.Cause = cause, cause
	r := st.healing(step)
	if op == fleet.OpPowerOff || op == fleet.OpFence {
		r.OffCalls = 1
	}
	st.underWay(op, r)
	return st
}

func provenOff(st *stage) *stage {
	st.m.Repair.Proof = fleet.ProofConfirmedOff
	return st
}
