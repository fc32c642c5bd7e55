package outlook

import (
	"fmt"
	"testing"
	"time"

	"hale/api"
	"hale/internal/core/belief"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/owner/published"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyFleet is a fleet in any state that a watch may leave: on hosts that answer or not, with machines that fail, stop,
// vanish, were never built, or left something behind.
func anyFleet(t *rapid.T) published.Fleet {
	size := rapid.IntRange(1, 8).Draw(t, "size")
	f := believed(size)
	f.Spec.Limits.InRepair = rapid.IntRange(1, 3).Draw(t, "budget")
	f.Spec.Limits.Brake.AtLeast = rapid.IntRange(1, 6).Draw(t, "limit")
	f.Spec.Repair.Fence = fleet.Fence{Proof: fleet.ProofConfirmedOff, Hosts: rapid.Bool().Draw(t, "fences")}
	f.Spec.Repair.Attempts, f.Spec.Repair.AttemptsIn = rapid.IntRange(0, 2).Draw(t, "attempts"), time.Hour
	f.Spec.SharedFate = policy.SharedFate{
		AtLeast: rapid.SampledFrom([]int{0, 3}).Draw(t, "together"),
		Wait:    time.Minute,
		Then:    policy.FateWait,
	}
	f.Spec.Grace = time.Minute
	f.Provider.Standing = rapid.SampledFrom([]fleet.ProviderStanding{
		fleet.ProviderUp,
		fleet.ProviderUp,
		fleet.ProviderUp,
		fleet.ProviderDoubtful,
		fleet.ProviderDown,
	}).Draw(t, "provider")
	f.Hosts = nil
	for n := range 3 {
		f.Hosts = append(
			f.Hosts,
			fleet.Host{
				Name:  hostNumber(n),
				Up:    n > 0 || rapid.Bool().Draw(t, "first host answers"),
				Fence: fleet.Means{Tries: 2},
			},
		)
	}
	for i := range f.Machines {
		anyMachine(t, &f.Machines[i], f.Now.Mono)
	}
	f.Wanted = f.Spec
	return f
}

func hostNumber(n int) fleet.HostName { return fleet.HostName(fmt.Sprintf("h%d", n)) }

func anyMachine(t *rapid.T, v *situation.View, now fleet.Instant) {
	m := &v.Machine
	m.Current.Host = hostNumber(rapid.IntRange(0, 2).Draw(t, "host"))
	m.Current.Certified = rapid.IntRange(0, 9).Draw(t, "uncertified") > 0
	if rapid.IntRange(0, 9).Draw(t, "unbuilt") == 0 {
		*m = belief.Machine{Name: m.Name}
	}
	v.Epoch = m.Epoch
	v.Checks = []fleet.CheckState{
		{Check: "page", Since: 1, Standing: rapid.SampledFrom([]fleet.Standing{fleet.StandingUp, fleet.StandingUp,
			fleet.StandingDown, fleet.StandingFailing, fleet.StandingUnknown}).Draw(t, "page")},
	}
	if rapid.IntRange(0, 4).Draw(t, "tried") == 0 {
		m.Attempts = []fleet.Instant{now - 1}
	}
	v.Seen = nil
	if !m.Current.None() && rapid.IntRange(0, 9).Draw(t, "unseen") > 0 {
		v.Seen = append(v.Seen, anySighting(t, m, m.Current.ID, m.Generation, now))
	}
	if rapid.IntRange(0, 9).Draw(t, "remnant") == 0 {
		m.Generation++
		v.Seen = append(v.Seen, anySighting(t, m, "z-"+fleet.InstanceID(m.Name), m.Generation, now))
	}
}

func anySighting(
	t *rapid.T,
	m *belief.Machine,
	id fleet.InstanceID,
	g fleet.Generation,
	now fleet.Instant,
) fleet.Sighting {
	return fleet.Sighting{Asked: now, Instance: fleet.Instance{
		ID:   id,
		Host: m.Current.Host,
		Power: rapid.SampledFrom([]fleet.Power{
			fleet.PowerRunning, fleet.PowerRunning, fleet.PowerOff, fleet.PowerGone, fleet.PowerPaused,
		}).
			Draw(t, "power"),
		Mark: fleet.Mark{
			Installation: "ours",
			Fleet:        "web",
			Machine:      m.Name,
			Generation:   g,
			Certified:    m.Current.Certified,
		},
	}}
}

// pictureOf is what an owner that acts would decide on.
func pictureOf(f published.Fleet) situation.Situation {
	return situation.Situation{
		State: situation.State{
			Now:      f.Now,
			Spec:     f.Spec,
			SteadyAt: settledAt,
			Provider: f.Provider,
			Hosts:    f.Hosts,
			Silent:   f.Silent,
			Brake:    f.Brake,
			Whole:    f.Whole,
			Slots:    f.Slots,
		},
		Installation: "ours",
		Wanted:       &f.Wanted,
		Machines:     f.Machines,
	}
}

// watched is the fleet after a few rounds in which hale only watched it, as a plan does before it is made.
func watched(t *rapid.T, f published.Fleet) published.Fleet {
	for range rapid.IntRange(1, 3).Draw(t, "rounds") {
		watches := f
		watches.Spec.Mode, watches.Wanted.Mode = policy.ModeObserve, policy.ModeObserve
		s := pictureOf(watches)
		for i := range s.Machines {
			s.Machines[i].Due = true
		}
		d := decide.Decide(s)
		for _, m := range d.Machines {
			f.Machines[m.Index].Machine, f.Machines[m.Index].Epoch = m.Belief, m.Belief.Epoch
		}
		f.Brake, f.Whole = d.Brake, d.Whole
		f.Now = fleet.Now{Mono: f.Now.Mono.Add(10 * time.Second), Wall: f.Now.Wall.Add(10 * time.Second)}
	}
	return f
}

// done is what decide did about a machine in this round, in a plan's words.
func done(was belief.Machine, is *belief.Machine) string {
	r := is.Repair
	switch {
	case r == nil && is.Quarantine != nil && was.Quarantine == nil:
		return "held: " + string(is.Quarantine.Reason)
	case r == nil && is.Waiting == "":
		return "nothing"
	case r == nil || is.Waiting != "":
		return "held: " + string(is.Waiting)
	case r.Kind == belief.RepairHeal:
		return string(r.Step)
	case r.Kind == belief.RepairRemnant:
		return api.ActionRemnant
	case !was.Current.None():
		return api.ActionCertify
	}
	return string(r.Kind)
}

// S73: what a plan announces for each machine is what the owner would begin at that moment, or the reason for which it
// would hold.
func TestS73APlanAnnouncesWhatIsDecided(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := watched(t, anyFleet(t))
		said, want := map[string]string{}, map[string]string{}
		for _, m := range Of(f, Before{}).Machines {
			switch {
			case m.Held.Code != "":
				said[m.Machine] = "held: " + m.Held.Code
			case m.Action == api.ActionNone:
				said[m.Machine] = "nothing"
			default:
				said[m.Machine] = m.Action
			}
		}
		s := pictureOf(f)
		for _, v := range f.Machines {
			want[string(v.Machine.Name)] = done(v.Machine, &v.Machine)
		}
		for _, m := range decide.Decide(s).Machines {
			want[string(m.Belief.Name)] = done(f.Machines[m.Index].Machine, &m.Belief)
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Fatal(diff)
		}
	})
}
