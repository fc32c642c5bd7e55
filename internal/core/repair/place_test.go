package repair_test

import (
	"slices"
	"strings"
	"testing"

	"hale/internal/core/fleet"
)

// building is the stage of a build whose host is to be chosen: its old instance was on h1, and is gone.
func building(t *testing.T, hosts ...fleet.Host) *stage {
	t.Helper()
	st := calling[fleet.OpCreate](t)
	st.m.Repair.Intent, st.m.Repair.Next, st.m.Generation = nil, fleet.Incarnation{}, 1
	st.m.Repair.Proof = fleet.ProofDeleted
	st.s.Hosts = hosts
	return st
}

// builds returns where the round builds, or why it does not.
func (st *stage) builds(load map[fleet.HostName]int) string {
	st.Helper()
	st.play(func(w *work) {
		w.Load = func() map[fleet.HostName]int { return load }
		w.Advance()
	})
	if r := st.m.Repair; r != nil && !r.Next.None() {
		return string(r.Next.Host)
	}
	return "held " + string(st.m.Waiting)
}

// host is one that answers, in a rack.
func host(name fleet.HostName, rack string) fleet.Host {
	return fleet.Host{Name: name, Up: true, Place: fleet.Place{Rack: rack}}
}

// Instances are spread: over the domains of the policy first, and then over hosts.
func TestInstancesAreSpread(t *testing.T) {
	t.Parallel()
	racks := []fleet.Host{host("a1", "a"), host("a2", "a"), host("b1", "b"), host("b2", "b")}
	for name, c := range map[string]struct {
		spread fleet.DomainKind
		load   map[fleet.HostName]int
		want   string // each of them does
	}{
		"one host is empty":  {"", map[fleet.HostName]int{"a1": 1, "a2": 1, "b2": 1}, "b1"},
		"one has the fewest": {"", map[fleet.HostName]int{"a1": 3, "a2": 2, "b1": 4, "b2": 3}, "a2"},
		"one rack has fewer": {fleet.DomainRack, map[fleet.HostName]int{"a1": 2, "b1": 1}, "b2"},
		"that counts before hosts": {fleet.DomainRack, map[fleet.HostName]int{"a1": 3, "b1": 1, "b2": 1},
			"b1 b2"},
		"racks are equal, hosts are not": {fleet.DomainRack, map[fleet.HostName]int{"a1": 1, "b2": 1}, "a2 b1"},
	} {
		st := building(t, racks...)
		st.s.Spec.Placement.Spread = c.spread
		if got := st.builds(c.load); !slices.Contains(strings.Fields(c.want), got) {
			t.Errorf("%s: it is built on %s, want %s", name, got, c.want)
		}
	}
}

// Equals are told apart by the repair's id: always in the same way, and not all on one host.
func TestEqualHostsAreToldApart(t *testing.T) {
	t.Parallel()
	chosen := map[string]int{}
	for n := range 30 {
		id := "web-1/r" + string(rune('A'+n))
		first := ""
		for range 2 {
			st := building(t, host("a1", ""), host("a2", ""), host("a3", ""))
			st.m.Repair.ID = id
			got := st.builds(map[fleet.HostName]int{})
			if first = max(first, got); got != first {
				t.Errorf("%s is built on %s, and on %s", id, first, got)
			}
			chosen[got]++
		}
	}
	if len(chosen) != 3 {
		t.Errorf("they are built on %v", chosen)
	}
}

// Those that are built in one round see each other.
func TestBuildsOfOneRoundAreSpread(t *testing.T) {
	t.Parallel()
	load := map[fleet.HostName]int{"h1": 1}
	st := building(t, host("h1", ""), host("h2", ""), host("h3", ""))
	first := st.builds(load)
	st = building(t, host("h1", ""), host("h2", ""), host("h3", ""))
	if second := st.builds(load); first == second || first == "h1" || second == "h1" {
		t.Errorf("two are built on %s and %s", first, second)
	}
}

// A machine's own old instance, which still counts on its host, does not keep its successor from that domain.
func TestTheOldInstanceIsNotInTheWay(t *testing.T) {
	t.Parallel()
	st := building(t, host("h1", "a"))
	st.s.Spec.Placement = fleet.Placement{Spread: fleet.DomainRack, Apart: true}
	st.m.Current = fleet.Incarnation{ID: "old", Host: "h1", Certified: true} // deleted in this very round
	w := st.work()
	w.Load = func() map[fleet.HostName]int { return map[fleet.HostName]int{"h1": 1} }
	st.m.Current = fleet.Incarnation{}
	w.Advance()
	if got := st.m.Repair.Next.Host; got != "h1" {
		t.Errorf("it is built on %q: held %s", got, st.m.Waiting)
	}
}

// Some hosts are taken only if there is no other, and some never.
func TestWhichHostIsTaken(t *testing.T) {
	t.Parallel()
	failing := []fleet.Parent{{ID: "web/i1", Domain: fleet.Domain{Kind: fleet.DomainHost, Name: "h2"}}}
	for name, c := range map[string]struct {
		spoil       func(*stage, *fleet.Host) // of h2, which is empty
		want, alone string                    // beside one that has an instance, and alone
	}{
		"as it should be":          {func(*stage, *fleet.Host) {}, "h2", "h2"},
		"it does not answer":       {func(_ *stage, h *fleet.Host) { h.Up = false }, "h1", "held no-host"},
		"nothing is ordered there": {func(_ *stage, h *fleet.Host) { h.Closed = true }, "h1", "held no-host"},
		"it is to be empty":        {func(_ *stage, h *fleet.Host) { h.Disabled = true }, "h1", "held no-host"},
		"it cannot write": {func(_ *stage, h *fleet.Host) { h.Fence.Access = fleet.AccessCut }, "h1",
			"held no-host"},
		"a person holds it": {func(st *stage, _ *fleet.Host) { st.s.Whole.Holds = []fleet.Hold{{Host: "h2"}} },
			"h1", "held hold"},
		"it fails as a whole": {func(st *stage, _ *fleet.Host) { st.s.Whole.Parents = failing }, "h1", "h2"},
		"it was built there in vain": {func(st *stage, _ *fleet.Host) {
			st.m.Spurned = []fleet.HostName{"h2"}
		}, "h1", "h2"},
		"another has its name there": {func(st *stage, _ *fleet.Host) {
			st.m.Strays = []fleet.Stray{{ID: "x", Host: "h2"}}
			st.seen(marked("x", "h2", fleet.PowerOff, 1))
		}, "h1", "h2"},
		"the policy allows it not": {func(st *stage, _ *fleet.Host) {
			st.s.Spec.Placement.Only = []fleet.Domain{{Kind: fleet.DomainHost, Name: "h1"}}
		}, "h1", "held no-place"},
		"there is one of the fleet": {func(st *stage, h *fleet.Host) {
			st.s.Spec.Placement = fleet.Placement{Spread: fleet.DomainRack, Apart: true}
			h.Place.Rack = "full"
		}, "h1", "held no-place"},
		"its disks are elsewhere": {func(st *stage, _ *fleet.Host) {
			st.m.Volumes = &fleet.Volumes{Host: "h1"}
		}, "h1", "held disk-elsewhere"},
	} {
		for beside, want := range map[bool]string{true: c.want, false: c.alone} {
			st := building(t)
			h := host("h2", "")
			c.spoil(st, &h)
			st.s.Hosts = []fleet.Host{h}
			load := map[fleet.HostName]int{"h1": 1, "f": 1}
			if beside {
				st.s.Hosts = append(st.s.Hosts, host("h1", "b"))
				if st.s.Spec.Placement.Apart {
					load["h1"] = 0
				}
			}
			full := host("f", "full")
			full.Closed = true
			st.s.Hosts = append(st.s.Hosts, full)
			if got := st.builds(load); got != want {
				t.Errorf("%s, beside another %t: %s, want %s", name, beside, got, want)
			}
		}
	}
}

// What is worse comes last: a host on which it was built in vain goes before one that has the machine's name already,
// and that before one in a domain that fails.
func TestTheOrderOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	vain, named, failing := host("vain", ""), host("named", ""), host("failing", "")
	for name, c := range map[string]struct {
		hosts []fleet.Host
		want  string
	}{
		"all":                 {[]fleet.Host{failing, named, vain}, "vain"},
		"none to try again":   {[]fleet.Host{failing, named}, "named"},
		"none but what fails": {[]fleet.Host{failing}, "failing"},
		"one that fits":       {[]fleet.Host{failing, named, vain, host("fits", "")}, "fits"},
	} {
		st := building(t, c.hosts...)
		st.m.Spurned = []fleet.HostName{"vain"}
		st.m.Strays = []fleet.Stray{{ID: "x", Host: "named"}}
		st.s.Whole.Parents = []fleet.Parent{{ID: "i1", Domain: fleet.Domain{Kind: fleet.DomainHost, Name: "failing"}}}
		st.seen(marked("x", "named", fleet.PowerOff, 1))
		if got := st.builds(map[fleet.HostName]int{"vain": 2, "named": 1, "fits": 3}); got != c.want {
			t.Errorf("%s: it is built on %s, want %s", name, got, c.want)
		}
	}
}

// A machine that is moved out of a domain that fails is never built in it again, not even if there is no other place.
func TestAnEvacuationDoesNotStay(t *testing.T) {
	t.Parallel()
	for then, want := range map[fleet.FateAnswer]string{fleet.FateEvacuate: "held no-host", fleet.FateWait: "h1"} {
		st := building(t, host("h1", "a"), host("h2", "a"))
		st.s.Spec.SharedFate = fleet.SharedFate{Then: then, AtLeast: 3}
		st.s.Whole.Parents = []fleet.Parent{{ID: "web/i1", Since: 1, Domain: fleet.Domain{Kind: fleet.DomainRack,
			Name: "a"}}}
		st.m.Incident.Parent = "web/i1"
		st.m.Strays = []fleet.Stray{{ID: "x", Host: "h2"}}
		st.seen(marked("x", "h2", fleet.PowerOff, 1))
		if got := st.builds(map[fleet.HostName]int{"h2": 1}); got != want {
			t.Errorf("the policy is to %s: %s, want %s", then, got, want)
		}
	}
}

// A build in vain tries another host at once, the first time and if there is one; then it has to wait as long as after
// any attempt.
func TestABuildInVainGoesElsewhereAtOnce(t *testing.T) {
	t.Parallel()
	const atOnce, later = "repair-ended call-failed; over, again in 500ms",
		"repair-ended call-failed; held backoff; over, again in 5s"
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"the first time":            {func(*stage) {}, atOnce},
		"the second time":           {func(st *stage) { st.m.Spurned = []fleet.HostName{"h1"} }, later},
		"on that host again":        {func(st *stage) { st.m.Spurned = []fleet.HostName{"h2"} }, later},
		"there is no other":         {func(st *stage) { st.s.Hosts = st.s.Hosts[1:] }, later},
		"the other does not answer": {func(st *stage) { st.s.Hosts[0].Up = false }, later},
		"the provider chooses hosts": {func(st *stage) {
			st.s.Hosts = []fleet.Host{{Name: "cloud", Up: true,
				Closed: true}}
		}, atOnce},
		"it may appear yet": {func(st *stage) {
			st.m.Anchor = &fleet.Anchor{Host: "h2", Until: hour + 1}
		}, later},
		"a first build": {func(st *stage) {
			st.m.Repair.Kind, st.m.Incident = fleet.RepairBuild, nil
			st.m.Repair.Aim = fleet.AimAt(fleet.Incarnation{})
		}, atOnce},
	} {
		st := calling[fleet.OpCreate](t)
		c.set(st)
		st.ends(fleet.OutcomeFailed)
		st.want(name, st.round(), c.want)
		if !slices.Contains(st.m.Spurned, "h2") {
			t.Errorf("%s: h2 is as good as any: %v", name, st.m.Spurned)
		}
	}
}

// Only what a build itself shows speaks against its host: it failed there, or what was built there never was healthy.
func TestWhatSpeaksAgainstAHost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage) string
		want bool
	}{
		"the build fails": {func(st *stage) string {
			st.ends(fleet.OutcomeFailed)
			return st.round()
		}, true},
		"the name is taken": {func(st *stage) string {
			st.ends(fleet.OutcomeConflict)
			return st.round()
		}, false},
		"what it built is never healthy": {func(st *stage) string {
			st.ends(fleet.OutcomeDone)
			st.round()
			st.m.Health = fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: fleet.CauseChecks}
			st.due()
			st.s.Now.Mono = st.m.Repair.Deadline
			return st.round()
		}, true},
		"what it built was healthy once": {func(st *stage) string {
			st.ends(fleet.OutcomeDone)
			st.round()
			st.m.Current.Certified = true
			st.m.Health = fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: fleet.CauseChecks}
			st.s.Now.Mono = st.m.Repair.Deadline
			return st.round()
		}, false},
	} {
		st := calling[fleet.OpCreate](t)
		c.set(st)
		if got := slices.Contains(st.m.Spurned, "h2"); got != c.want {
			t.Errorf("%s: h2 is avoided: %t, want %t; %s", name, got, c.want, st.outline())
		}
	}
}

// What stands in the way of a build has a name: the weightiest reason that any host gives.
func TestWhyThereIsNoPlace(t *testing.T) {
	t.Parallel()
	down, far := host("h1", "a"), host("h2", "b")
	down.Up = false
	for name, c := range map[string]struct {
		hosts []fleet.Host
		set   func(*stage)
		want  string
	}{
		"there are no hosts": {nil, func(*stage) {}, "held no-host"},
		"none answers":       {[]fleet.Host{down}, func(*stage) {}, "held no-host"},
		"the disks are on one that is down": {[]fleet.Host{down, far}, func(st *stage) {
			st.m.Volumes = &fleet.Volumes{Host: "h1"}
		}, "held disk-elsewhere"},
		"the policy allows the one that is down": {[]fleet.Host{down, far}, func(st *stage) {
			st.s.Spec.Placement.Only = []fleet.Domain{{Kind: fleet.DomainRack, Name: "a"}}
		}, "held no-place"},
		"one has the disks, and the other is allowed": {[]fleet.Host{host("h1", "a"), far}, func(st *stage) {
			st.m.Volumes = &fleet.Volumes{Host: "h1"}
			st.s.Spec.Placement.Only = []fleet.Domain{{Kind: fleet.DomainRack, Name: "b"}}
		}, "held no-place"},
		"a person holds the one with the disks": {[]fleet.Host{host("h1", "a"), far}, func(st *stage) {
			st.m.Volumes, st.s.Whole.Holds = &fleet.Volumes{Host: "h1"}, []fleet.Hold{{Host: "h1"}}
		}, "held hold"},
	} {
		st := building(t, c.hosts...)
		c.set(st)
		if got := st.builds(map[fleet.HostName]int{}); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// While a build waits for a place, what a person orders meanwhile counts for it, since nothing is under way; and a
// first build stops where another installation shows itself.
func TestABuildThatWaitsIsHeldAnew(t *testing.T) {
	t.Parallel()
	waiting := []fleet.Reason{fleet.ReasonNoHost, fleet.ReasonNoPlace, fleet.ReasonDiskElsewhere,
		fleet.ReasonHostUnasked, fleet.ReasonHold, fleet.ReasonBrake}
	for _, why := range waiting {
		for name, c := range map[string]struct {
			set  func(*stage)
			want string
		}{
			"a person holds it": {func(st *stage) { st.s.Whole.Holds = []fleet.Hold{{Machine: "web-1"}} }, "held hold"},
			"the brake is on":   {func(st *stage) { st.s.Brake.Engaged = true }, "held brake"},
			"the brake is on, and it is a first build": {func(st *stage) {
				st.s.Brake.Engaged, st.m.Repair.Kind = true, fleet.RepairBuild
			}, "h2"},
			"a person's brake, and it is a first build": {func(st *stage) {
				st.s.Brake.By, st.m.Repair.Kind = "ann", fleet.RepairBuild
			}, "held brake"},
			"nothing": {func(*stage) {}, "h2"},
		} {
			st := building(t, host("h2", ""))
			st.m.Waiting = why
			c.set(st)
			if got := st.builds(map[fleet.HostName]int{}); got != c.want {
				t.Errorf("it waits for %s, and %s: %s, want %s", why, name, got, c.want)
			}
		}
	}
	st := building(t, host("h2", ""))
	st.s.Brake.Engaged = true
	if got := st.builds(map[fleet.HostName]int{}); got != "h2" {
		t.Errorf("what is under way is held: %s", got)
	}
	st = building(t, host("h2", ""))
	st.s.Whole.Foreign, st.m.Repair.Kind = []fleet.Foreign{{Installation: "theirs"}}, fleet.RepairBuild
	if got := st.builds(map[fleet.HostName]int{}); got != "held another-installation" {
		t.Errorf("another hale has one of its machines: %s", got)
	}
}

// L8: a build without a place waits ever longer, and a person is told of why.
func TestABuildWithoutAPlaceIsTold(t *testing.T) {
	t.Parallel()
	st := building(t)
	for n := 1; n < 10; n++ {
		st.round()
		st.due()
	}
	st.want("ten times", st.round(), "paged no-host; act in 30s")
	st.due()
	st.want("and on", st.round(), "act in 30s")
}

// A machine that is to go, by its name, is not built again, whatever began.
func TestAMachineThatIsToGoIsNotBuilt(t *testing.T) {
	t.Parallel()
	for named, want := range map[bool]string{true: "repair-ended overruled; over", false: "CALL create new; act"} {
		st := building(t, host("h2", ""))
		st.s.Whole.Ledger = &fleet.Ledger{Removals: []fleet.Removal{{Machine: "web-1", Order: "o1", Named: named}}}
		st.want("it is to go", st.round(), want)
	}
}

// L1: nothing is built while another instance with the machine's mark may run, or may hold its disks.
func TestL1NothingIsBuiltBesideAnother(t *testing.T) {
	t.Parallel()
	theirs := marked("x", "h2", fleet.PowerRunning, 1)
	theirs.Mark.Installation = "theirs"
	certified := marked("x", "h2", fleet.PowerRunning, 1)
	certified.Mark.Certified = true
	off := certified
	off.Power = fleet.PowerOff
	for name, c := range map[string]struct {
		shows fleet.Instance
		disks bool
		want  string
	}{
		"one that runs":               {certified, false, "repair-ended rival; held backoff; over, again in 5s"},
		"one that is off":             {off, false, "CALL create new; act"},
		"one of another hale":         {theirs, false, "repair-ended rival; held backoff; over, again in 5s"},
		"one that may have its disks": {certified, true, "repair-ended disk-in-use; held backoff; over, again in 5s"},
	} {
		st := building(t, host("h2", ""))
		if c.disks {
			st.m.Volumes = &fleet.Volumes{Host: "h2", Made: []string{"data"}}
		}
		st.seen(c.shows)
		st.want(name, st.round(), c.want)
	}
}

// L1: a machine that is about to have an instance, as one that was found, is rivalled by any other, and not by that.
func TestL1WhoIsARival(t *testing.T) {
	t.Parallel()
	for id, want := range map[fleet.InstanceID]bool{"x": false, "y": true, "": true} {
		st := building(t)
		st.seen(marked("x", "h2", fleet.PowerRunning, 1))
		if got := st.work().RivalledBeside(id); got != want {
			t.Errorf("beside %q: %t, want %t", id, got, want)
		}
		st.m.Strays, st.view.Seen = []fleet.Stray{{ID: "x"}}, nil
		if got := st.work().RivalledBeside(id); got != want {
			t.Errorf("beside %q, of a stray that nothing is known of: %t, want %t", id, got, want)
		}
	}
}
