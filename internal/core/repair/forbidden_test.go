package repair_test

import (
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

func forbidden(st *stage, kind belief.RepairKind) fleet.Reason {
	return guard.Forbidden(&st.m, &st.s.Spec, kind)
}

// L2: the configuration was edited while a repair was under way, and forbids by now what it is about to do. It is
// neither begun nor finished; of what is gone, nothing is left to spare.
func TestL2WhatTheConfigurationForbidsByNowIsNotDone(t *testing.T) {
	t.Parallel()
	keep := func(st *stage) { st.s.Spec.Template.Disks = []policy.Disk{{Name: "data"}} }
	protect := func(st *stage) { st.s.Spec.Protected = []int{1} }
	for name, c := range map[string]struct {
		step fleet.StepKind
		set  []func(*stage)
		want string
	}{
		"a disk is to be kept": {fleet.StepRecreate, []func(*stage){keep},
			"repair-ended disk-kept; held disk-kept; over"},
		"it is protected": {fleet.StepRecreate, []func(*stage){protect},
			"repair-ended protected; held protected; over"},
		"of a rebuild": {fleet.StepRebuild, []func(*stage){keep},
			"repair-ended disk-kept; held disk-kept; over"},
		"of a reboot": {fleet.StepReboot, []func(*stage){keep, protect}, "CALL reboot old; act"},
		"it is gone": {fleet.StepRecreate, []func(*stage){keep,
			func(st *stage) { st.m.Repair.Proof = fleet.ProofDeleted }},
			"CALL delete old; act"},
		"a call is under way": {fleet.StepRecreate, []func(*stage){keep, func(st *stage) {
			st.m.Repair.OffCalls = 1
			st.underWay(fleet.OpPowerOff, *st.m.Repair)
		}}, "act"},
		"it was removed": {fleet.StepRecreate, []func(*stage){keep, func(st *stage) {
			st.m.Repair.Removed, st.m.Repair.Proof, st.m.Current = true, fleet.ProofConfirmedOff, belief.Incarnation{}
		}}, "CALL create new; act"},
		"it never was whole": {fleet.StepRecreate, []func(*stage){keep, func(st *stage) {
			st.m.Current.Certified, st.m.Current.Expired = false, true
			st.m.Repair.Target = st.m.Current
		}}, "ASK old; act"},
		"it is put aside": {fleet.StepRecreate, []func(*stage){keep, func(st *stage) {
			st.s.Spec.Repair.Steps[0].KeepOld = 1
		}}, "ASK old; act"},
		"it is built, and verified": {fleet.StepRecreate, []func(*stage){keep, protect, func(st *stage) {
			st.m.Repair.Phase, st.m.Repair.Deadline = belief.PhaseVerify, hour+1
		}}, "verify"},
	} {
		st := newStage(t, steps[c.step])
		r := st.healing(c.step)
		r.Calls = 0
		st.m.Repair = &r
		for _, set := range c.set {
			set(st)
		}
		st.want(name, st.round(), c.want)
	}
}

// L10: what a person orders for one machine is refused where the configuration forbids it, with a reason, and the
// machine is left as it is.
func TestL10AnOrderThatTheConfigurationForbids(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want fleet.Reason
		undo fleet.Reason // what is put aside keeps its disks
	}{
		"nothing": {func(*stage) {}, "", ""},
		"it is protected": {func(st *stage) { st.s.Spec.Protected = []int{1} }, fleet.ReasonProtected,
			fleet.ReasonProtected},
		"another is": {func(st *stage) { st.s.Spec.Protected = []int{2} }, "", ""},
		"it was adopted, and is to be kept": {func(st *stage) { st.m.Current.Irreplaceable = true },
			fleet.ReasonIrreplaceable, fleet.ReasonIrreplaceable},
		"a disk would be lost": {func(st *stage) { st.s.Spec.Template.Disks = []policy.Disk{{Name: "data"}} },
			fleet.ReasonDiskKept, ""},
		"there is none to lose one": {func(st *stage) {
			st.s.Spec.Template.Disks, st.m.Current = []policy.Disk{{Name: "data"}}, belief.Incarnation{}
		}, "", ""},
	} {
		st := newStage(t, steps[fleet.StepRecreate])
		c.set(st)
		for kind, want := range map[belief.RepairKind]fleet.Reason{belief.RepairRemove: c.want,
			belief.RepairUpdate: c.want,
			belief.RepairUndo:   c.undo} {
			if got := forbidden(st, kind); got != want {
				t.Errorf("%s of a machine, and %s: %q, want %q", kind, name, got, want)
			}
		}
	}
	st := newStage(t, steps[fleet.StepRecreate])
	st.m.Repair = nil
	st.want("refused", st.play(func(w *work) { w.RefuseChange("o1", fleet.ReasonProtected) }), "paged given-up; over")
	if got := st.record(record.Paged); got.Detail != "protected" || got.Order != "o1" ||
		*st.m.Change != (belief.Change{Order: "o1", Ended: fleet.ReasonProtected}) {
		t.Errorf("it is not said why: %+v", got)
	}
}
