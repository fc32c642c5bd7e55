package belief_test

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"web": true, "web-1": true, "a": true, "w2": true,
		"": false, "Web": false, "2web": false, "-web": false, "web-": false, "we b": false, "wéb": false,
		strings.Repeat("a", 49): false,
	} {
		if _, err := fleet.ParseName(name); (err == nil) != good {
			t.Errorf("ParseName(%q): %v", name, err)
		}
	}
	m := fleet.Name("web-a").Machine(12)
	if n, ok := m.Ordinal(); m != "web-a-12" || n != 12 || !ok || m.Fleet() != "web-a" {
		t.Errorf("%q has ordinal %d, fleet %q", m, n, m.Fleet())
	}
	for _, bad := range []fleet.MachineName{"", "web", "web-", "web-0", "web-x", "-1"} {
		if _, ok := bad.Ordinal(); ok || bad.Fleet() != "" {
			t.Errorf("%q passes for a machine", bad)
		}
	}
}

func FuzzNamesMakeMachinesThatNameTheirFleet(f *testing.F) {
	f.Add("web", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		name, err := fleet.ParseName(s)
		if err != nil || n < 1 {
			return
		}
		m := fleet.Name(name).Machine(n)
		if got, ok := m.Ordinal(); !ok || got != n || m.Fleet() != fleet.Name(name) {
			t.Errorf("%q does not lead back to %q and %d", m, name, n)
		}
	})
}

// replacing is a machine in the middle of a lawful recreate: the old instance is proven off, its delete is under way.
func replacing() belief.Machine {
	old := belief.Incarnation{ID: "old", Generation: 1, Certified: true}
	return belief.Machine{
		Name: "web-1", Generation: 1, Current: old,
		Incident: &belief.Incident{ID: "web-1/1", Cause: belief.CauseChecks},
		Repair: &belief.Repair{
			ID:     "web-1/r2",
			Kind:   belief.RepairHeal,
			Intent: &belief.Intent{ID: "c1", Op: fleet.OpDelete, Instance: "old", Limit: time.Second},
			Climb: belief.Climb{
				Step: fleet.StepRecreate,
				Aim: belief.Aim{Target: old, Finding: belief.Finding{Confirmed: true,
					Proof: fleet.ProofConfirmedOff}},
				Stage: belief.Stage{Phase: belief.PhaseAct},
			},
		},
	}
}

// Each law is broken alone, and must be noticed by its name.
func TestTheLawsAreChecked(t *testing.T) {
	t.Parallel()
	lawful := replacing()
	if err := lawful.Check(); err != nil {
		t.Fatalf("a lawful machine: %v", err)
	}
	for name, c := range map[string]struct {
		law   string
		spoil func(*belief.Machine)
	}{
		"a replacement without proof": {law: "L1", spoil: func(m *belief.Machine) {
			m.Repair.Proof, m.Repair.Intent = fleet.ProofNone, nil
			m.Generation, m.Repair.Next = 2, belief.Incarnation{ID: "new", Generation: 2}
		}},
		"a delete before it is known to be off": {law: "L1",
			spoil: func(m *belief.Machine) { m.Repair.Proof = fleet.ProofNone }},
		"an evacuation off an unknown host": {law: "L1", spoil: func(m *belief.Machine) {
			m.Repair.Proof, m.Repair.Intent.Op = fleet.ProofNone, fleet.OpEvacuate
		}},
		"an evacuation of what is off, on a host that may run": {law: "L1", spoil: func(m *belief.Machine) {
			m.Repair.Proof, m.Repair.Intent.Op = fleet.ProofConfirmedOff, fleet.OpEvacuate
		}},
		"the next instance is the current one": {law: "L1", spoil: func(m *belief.Machine) {
			m.Repair.Intent, m.Repair.Next = nil, m.Current
		}},
		"a call that names no instance": {law: "L2",
			spoil: func(m *belief.Machine) { m.Repair.Intent.Instance = "" }},
		"a call on another than the target": {law: "L2",
			spoil: func(m *belief.Machine) { m.Repair.Intent.Instance = "another" }},
		"neither certified nor expired": {law: "L2",
			spoil: func(m *belief.Machine) { m.Repair.Target.Certified = false }},
		"no look confirmed the failure": {law: "L3",
			spoil: func(m *belief.Machine) { m.Repair.Confirmed = false }},
		"a call without a time limit": {law: "L7",
			spoil: func(m *belief.Machine) { m.Repair.Intent.Limit = 0 }},
		"a repair of nothing": {law: "L8", spoil: func(m *belief.Machine) { m.Incident = nil }},
		"a repair for a blind incident": {law: "L8",
			spoil: func(m *belief.Machine) { m.Incident.Cause = belief.CauseBlind }},
		"a repair in quarantine": {law: "L8",
			spoil: func(m *belief.Machine) { m.Quarantine = &belief.Quarantine{} }},
		"a generation that was never allotted": {law: "never allotted",
			spoil: func(m *belief.Machine) { m.Current.Generation = 7 }},
		"a name that is none": {law: "malformed", spoil: func(m *belief.Machine) { m.Name = "web" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := replacing()
			c.spoil(&m)
			if err := m.Check(); err == nil || !strings.Contains(err.Error(), c.law) {
				t.Errorf("got %v, want %s", err, c.law)
			}
		})
	}
}

// A new owner trusts no proof, no look and no deadline of its predecessor, and nothing that was under way.
func TestARestartForgetsWhatTimeMayHaveChanged(t *testing.T) {
	t.Parallel()
	now := fleet.Now{Mono: fleet.Instant(time.Minute)}
	spec := policy.Spec{BuildWithin: time.Hour, Repair: policy.Repair{Steps: []policy.Step{{Kind: fleet.StepReboot,
		VerifyWithin: time.Minute}}}}

	calling := replacing().Restart(now, spec)
	if !calling.Repair.Intent.Unknown {
		t.Error("a call under way is taken for known")
	}
	between := replacing()
	between.Repair.Intent = nil
	if r := between.Restart(now, spec).Repair; r.Phase != belief.PhaseLook || r.Confirmed || r.Proof != "" {
		t.Errorf("an old proof still counts: %+v", r)
	}
	verifying := replacing()
	verifying.Repair.Intent, verifying.Repair.Phase, verifying.Repair.Deadline, verifying.Repair.Step = nil,
		belief.PhaseVerify, 7, fleet.StepReboot
	if r := verifying.Restart(now, spec).Repair; r.Deadline != now.Mono.Add(time.Minute) {
		t.Errorf("the deadline did not start anew: %v", time.Duration(r.Deadline))
	}
	first := belief.Machine{Repair: &belief.Repair{Kind: belief.RepairBuild,
		Climb: belief.Climb{Stage: belief.Stage{Phase: belief.PhaseAct}}}}
	if r := first.Restart(now, spec).Repair; r.Phase != belief.PhaseAct {
		t.Errorf("a first build that waits looks at an instance that never was: %+v", r)
	}
	if replacing().Repair.Intent.Unknown {
		t.Error("Restart changed what it was given")
	}
}

func TestProofsAreGraded(t *testing.T) {
	t.Parallel()
	grades := []fleet.Proof{fleet.ProofNone, fleet.ProofConfirmedOff, fleet.ProofDeleted}
	for i, have := range grades {
		for k, want := range grades {
			if have.Meets(want) != (i >= k) {
				t.Errorf("%s meets %s: %v", have, want, have.Meets(want))
			}
		}
	}
}
