package decide_test

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// BenchmarkDecide is one round of a fleet of 1,000 machines on 50 hosts, some of them open. Beliefs are made one by
// one, as a store gives them, so no two share their strings.
func BenchmarkDecide(b *testing.B) {
	for _, open := range []int{1, 200} {
		b.Run(strconv.Itoa(open)+" of 1000 open", func(b *testing.B) {
			s := crowd(1000, open)
			b.ReportAllocs()
			for b.Loop() {
				decide.Decide(s)
			}
		})
	}
}

// BenchmarkNight judges ten thousand machines in the round in which three thousand of them are found down, in 40 racks
// of 100; and the rounds after that, while they are held.
func BenchmarkNight(b *testing.B) {
	s := crowd(10_000, 0)
	s.Spec.SharedFate = policy.SharedFate{Then: policy.FatePage, AtLeast: 3, Wait: 10 * time.Minute}
	s.Hosts = nil
	for h := range 400 {
		s.Hosts = append(s.Hosts, fleet.Host{Name: hostNamed(h), Up: true,
			Place: fleet.Place{Rack: "r" + strconv.Itoa(h/4)}})
	}
	slices.SortFunc(s.Hosts, func(a, b fleet.Host) int { return cmp.Compare(a.Name, b.Name) })
	for i := range s.Machines {
		v := &s.Machines[i]
		v.Machine.Current.Host, v.Seen[0].Instance.Host = hostNamed(i/25), hostNamed(i/25)
		if i/100 < 40 && i%4 != 3 { // three quarters of each of their hosts
			v.Checks[0] = fleet.CheckState{Check: "page", Standing: fleet.StandingDown, Result: fleet.ResultTimeout}
			v.Due = true
		}
	}
	b.Run("found down", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			decide.Decide(s)
		}
	})
	d := decide.Decide(s)
	s.Brake, s.Whole = d.Brake, d.Whole
	for _, m := range d.Machines {
		s.Machines[m.Index].Machine, s.Machines[m.Index].Due = m.Belief, false
	}
	if n := len(d.Whole.Parents); n != 40 {
		b.Fatalf("%d racks are blamed, want 40", n)
	}
	b.Run("held", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			decide.Decide(s)
		}
	})
}

// crowd is a fleet that stands, but for as many machines as are open: they are down by their checks and wait for their
// turn.
func crowd(size, open int) situation.Situation {
	now := fleet.Instant(time.Hour)
	s := situation.Situation{
		State: situation.State{
			Now:      fleet.Now{Mono: now, Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
			Spec:     spec(size),
			Provider: fleet.ProviderState{Standing: fleet.ProviderUp},
			SteadyAt: 1,
		},
		Installation: ours,
	}
	for h := range 50 {
		s.Hosts = append(s.Hosts, fleet.Host{Name: fleet.HostName("h" + strconv.Itoa(100+h)), Up: true})
	}
	for n := 1; n <= size; n++ {
		id := fleet.InstanceID("instance-" + strconv.Itoa(n))
		host := fleet.HostName("h" + strconv.Itoa(100+n%50))
		v := situation.View{
			Machine: belief.Machine{
				Name: s.Spec.Name.Machine(n), Generation: 1, Acted: 1, Address: netip.AddrFrom4([4]byte{10, 0,
					byte(n >> 8), byte(n)}),
				Current: belief.Incarnation{ID: id, Generation: 1, Host: host, Certified: true},
				Health:  belief.Health{Verdict: belief.VerdictHealthy, Since: s.Now.Wall, SinceMono: 1},
			},
			Checks: []fleet.CheckState{{Check: "page", Standing: fleet.StandingUp}},
			Seen: []fleet.Sighting{{Asked: now, Instance: fleet.Instance{ID: id, Host: host, Power: fleet.PowerRunning,
				Address: netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)})}}},
		}
		if open > 0 && n%(size/open) == 0 {
			v.Checks[0].Standing = fleet.StandingDown
			v.Machine.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks, Check: "page",
				SinceMono: 1}
			v.Machine.Incident = &belief.Incident{ID: string(v.Machine.Name) + "/1", Cause: belief.CauseChecks}
			v.Machine.Waiting = fleet.ReasonBackoff
			v.Machine.RetryAt = now.Add(time.Minute)
		}
		s.Machines = append(s.Machines, v)
	}
	return s
}
