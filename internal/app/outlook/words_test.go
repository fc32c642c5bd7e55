package outlook

import (
	"net/netip"
	"strings"
	"testing"

	"hale/api"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/owner/published"
)

func TestAPlanWarnsOnceOfAdoptedMachinesWithoutADefinition(t *testing.T) {
	t.Parallel()
	f := believed(3)
	for i := range 2 {
		v := &f.Machines[i]
		v.Machine.Current.Adopted, v.Machine.Current.Irreplaceable = true, true
		v.Seen[0].Instance.Transient = true
	}
	f.Machines[2].Seen[0].Instance.Transient = true // hale builds it again
	got := Of(f, Before{Adopted: map[fleet.InstanceID]bool{"web-1": true, "web-2": true}}).Warnings
	if len(got) != 1 || !strings.HasPrefix(got[0], "web-1, web-2 are transient") ||
		!strings.Contains(got[0], "virsh define") {
		t.Errorf("got warnings %q, want one that names web-1 and web-2, and virsh define", got)
	}
}

func TestAPlanSaysThatAMachineIsBeingBuilt(t *testing.T) {
	t.Parallel()
	f := believed(2)
	m := sicken(f, 1, belief.CauseChecks) // its page does not answer yet
	m.Current.Certified, m.Incident, m.Waiting = false, nil, fleet.ReasonNotCertified
	f.Machines[0].Seen[0].Instance.Mark.Certified = false
	build := belief.Repair{
		ID:    "web-1/r1",
		Kind:  belief.RepairBuild,
		Climb: belief.Climb{Step: fleet.StepRecreate, Stage: belief.Stage{Phase: belief.PhaseVerify}},
	}
	step := Of(f, Before{UnderWay: map[fleet.MachineName]belief.Repair{"web-1": build}}).Machines[0]
	if step.Action != api.ActionGoOn || step.Kind != "build" || step.Repair != "web-1/r1, phase verify" ||
		step.Held != (api.Reason{}) {
		t.Errorf("got %+v, want that it is being built and nothing that a person could mend", step)
	}
}

// A plan names the machines that no witness can vouch for, and what to add.
func TestAPlanNamesTheMachinesThatHaveNoWitness(t *testing.T) {
	t.Parallel()
	fleets := func(change func(web, db *published.Fleet)) []string {
		web, db := believed(3), believed(1)
		db.Spec.Name = "db"
		for i, host := range []fleet.HostName{"h1", "h2", "h2"} {
			web.Machines[i].Machine.Current.Host = host
		}
		db.Machines[0].Machine.Current.Host = "h3"
		web.Hosts = []fleet.Host{{Name: "h1", Up: true}, {Name: "h2", Up: true}, {Name: "h3", Up: true}}
		change(&web, &db)
		return Unwitnessed(web, []published.Fleet{web, db})
	}
	for name, c := range map[string]struct {
		change func(web, db *published.Fleet)
		quiet  bool
	}{
		"it is alone on its host": {change: func(_, _ *published.Fleet) {}},
		"beside it is one of another fleet": {
			change: func(_, db *published.Fleet) { db.Machines[0].Machine.Current.Host = "h1" }, quiet: true,
		},
		"which is on another provider": {
			change: func(_, db *published.Fleet) {
				db.Machines[0].Machine.Current.Host, db.Spec.Provider = "h1", "far"
			},
		},
		"its host's address is known": {
			change: func(web, _ *published.Fleet) { web.Hosts[0].Address = netip.MustParseAddr("192.0.2.1") },
			quiet:  true,
		},
		"its guest's agent is asked": {
			change: func(web, _ *published.Fleet) { web.Spec.Checks[0].Kind = policy.CheckAgent }, quiet: true,
		},
		"silence is enough": {
			change: func(web, _ *published.Fleet) { web.Spec.Repair.Silence = policy.SilenceActs }, quiet: true,
		},
		"hale only watches": {
			change: func(web, _ *published.Fleet) { web.Spec.Mode = policy.ModeObserve }, quiet: true,
		},
		"it is off, and nothing is expected of it": {
			change: func(web, _ *published.Fleet) { sicken(*web, 1, belief.CauseStopped) }, quiet: true,
		},
	} {
		got := fleets(c.change)
		if c.quiet != (len(got) == 0) ||
			!c.quiet && (!strings.Contains(got[0], "hale does not know the host's own address: web-1. ") ||
				!strings.Contains(got[0], "silence: act")) {
			t.Errorf("%s: it warns %q", name, got)
		}
	}
}
