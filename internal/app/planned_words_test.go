package app

import (
	"strings"
	"testing"

	"hale/internal/api"
	"hale/internal/fleet"
)

func TestAPlanWarnsOnceOfAdoptedMachinesWithoutADefinition(t *testing.T) {
	t.Parallel()
	f := beliefs(3)
	for i := range 2 {
		v := &f.Machines[i]
		v.Machine.Current.Adopted, v.Machine.Current.Kept = true, true
		v.Seen[0].Instance.Transient = true
	}
	f.Machines[2].Seen[0].Instance.Transient = true // hale builds it again
	got := planFleet(f, beforehand{adopted: map[fleet.InstanceID]bool{"web-1": true, "web-2": true}}).Warnings
	if len(got) != 1 || !strings.HasPrefix(got[0], "web-1, web-2 are transient") ||
		!strings.Contains(got[0], "virsh define") {
		t.Errorf("got warnings %q, want one that names web-1 and web-2, and virsh define", got)
	}
}

func TestAPlanSaysThatAMachineIsBeingBuilt(t *testing.T) {
	t.Parallel()
	f := beliefs(2)
	m := sicken(f, 1, fleet.CauseChecks) // its page does not answer yet
	m.Current.Certified, m.Incident, m.Waiting = false, nil, fleet.ReasonNotCertified
	f.Machines[0].Seen[0].Instance.Mark.Certified = false
	build := fleet.Repair{ID: "web-1/r1", Kind: fleet.RepairBuild, Step: fleet.StepRecreate, Phase: fleet.PhaseVerify}
	step := planFleet(f, beforehand{underWay: map[fleet.MachineName]fleet.Repair{"web-1": build}}).Machines[0]
	if step.Action != api.ActionGoOn || step.Kind != "build" || step.Repair != "web-1/r1, phase verify" ||
		step.Held != (api.Reason{}) {
		t.Errorf("got %+v, want that it is being built and nothing that a person could mend", step)
	}
}
