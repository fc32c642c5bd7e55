package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
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
		if _, there := ladder[step]; !there && step != fleet.StepQuarantine {
			t.Errorf("ladder lacks the step %s", step)
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
	fleet.OpStart: func(t *testing.T) *stage { return inAct(t, fleet.OpStart, fleet.StepStart, fleet.CauseOff) },
	fleet.OpResume: func(t *testing.T) *stage {
		return inAct(t, fleet.OpResume, fleet.StepResume,
			fleet.CausePaused)
	},
	fleet.OpReboot: func(t *testing.T) *stage {
		return inAct(t, fleet.OpReboot, fleet.StepReboot,
			fleet.CauseChecks)
	},
	fleet.OpSoftReboot: func(t *testing.T) *stage {
		return inAct(t, fleet.OpSoftReboot, fleet.StepReboot,
			fleet.CauseChecks)
	},
	fleet.OpRun: func(t *testing.T) *stage { return inAct(t, fleet.OpRun, fleet.StepRun, fleet.CauseChecks) },
	fleet.OpRescue: func(t *testing.T) *stage {
		return inAct(t, fleet.OpRescue, fleet.StepRescue,
			fleet.CauseChecks)
	},
	fleet.OpPowerOff: func(t *testing.T) *stage {
		return inAct(t, fleet.OpPowerOff, fleet.StepRecreate,
			fleet.CauseChecks)
	},
	fleet.OpRebuild: func(t *testing.T) *stage {
		return provenOff(inAct(t, fleet.OpRebuild, fleet.StepRebuild, fleet.CauseChecks))
	},
	fleet.OpDelete: func(t *testing.T) *stage {
		return provenOff(inAct(t, fleet.OpDelete, fleet.StepRecreate, fleet.CauseChecks))
	},
	fleet.OpKeep: func(t *testing.T) *stage {
		st := provenOff(inAct(t, fleet.OpKeep, fleet.StepRecreate, fleet.CauseChecks))
		st.s.Spec.Repair.Steps[0].KeepOld = time.Hour
		return st
	},
	fleet.OpMigrate: func(t *testing.T) *stage {
		st := inAct(t, fleet.OpMigrate, fleet.StepMigrate, fleet.CauseDisabled)
		st.s.Hosts[0].Disabled = true
		return st
	},
	fleet.OpEvacuate: func(t *testing.T) *stage {
		st := inAct(t, fleet.OpEvacuate, fleet.StepEvacuate, fleet.CauseChecks)
		st.s.Hosts[0] = fleet.Host{Name: "h1", Fence: fleet.Means{Tries: 2, Limit: time.Second}}
		st.m.Repair.Proof, st.m.Repair.Stranded = fleet.ProofHostOff, true
		return st
	},
	fleet.OpFence: func(t *testing.T) *stage {
		st := inAct(t, fleet.OpFence, fleet.StepRecreate, fleet.CauseChecks)
		st.s.Hosts[0] = fleet.Host{Name: "h1", Fence: fleet.Means{Tries: 2, Limit: time.Second}}
		st.m.Repair.Stranded, st.m.Repair.Intent.Try = true, 1
		return st
	},
	fleet.OpCreate: func(t *testing.T) *stage {
		st := newStage(t, ladder[fleet.StepRecreate])
		st.m.Generation = 2
		r := st.healing(fleet.StepRecreate)
		r.Removed, r.Proof = true, fleet.ProofConfirmedOff
		r.Next = fleet.Incarnation{ID: "new", Host: "h2", Generation: 2}
		st.m.Current = fleet.Incarnation{}
		st.underWay(fleet.OpCreate, r)
		return st
	},
	fleet.OpRestore: func(t *testing.T) *stage {
		st := newStage(t, ladder[fleet.StepRecreate])
		back := st.m.Current
		st.m.Kept = []fleet.KeptInstance{fleet.KeepFor(back, time.Hour, st.s.Now)}
		st.m.Current = fleet.Incarnation{}
		r := fleet.Repair{
			ID:    "web-1/r1",
			Kind:  fleet.RepairUndo,
			Order: "o1",
			Back:  back,
			Climb: fleet.Climb{
				Rung:  fleet.NoRung,
				Step:  fleet.StepRecreate,
				Aim:   fleet.Aim{Removed: true, Finding: fleet.Finding{Confirmed: true, Proof: fleet.ProofDeleted}},
				Stage: fleet.Stage{Phase: fleet.PhaseAct},
			},
		}
		st.underWay(fleet.OpRestore, r)
		return st
	},
	fleet.OpCertify: func(t *testing.T) *stage {
		st := newStage(t, ladder[fleet.StepRecreate])
		st.m.Current.Certified = false
		st.m.Health = fleet.Health{Verdict: fleet.VerdictHealthy}
		st.view.Checks[0].Standing = fleet.StandingUp
		r := st.healing(fleet.StepRecreate)
		r.Phase = fleet.PhaseCertify
		st.underWay(fleet.OpCertify, r)
		return st
	},
	fleet.OpSnapshot: func(t *testing.T) *stage {
		st := inAct(t, fleet.OpSnapshot, fleet.StepSnapshot, fleet.CauseChecks)
		st.copied()
		return st
	},
	fleet.OpDropSnapshot: func(t *testing.T) *stage {
		st := newStage(t, ladder[fleet.StepPage])
		st.underWay(fleet.OpDropSnapshot, fleet.Repair{
			ID:   "web-1/r1",
			Kind: fleet.RepairTidy,
			Drop: "r1",
			Climb: fleet.Climb{
				Rung:  fleet.NoRung,
				Step:  fleet.StepRecreate,
				Aim:   fleet.Aim{Target: st.m.Current},
				Stage: fleet.Stage{Phase: fleet.PhaseAct},
			},
		})
		st.m.Incident, st.m.Health = nil, fleet.Health{Verdict: fleet.VerdictHealthy}
		st.copied()
		return st
	},
}

// healing is a repair that acts on the step, which is the first of the ladder.
func (st *stage) healing(step fleet.StepKind) fleet.Repair {
	return fleet.Repair{
		ID:      "web-1/r1",
		Kind:    fleet.RepairHeal,
		Started: st.s.Now.Wall,
		Calls:   1,
		Climb: fleet.Climb{
			Step:  step,
			Aim:   fleet.Aim{Target: st.m.Current, Finding: fleet.Finding{Confirmed: true, Proof: fleet.ProofNone}},
			Stage: fleet.Stage{Phase: fleet.PhaseAct, Since: hour},
		},
	}
}

// copied has the copy of the disks written down that the call is about.
func (st *stage) copied() {
	st.m.Snapshots = []fleet.DiskSnapshot{{ID: "r1", Instance: "old", Generation: 1, Host: "h1"}}
	st.m.Repair.Intent.Snapshot = "r1"
}

// inAct has the call of the step's operation be under way; after the step, a person is told.
func inAct(t *testing.T, op fleet.Op, step fleet.StepKind, cause fleet.Cause) *stage {
	t.Helper()
	st := newStage(t, ladder[step], ladder[fleet.StepPage])
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
