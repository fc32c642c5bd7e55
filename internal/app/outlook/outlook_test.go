package outlook

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/owner/published"

	"github.com/google/go-cmp/cmp"
)

// believed is a fleet of n healthy machines, as a site that only watched it leaves it.
func believed(n int) published.Fleet {
	now := fleet.Now{Mono: fleet.Instant(time.Hour), Wall: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)}
	f := published.Fleet{
		State: situation.State{
			Spec: policy.Spec{
				Name:     "web",
				Provider: "lab",
				Size:     n,
				Mode:     policy.ModeAct,
				Checks: []policy.Check{
					{Name: "page", Every: time.Second, Timeout: time.Second, DownAfter: 3, UpAfter: 1},
				},
				UnhealthyWhen: policy.Condition{Op: policy.OpTerm, Term: "page"},
				Repair: policy.Repair{
					Steps: []policy.Step{
						{Kind: fleet.StepStart, Timeout: time.Minute},
						{Kind: fleet.StepReboot, Timeout: time.Minute},
						{Kind: fleet.StepRecreate, Timeout: time.Minute},
					},
					Fence:          fleet.Fence{Proof: fleet.ProofConfirmedOff},
					OnExternalStop: policy.ExternalStopHeal,
				},
				BuildWithin: time.Minute, BlindAfter: 2 * time.Hour,
				Limits: policy.Limits{
					InRepair: 1,
					InBuild:  1,
					Brake:    policy.Brake{AtLeast: 2, Percent: 20, ReleaseAfter: time.Minute},
				},
			},
			Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
			Now:      now,
			Hosts:    []fleet.Host{{Name: "h0", Up: true}},
		},
		Installation: "ours",
	}
	for i := 1; i <= n; i++ {
		name := f.Spec.Name.Machine(i)
		f.Machines = append(f.Machines, situation.View{
			Machine: belief.Machine{
				Name: name, Generation: 1,
				Current: belief.Incarnation{ID: fleet.InstanceID(name), Generation: 1, Certified: true},
				Health:  belief.Health{Verdict: belief.VerdictHealthy, SinceMono: 1},
			},
			Checks:  []fleet.CheckState{{Check: "page", Standing: fleet.StandingUp, Since: 1}},
			FreshID: fleet.InstanceID(fmt.Sprintf("new-%d", i)),
		})
		v := &f.Machines[i-1]
		v.Seen = []fleet.Sighting{
			{Asked: now.Mono, Instance: fleet.Instance{
				ID:    v.Machine.Current.ID,
				Power: fleet.PowerRunning,
				Mark: fleet.Mark{
					Installation: "ours",
					Fleet:        "web",
					Machine:      v.Machine.Name,
					Generation:   1,
					Certified:    true,
				},
			}},
		}
	}
	f.Wanted = f.Spec
	return f
}

// sicken makes a machine unhealthy for the cause.
func sicken(f published.Fleet, ordinal int, cause belief.Cause) *belief.Machine {
	v := &f.Machines[ordinal-1]
	switch cause {
	case belief.CauseOff:
		v.Seen[0].Instance.Power = fleet.PowerOff
	case belief.CauseGone:
		v.Seen[0].Instance.Power = fleet.PowerGone
	default:
		v.Checks[0].Standing = fleet.StandingDown
	}
	m := &v.Machine
	m.Health.Verdict, m.Health.Cause = belief.VerdictUnhealthy, cause
	m.Incident = &belief.Incident{ID: string(m.Name) + "/1", Cause: cause}
	return m
}

func TestPlanFleet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(f *published.Fleet)
		underWay map[fleet.MachineName]belief.Repair
		want     []string
	}{
		"one is off, two fail their checks: the last one waits for the budget": {
			change: func(f *published.Fleet) {
				sicken(*f, 2, belief.CauseOff)
				sicken(*f, 3, belief.CauseChecks)
				sicken(*f, 4, belief.CauseChecks)
				f.Spec.Limits.Brake.AtLeast = 4
			},
			want: []string{"none", "start", "reboot", "reboot budget", "none"},
		},
		"too many fail": {
			change: func(f *published.Fleet) {
				for i := 1; i <= 3; i++ {
					sicken(*f, i, belief.CauseGone)
				}
			},
			want: []string{"recreate brake", "recreate brake", "recreate brake", "none", "none"},
		},
		"the fleet is only watched": {
			change: func(f *published.Fleet) { f.Spec.Mode = policy.ModeObserve; sicken(*f, 1, belief.CauseOff) },
			want:   []string{"start observe", "none", "none", "none", "none"},
		},
		"the provider is down": {
			change: func(f *published.Fleet) {
				f.Provider.Standing = fleet.ProviderDown
				sicken(*f, 1, belief.CauseChecks)
			},
			want: []string{"reboot provider-down", "none", "none", "none", "none"},
		},
		"two were never built": {
			change: func(f *published.Fleet) {
				for i := range 2 {
					f.Machines[i].Machine = belief.Machine{Name: f.Machines[i].Machine.Name,
						Health: belief.Health{Verdict: belief.VerdictUnknown, Cause: belief.CauseMissing}}
					f.Machines[i].Seen = nil
				}
			},
			want: []string{"build", "build build-budget", "none", "none", "none"},
		},
		"a repair is under way, and takes the budget": {
			change: func(f *published.Fleet) { sicken(*f, 1, belief.CauseChecks); sicken(*f, 2, belief.CauseChecks) },
			underWay: map[fleet.MachineName]belief.Repair{
				"web-1": {ID: "web-1/r1", Kind: belief.RepairHeal, Climb: belief.Climb{Step: fleet.StepReboot}},
			},
			want: []string{"go-on", "reboot budget", "none", "none", "none"},
		},
		"in quarantine": {
			change: func(f *published.Fleet) {
				sicken(*f, 1, belief.CauseOff).Quarantine = &belief.Quarantine{Reason: fleet.ReasonAttempts}
			},
			want: []string{"start quarantined", "none", "none", "none", "none"},
		},
		"nothing on the ladder fits": {
			change: func(f *published.Fleet) {
				f.Spec.Repair.Steps = f.Spec.Repair.Steps[:1]
				sicken(*f, 1, belief.CauseChecks)
			},
			want: []string{"none no-step", "none", "none", "none", "none"},
		},
		"an unfinished build left something": {
			change: func(f *published.Fleet) {
				v := &f.Machines[0]
				v.Machine.Generation = 2
				v.Machine.Strays = []belief.Stray{{ID: "old"}}
				v.Seen = []fleet.Sighting{{Asked: 1, Instance: fleet.Instance{ID: "old", Power: fleet.PowerOff,
					Mark: fleet.Mark{Installation: "ours", Machine: "web-1", Generation: 2}}}}
			},
			want: []string{"remove-remnant", "none", "none", "none", "none"},
		},
		"healthy and not yet certified": {
			change: func(f *published.Fleet) { f.Machines[0].Machine.Current.Certified = false },
			want:   []string{"certify", "none", "none", "none", "none"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := believed(5)
			c.change(&f)
			if diff := cmp.Diff(c.want, planned(f, c.underWay)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// planned is the plan of the fleet, as "action reason".
func planned(f published.Fleet, underWay map[fleet.MachineName]belief.Repair) (said []string) {
	f.Wanted = f.Spec
	for _, m := range Of(f, Before{UnderWay: underWay}).Machines {
		is := m.Action
		if m.Held.Code != "" {
			is += " " + m.Held.Code
		}
		said = append(said, is)
	}
	return said
}

func TestAPlanAnnouncesNothingThatWouldBeHeld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(f *published.Fleet)
		want   []string
	}{
		"a machine answers on the lost host, which is not turned off": {
			change: func(f *published.Fleet) {
				f.Hosts = append(f.Hosts, fleet.Host{Name: "h1", Fence: fleet.Means{Tries: 2}})
				f.Spec.Repair.Fence.Hosts = true
				sicken(*f, 1, belief.CauseChecks).Current.Host = "h1"
				f.Machines[1].Machine.Current.Host = "h1"
				f.Machines[0].Seen, f.Machines[1].Seen = nil, nil
			},
			want: []string{"reboot host-down", "none", "none", "none", "none"},
		},
		"no machine on its host is heard": {
			change: func(f *published.Fleet) {
				*f = believed(12)
				f.Spec.SharedFate = policy.SharedFate{AtLeast: 3, Wait: time.Minute, Then: policy.FateWait}
				f.Spec.Limits.Brake.AtLeast = 4
				f.Hosts = append(f.Hosts, fleet.Host{Name: "h1", Up: true})
				for i := range f.Machines {
					host := f.Hosts[i/9].Name
					f.Machines[i].Machine.Current.Host, f.Machines[i].Seen[0].Instance.Host = host, host
				}
				sicken(*f, 10, belief.CauseChecks).Health.SinceMono = f.Now.Mono
				for i := 10; i < 12; i++ {
					f.Machines[i].Machine.Health.Verdict = belief.VerdictSuspect
					f.Machines[i].Checks[0].Standing = fleet.StandingFailing
				}
			},
			want: append(slices.Repeat([]string{"none"}, 9), "reboot no-witness", "none", "none"),
		},
		"what is only watched is not certified": {
			change: func(f *published.Fleet) {
				f.Spec.Mode, f.Machines[0].Machine.Current.Certified = policy.ModeObserve, false
			},
			want: []string{"certify observe", "none", "none", "none", "none"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := believed(5)
			c.change(&f)
			if diff := cmp.Diff(c.want, planned(f, nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
