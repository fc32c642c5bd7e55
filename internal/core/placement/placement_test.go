package placement_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/placement"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

const now = fleet.Instant(time.Hour)

// site is where a machine that has no instance is to be built.
type site struct {
	m, was belief.Machine // as it stands, and as it was before this round
	s      guard.Situation
	load   map[fleet.HostName]int
}

// among is the site with the hosts, which have so many instances of the fleet.
func among(load map[fleet.HostName]int, hosts ...fleet.Host) *site {
	m := belief.Machine{Name: "web-1", Incident: &belief.Incident{ID: "web-1/1"}}
	state := situation.State{Now: fleet.Now{Mono: now}, Hosts: hosts}
	return &site{m: m, was: m, load: load, s: guard.Situation{State: state}}
}

// chosen returns the host for the repair with the id, or why there is none.
func (st *site) chosen(id string) string {
	c := placement.Of(&st.m, &st.was, &st.s, st.load)
	if host, ok := c.Host(id); ok {
		return string(host)
	}
	return "held " + string(c.Nowhere())
}

// fails has a domain fail as a whole, and the machine with it.
func (st *site) fails(kind fleet.DomainKind, name string) {
	st.s.Whole.Parents = []belief.Parent{{ID: "web/i1", Since: 1, Domain: fleet.Domain{Kind: kind, Name: name}}}
}

// host is one that answers, in a rack.
func host(name fleet.HostName, rack string) fleet.Host {
	return fleet.Host{Name: name, Up: true, Place: fleet.Place{Rack: rack}}
}

// Instances are spread: over the domains of the policy first, and then over hosts.
func TestInstancesAreSpread(t *testing.T) {
	t.Parallel()
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
		st := among(c.load, host("a1", "a"), host("a2", "a"), host("b1", "b"), host("b2", "b"))
		st.s.Spec.Placement.Spread = c.spread
		if got := st.chosen("r1"); !slices.Contains(strings.Fields(c.want), got) {
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
		there := among(nil, host("a1", ""), host("a2", ""), host("a3", "")).chosen(id)
		back := among(nil, host("a3", ""), host("a2", ""), host("a1", "")).chosen(id)
		if there != back {
			t.Errorf("%s is built on %s, and on %s", id, there, back)
		}
		chosen[there]++
	}
	if len(chosen) != 3 {
		t.Errorf("they are built on %v", chosen)
	}
}

// Instances that are to be apart are: no second one is built in a domain. The machine's own old instance, which still
// counts where it was before this round, is not in the way, nor is one that was only ordered.
func TestInstancesAreKeptApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		was  belief.Machine
		load int
		want string
	}{
		"there is one":  {belief.Machine{}, 1, "held no-place"},
		"there is none": {belief.Machine{}, 0, "h1"},
		"it was there":  {belief.Machine{Current: belief.Incarnation{ID: "old", Host: "h1"}}, 1, "h1"},
		"it was elsewhere": {belief.Machine{Current: belief.Incarnation{ID: "old", Host: "h9"}}, 1,
			"held no-place"},
		"it, and another": {belief.Machine{Current: belief.Incarnation{ID: "old", Host: "h1"}}, 2,
			"held no-place"},
		"it was to appear there": {belief.Machine{Anchor: &belief.Anchor{Host: "h1"}}, 1, "h1"},
	} {
		for _, by := range []fleet.DomainKind{"", fleet.DomainRack} {
			st := among(map[fleet.HostName]int{"h1": c.load}, host("h1", "a"))
			st.s.Spec.Placement = policy.Placement{Spread: by, Apart: true}
			st.was = c.was
			if got := st.chosen("r1"); got != c.want {
				t.Errorf("%s, by %q: %s, want %s", name, by, got, c.want)
			}
		}
	}
}

// Some hosts are taken only if there is no other, and some never.
func TestWhichHostIsTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil       func(*site, *fleet.Host) // h2, which is empty
		want, alone string                   // beside h1, which has an instance, and alone
	}{
		"as it should be":        {func(*site, *fleet.Host) {}, "h2", "h2"},
		"it does not answer":     {func(_ *site, h *fleet.Host) { h.Up = false }, "h1", "held no-host"},
		"nothing is built there": {func(_ *site, h *fleet.Host) { h.Closed = true }, "h1", "held no-host"},
		"it is to be empty":      {func(_ *site, h *fleet.Host) { h.Disabled = true }, "h1", "held no-host"},
		"it cannot write": {func(_ *site, h *fleet.Host) { h.Fence.Access = fleet.AccessCut },
			"h1", "held no-host"},
		"a person holds it": {func(st *site, _ *fleet.Host) { st.s.Whole.Holds = []belief.Hold{{Host: "h2"}} },
			"h1", "held hold"},
		"it fails as a whole": {func(st *site, _ *fleet.Host) { st.fails(fleet.DomainHost, "h2") }, "h1", "h2"},
		"it was built there in vain": {func(st *site, _ *fleet.Host) { st.m.Spurned = []fleet.HostName{"h2"} },
			"h1", "h2"},
		"another has its name there": {func(st *site, _ *fleet.Host) {
			st.m.Strays = []belief.Stray{{ID: "x", Host: "h2"}}
		}, "h1", "h2"},
		"the policy allows it not": {func(st *site, _ *fleet.Host) {
			st.s.Spec.Placement.Only = []fleet.Domain{{Kind: fleet.DomainHost, Name: "h1"}}
		}, "h1", "held no-place"},
		"its disks are elsewhere": {func(st *site, _ *fleet.Host) { st.m.Volumes = &belief.Volumes{Host: "h1"} },
			"h1", "held disk-elsewhere"},
	} {
		for beside, want := range map[bool]string{true: c.want, false: c.alone} {
			st := among(map[fleet.HostName]int{"h1": 1})
			h := host("h2", "")
			c.spoil(st, &h)
			if st.s.Hosts = []fleet.Host{h}; beside {
				st.s.Hosts = append(st.s.Hosts, host("h1", ""))
			}
			if got := st.chosen("r1"); got != want {
				t.Errorf("%s, beside another %t: %s, want %s", name, beside, got, want)
			}
		}
	}
}

// A host that was settled before, as by a call without an answer, is taken only if something may be built there.
func TestWhereSomethingMayBeOrdered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*site, *fleet.Host)
		want  bool
	}{
		"as it should be":        {func(*site, *fleet.Host) {}, true},
		"it does not answer":     {func(_ *site, h *fleet.Host) { h.Up = false }, false},
		"nothing is built there": {func(_ *site, h *fleet.Host) { h.Closed = true }, false},
		"it is to be empty":      {func(_ *site, h *fleet.Host) { h.Disabled = true }, false},
		"it cannot write":        {func(_ *site, h *fleet.Host) { h.Fence.Access = fleet.AccessCut }, false},
		"a person holds it": {func(st *site, _ *fleet.Host) { st.s.Whole.Holds = []belief.Hold{{Host: "h1"}} },
			false},
		"it is not known": {func(_ *site, h *fleet.Host) { h.Name = "h3" }, false},
	} {
		st := among(nil, host("h1", ""), host("h2", ""))
		c.spoil(st, &st.s.Hosts[0])
		if got := placement.BuildsOn("h1", &st.s); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
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
		"one fits":            {[]fleet.Host{failing, named, vain, host("fits", "")}, "fits"},
		"none":                {[]fleet.Host{failing, named, vain}, "vain"},
		"none to try again":   {[]fleet.Host{failing, named}, "named"},
		"none but what fails": {[]fleet.Host{failing}, "failing"},
	} {
		st := among(map[fleet.HostName]int{"vain": 2, "named": 1, "fits": 3}, c.hosts...)
		st.m.Spurned, st.m.Strays = []fleet.HostName{"vain"}, []belief.Stray{{ID: "x", Host: "named"}}
		st.fails(fleet.DomainHost, "failing")
		if got := st.chosen("r1"); got != c.want {
			t.Errorf("%s: it is built on %s, want %s", name, got, c.want)
		}
	}
}

// A machine that is moved out of a domain that fails is never built in it again, not even if there is no other place.
func TestAnEvacuationDoesNotStay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then   policy.FateAnswer
		parent string
		wait   time.Duration
		want   string
	}{
		"it is to leave":       {policy.FateEvacuate, "web/i1", time.Minute, "held no-host"},
		"it is to leave later": {policy.FateEvacuate, "web/i1", 2 * time.Hour, "h1"},
		"it is to wait":        {policy.FateWait, "web/i1", time.Minute, "h1"},
		"it fails for itself":  {policy.FateEvacuate, "", time.Minute, "h1"},
	} {
		st := among(nil, host("h1", "a"))
		st.s.Spec.SharedFate = policy.SharedFate{Then: c.then, Wait: c.wait}
		st.fails(fleet.DomainRack, "a")
		st.m.Incident.Parent = c.parent
		if got := st.chosen("r1"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What stands in the way of a build has a name: the weightiest reason that any host gives.
func TestWhyThereIsNoPlace(t *testing.T) {
	t.Parallel()
	down, far := host("h1", "a"), host("h2", "b")
	down.Up = false
	only := func(rack string) []fleet.Domain { return []fleet.Domain{{Kind: fleet.DomainRack, Name: rack}} }
	for name, c := range map[string]struct {
		hosts []fleet.Host
		set   func(*site)
		want  string
	}{
		"there are no hosts": {nil, func(*site) {}, "held no-host"},
		"none answers":       {[]fleet.Host{down}, func(*site) {}, "held no-host"},
		"the disks are on one that is down": {[]fleet.Host{down, far}, func(st *site) {
			st.m.Volumes = &belief.Volumes{Host: "h1"}
		}, "held disk-elsewhere"},
		"the policy allows the one that is down": {[]fleet.Host{down, far}, func(st *site) {
			st.s.Spec.Placement.Only = only("a")
		}, "held no-place"},
		"one has the disks, and the other is allowed": {[]fleet.Host{host("h1", "a"), far}, func(st *site) {
			st.m.Volumes, st.s.Spec.Placement.Only = &belief.Volumes{Host: "h1"}, only("b")
		}, "held no-place"},
		"the one that has the disks, and is allowed, is cut": {[]fleet.Host{
			{Name: "h1", Up: true, Fence: fleet.Means{Access: fleet.AccessCut}}, far}, func(st *site) {
			st.m.Volumes = &belief.Volumes{Host: "h1"}
		}, "held no-host"},
		"a person holds the one with the disks": {[]fleet.Host{host("h1", "a"), far}, func(st *site) {
			st.m.Volumes, st.s.Whole.Holds = &belief.Volumes{Host: "h1"}, []belief.Hold{{Host: "h1"}}
		}, "held hold"},
	} {
		st := among(nil, c.hosts...)
		c.set(st)
		if got := st.chosen("r1"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A build in vain tries another host at once, the first time and if there is one.
func TestAHostIsSpurned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set    func(*site)
		atOnce bool
	}{
		"the first time":    {func(*site) {}, true},
		"the second time":   {func(st *site) { st.m.Spurned = []fleet.HostName{"h1"} }, false},
		"that host again":   {func(st *site) { st.m.Spurned = []fleet.HostName{"h2"} }, false},
		"there is no other": {func(st *site) { st.s.Hosts = st.s.Hosts[1:] }, false},
		"the other is down": {func(st *site) { st.s.Hosts[0].Up = false }, false},
		"the provider chooses": {func(st *site) { st.s.Hosts = []fleet.Host{{Name: "cloud", Closed: true}} },
			true},
		"it may appear there still": {func(st *site) { st.m.Anchor = &belief.Anchor{Host: "h2"} }, false},
	} {
		st := among(nil, host("h1", ""), host("h2", ""))
		c.set(st)
		if got := placement.Of(&st.m, &st.was, &st.s, st.load).Spurn("h2"); got != c.atOnce {
			t.Errorf("%s: the next one begins at once: %t, want %t", name, got, c.atOnce)
		}
		if n := len(st.m.Spurned); !slices.Contains(st.m.Spurned, "h2") || n > 1 && st.m.Spurned[0] == st.m.Spurned[1] {
			t.Errorf("%s: it avoids %v", name, st.m.Spurned)
		}
	}
}
