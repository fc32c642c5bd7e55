package app

import (
	"testing"
	"time"

	"hale/internal/engine"
	"hale/internal/fleet"

	"github.com/google/go-cmp/cmp"
)

// beliefs is a fleet of n healthy machines, as a site that only watched it leaves it.
func beliefs(n int) engine.FleetStatus {
	now := fleet.Now{Mono: fleet.Instant(time.Hour), Wall: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)}
	f := engine.FleetStatus{
		Spec: fleet.Spec{
			Name: "web", Provider: "lab", Size: n, Mode: fleet.ModeAct,
			Repair: fleet.RepairPolicy{Steps: []fleet.Step{{Kind: fleet.StepStart}, {Kind: fleet.StepReboot}, {Kind: fleet.StepRecreate}}},
			Limits: fleet.Limits{InRepair: 1, InBuild: 1, Brake: fleet.BrakePolicy{AtLeast: 2, Percent: 20, ReleaseAfter: time.Minute}},
		},
		Provider: fleet.ProviderState{Standing: fleet.ProviderUp}, At: now,
	}
	for i := 1; i <= n; i++ {
		f.Machines = append(f.Machines, fleet.View{Machine: fleet.Machine{
			Name: f.Spec.Name.Machine(i), Generation: 1, Current: fleet.Incarnation{ID: fleet.InstanceID(f.Spec.Name.Machine(i)), Generation: 1, Certified: true},
			Health: fleet.Health{Verdict: fleet.VerdictHealthy, SinceMono: 1},
		}})
	}
	return f
}

// sicken makes a machine unhealthy for the cause.
func sicken(f engine.FleetStatus, ordinal int, cause fleet.Cause) *fleet.Machine {
	m := &f.Machines[ordinal-1].Machine
	m.Health.Verdict, m.Health.Cause = fleet.VerdictUnhealthy, cause
	m.Incident = &fleet.Incident{ID: string(m.Name) + "/1", Cause: cause}
	return m
}

func TestPlanFleet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(f *engine.FleetStatus)
		underWay map[fleet.MachineName]fleet.Repair
		want     []string
	}{
		"one is off, one fails its checks: the second waits for the budget": {
			change: func(f *engine.FleetStatus) { sicken(*f, 2, fleet.CauseOff); sicken(*f, 4, fleet.CauseChecks) },
			want:   []string{"none", "start", "none", "reboot budget", "none"},
		},
		"too many fail": {
			change: func(f *engine.FleetStatus) {
				for i := 1; i <= 3; i++ {
					sicken(*f, i, fleet.CauseGone)
				}
			},
			want: []string{"recreate brake", "recreate brake", "recreate brake", "none", "none"},
		},
		"the fleet is only watched": {
			change: func(f *engine.FleetStatus) { f.Spec.Mode = fleet.ModeObserve; sicken(*f, 1, fleet.CauseOff) },
			want:   []string{"start observe", "none", "none", "none", "none"},
		},
		"the provider is down": {
			change: func(f *engine.FleetStatus) {
				f.Provider.Standing = fleet.ProviderDown
				sicken(*f, 1, fleet.CauseChecks)
			},
			want: []string{"reboot provider-down", "none", "none", "none", "none"},
		},
		"two were never built": {
			change: func(f *engine.FleetStatus) {
				for i := range 2 {
					f.Machines[i].Machine = fleet.Machine{Name: f.Machines[i].Machine.Name,
						Health: fleet.Health{Verdict: fleet.VerdictUnknown, Cause: fleet.CauseMissing}}
				}
			},
			want: []string{"build", "build build-budget", "none", "none", "none"},
		},
		"a repair is under way, and takes the budget": {
			change:   func(f *engine.FleetStatus) { sicken(*f, 1, fleet.CauseOff); sicken(*f, 2, fleet.CauseOff) },
			underWay: map[fleet.MachineName]fleet.Repair{"web-1": {ID: "web-1/r1", Kind: fleet.RepairHeal, Step: fleet.StepStart}},
			want:     []string{"go-on", "start budget", "none", "none", "none"},
		},
		"in quarantine": {
			change: func(f *engine.FleetStatus) {
				sicken(*f, 1, fleet.CauseOff).Quarantine = &fleet.Quarantine{Reason: fleet.ReasonAttempts}
			},
			want: []string{"start quarantined", "none", "none", "none", "none"},
		},
		"nothing on the ladder fits": {
			change: func(f *engine.FleetStatus) {
				f.Spec.Repair.Steps = f.Spec.Repair.Steps[:1]
				sicken(*f, 1, fleet.CauseChecks)
			},
			want: []string{"none no-step", "none", "none", "none", "none"},
		},
		"an unfinished build left something": {
			change: func(f *engine.FleetStatus) {
				v := &f.Machines[0]
				v.Machine.Generation = 2
				v.Machine.Strays = []fleet.Stray{{ID: "old"}}
				v.Seen = []fleet.Sighting{{Asked: 1, Instance: fleet.Instance{ID: "old", Power: fleet.PowerOff,
					Mark: fleet.Mark{Installation: "ours", Machine: "web-1", Generation: 2}}}}
			},
			want: []string{"remove-remnant", "none", "none", "none", "none"},
		},
		"healthy and not yet certified": {
			change: func(f *engine.FleetStatus) { f.Machines[0].Machine.Current.Certified = false },
			want:   []string{"certify", "none", "none", "none", "none"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := beliefs(5)
			c.change(&f)
			var got []string
			for _, m := range planFleet(f, beforehand{underWay: c.underWay, ours: "ours"}).Machines {
				said := m.Action
				if m.Held.Code != "" {
					said += " " + m.Held.Code
				}
				got = append(got, said)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
