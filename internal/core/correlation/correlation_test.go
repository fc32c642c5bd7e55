package correlation_test

import (
	"fmt"
	"slices"
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/correlation"
	"hale/internal/core/fleet"

	"pgregory.net/rapid"
)

// estate is a fleet that is spread evenly over hosts, which stand in racks, which stand in rooms.
type estate struct {
	hosts    []fleet.Host
	machines []belief.Incarnation
}

func newEstate(rooms, racks, hosts, machines int) estate {
	var e estate
	for room := range rooms {
		for rack := range racks {
			for host := range hosts {
				name := fmt.Sprintf("h%d%d%d", room, rack, host)
				e.hosts = append(e.hosts, fleet.Host{Name: fleet.HostName(name), Up: true, Place: fleet.Place{
					Rack: fmt.Sprintf("r%d%d", room, rack), Room: fmt.Sprintf("m%d", room)}})
				for m := range machines {
					e.machines = append(e.machines, belief.Incarnation{
						ID:      fleet.InstanceID(fmt.Sprintf("%s-%d", name, m)),
						Host:    fleet.HostName(name),
						Network: "default"})
				}
			}
		}
	}
	return e
}

// census counts the estate with some machines in a state of their own.
func (e estate) census(states map[int]correlation.State) *correlation.Census {
	c := new(correlation.Census)
	c.Begin(e.hosts)
	for i := range e.machines {
		c.Mark(c.Add(&e.machines[i]), states[i])
	}
	return c
}

// in returns the machines in the domain.
func (e estate) in(d fleet.Domain) []int {
	var out []int
	for i, m := range e.machines {
		h := e.hosts[slices.IndexFunc(e.hosts, func(h fleet.Host) bool { return h.Name == m.Host })]
		if d.Contains(h) || d.Kind == fleet.DomainNetwork && m.Network == d.Name ||
			d.Kind == fleet.DomainStorage && m.Storage == d.Name {
			out = append(out, i)
		}
	}
	return out
}

func failing(indices ...[]int) map[int]correlation.State {
	states := map[int]correlation.State{}
	for _, list := range indices {
		for _, i := range list {
			states[i] = correlation.Failing
		}
	}
	return states
}

func host(name string) fleet.Domain { return fleet.Domain{Kind: fleet.DomainHost, Name: name} }
func rack(name string) fleet.Domain { return fleet.Domain{Kind: fleet.DomainRack, Name: name} }
func room(name string) fleet.Domain { return fleet.Domain{Kind: fleet.DomainRoom, Name: name} }

func TestWhoIsToBlame(t *testing.T) {
	t.Parallel()
	e := newEstate(3, 4, 3, 5) // 180 machines: 5 on a host, 15 in a rack, 60 in a room
	storage := newEstate(3, 4, 3, 5)
	for i := range storage.machines {
		storage.machines[i].Storage = fmt.Sprintf("nas%d", i%5) // one machine of each host
	}
	small := newEstate(1, 2, 1, 2)
	twin := newEstate(2, 2, 1, 10) // each rack has one host
	nas2 := fleet.Domain{Kind: fleet.DomainStorage, Name: "nas2"}
	for reason, c := range map[string]struct {
		estate estate
		states map[int]correlation.State
		want   fleet.Domain // zero: none
	}{
		"nothing fails":                             {e, nil, fleet.Domain{}},
		"a host is dead":                            {e, failing(e.in(host("h111"))), host("h111")},
		"most of a host":                            {e, failing(e.in(host("h111"))[:3]), host("h111")},
		"two of a host are too few":                 {e, failing(e.in(host("h111"))[:2]), fleet.Domain{}},
		"a rack is dead, and so are its hosts":      {e, failing(e.in(rack("r21"))), rack("r21")},
		"a rack but for one machine":                {e, failing(e.in(rack("r21"))[1:]), rack("r21")},
		"less than half of a rack, scattered in it": {e, failing([]int{0, 5, 10, 1, 6, 11}), fleet.Domain{}},
		"a room is dead":                            {e, failing(e.in(room("m1"))), room("m1")},
		"a rack and a stranger": {
			e,
			failing(e.in(rack("r00")), e.in(host("h222"))[:1]),
			rack("r00"),
		},
		"everything fails: that is no domain's": {
			e,
			failing(e.in(room("m0")), e.in(room("m1")), e.in(room("m2"))),
			fleet.Domain{},
		},
		"one of each rack":                    {e, failing([]int{0, 15, 30, 45, 60, 75, 90, 105, 120}), fleet.Domain{}},
		"a storage that several hosts share":  {storage, failing(storage.in(nas2)), nas2},
		"of equals the most specific":         {twin, failing(twin.in(rack("r01"))), host("h010")},
		"a small fleet, where half is chance": {small, failing(small.in(host("h000"))), fleet.Domain{}},
	} {
		got := c.estate.census(c.states).Blame(correlation.Question{AtLeast: 3})
		if got.Domain != c.want || got.Concentrated != !c.want.None() {
			t.Errorf("%s: blamed %+v, want %v", reason, got, c.want)
		}
	}
}

// In whatever order the machines are counted, the same domain is blamed, also where nothing but the name tells two
// apart.
func TestTheOrderOfTheMachinesDoesNotMatter(t *testing.T) {
	t.Parallel()
	e := newEstate(3, 4, 3, 5)
	var failures []int
	for i, m := range e.machines {
		if m.Host == "h101" || m.Host == "h010" {
			failures = append(failures, i)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		order := make([]int, len(e.machines))
		for i := range order {
			order[i] = i
		}
		var c correlation.Census
		c.Begin(e.hosts)
		states := failing(failures)
		for _, i := range rapid.Permutation(order).Draw(t, "order") {
			c.Mark(c.Add(&e.machines[i]), states[i])
		}
		if got := c.Blame(correlation.Question{AtLeast: 3}); got.Domain != host("h010") {
			t.Errorf("%+v is blamed", got)
		}
	})
}

func TestSuspectsCountOnlyWhereAskedFor(t *testing.T) {
	t.Parallel()
	e := newEstate(3, 4, 3, 5)
	states := map[int]correlation.State{}
	for _, i := range e.in(rack("r21")) {
		states[i] = correlation.Suspect
	}
	states[e.in(rack("r21"))[0]] = correlation.Failing
	c := e.census(states)
	if f := c.Blame(correlation.Question{AtLeast: 3}); f.Concentrated {
		t.Errorf("one failure and suspects: %+v", f)
	}
	var named []fleet.Domain
	for _, f := range c.Suspicions(correlation.Question{AtLeast: 3, Suspects: true}) {
		named = append(named, f.Domain)
	}
	if !slices.Contains(named, rack("r21")) {
		t.Errorf("the rack is not foreseen: %v", named)
	}
}

func TestWhatIsKnownIsLeftOut(t *testing.T) {
	t.Parallel()
	e := newEstate(3, 4, 3, 5)
	c := e.census(failing(e.in(rack("r00")), e.in(rack("r21"))))
	first := c.Blame(correlation.Question{AtLeast: 3})
	second := c.Blame(correlation.Question{AtLeast: 3, Without: []fleet.Domain{first.Domain}})
	third := c.Blame(correlation.Question{AtLeast: 3, Without: []fleet.Domain{first.Domain, second.Domain}})
	if first.Domain != rack("r00") || second.Domain != rack("r21") || third.Concentrated {
		t.Errorf("blamed %v, %v and %v", first.Domain, second.Domain, third)
	}
}

func TestAWiderDomainCoversANarrowerOne(t *testing.T) {
	t.Parallel()
	e := newEstate(3, 4, 3, 5)
	c := e.census(failing(e.in(rack("r21"))))
	for reason, ok := range map[string]bool{
		"a rack covers its host":          c.Covers(rack("r21"), host("h210")),
		"a host does not cover its rack":  !c.Covers(host("h210"), rack("r21")),
		"a rack does not cover itself":    !c.Covers(rack("r21"), rack("r21")),
		"a room adds nothing to its rack": !c.Covers(room("m2"), rack("r21")),
		"strangers":                       !c.Covers(room("m0"), rack("r21")),
	} {
		if !ok {
			t.Error(reason)
		}
	}
}

func TestAMachineThatLiesNowhereSharesNoFate(t *testing.T) {
	t.Parallel()
	var c correlation.Census
	c.Begin(nil)
	if site := c.Add(&belief.Incarnation{}); site != -1 || c.Within(site, host("h1")) {
		t.Errorf("it lies at site %d", site)
	}
	if f := c.Look(host("h1"), correlation.Question{}); f.Members != 0 || f.Stands() {
		t.Errorf("an empty domain looks like %+v", f)
	}
}

// Hosts that fail at the same moment hide each other where each is held against the others; together they stand out.
func TestSeveralDomainsAtOnceDoNotHideEachOther(t *testing.T) {
	t.Parallel()
	e := newEstate(1, 1, 20, 3) // 60 machines on 20 hosts
	few := newEstate(1, 1, 6, 5)
	pairs := newEstate(1, 1, 20, 2)
	for reason, c := range map[string]struct {
		estate estate
		failed []string
		more   []int // that fail besides
		want   []string
	}{
		"one of twenty":   {e, []string{"h003"}, nil, []string{"h003"}},
		"three of twenty": {e, []string{"h003", "h007", "h0011"}, nil, []string{"h0011", "h003", "h007"}},
		"three of twenty, and a fourth": {e, []string{"h003", "h007", "h0011"}, []int{0},
			[]string{"h0011", "h003", "h007"}},
		"two of six":                 {few, []string{"h001", "h004"}, nil, []string{"h001", "h004"}},
		"pairs are too few for each": {pairs, []string{"h001", "h004", "h006", "h009"}, nil, nil},
		"one pair is too few":        {pairs, []string{"h001"}, nil, nil},
		"five of six": {few, []string{"h000", "h001", "h002", "h003", "h004"}, nil,
			[]string{"h000", "h001", "h002", "h003", "h004"}},
	} {
		var all [][]int
		for _, h := range c.failed {
			all = append(all, c.estate.in(host(h)))
		}
		var got []string
		for _, f := range c.estate.census(failing(append(all, c.more)...)).Causes(correlation.Question{AtLeast: 3}) {
			got = append(got, f.Domain.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: blamed %v, want %v", reason, got, c.want)
		}
	}
}

// What is blamed stays so for as long as its own machines say so, whatever fails elsewhere.
func TestWhatFailsElsewhereChangesNoMind(t *testing.T) {
	t.Parallel()
	e := newEstate(1, 1, 6, 5)
	dead := e.in(host("h001"))
	for more := range 20 {
		var others []int
		for i := range e.machines {
			if len(others) < more && !slices.Contains(dead, i) {
				others = append(others, i)
			}
		}
		if f := e.census(failing(dead, others)).Look(host("h001"), correlation.Question{AtLeast: 3}); !f.Stands() {
			t.Errorf("with %d failures elsewhere, the dead host is no longer blamed: %+v", more, f)
		}
	}
	if f := e.census(failing(dead[:2])).Look(host("h001"), correlation.Question{AtLeast: 3}); f.Stands() {
		t.Errorf("two of five are left, and the host is blamed still: %+v", f)
	}
}

// The promise of the package, counted: failures that are scattered at random are blamed on a domain in at most one of a
// hundred draws, whatever the estate looks like.
func TestChanceIsHardlyEverBlamed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := newEstate(rapid.IntRange(1, 3).Draw(t, "rooms"), rapid.IntRange(1, 4).Draw(t, "racks"),
			rapid.IntRange(1, 5).Draw(t, "hosts"), rapid.IntRange(1, 8).Draw(t, "machines"))
		size := len(e.machines)
		count := rapid.IntRange(0, size).Draw(t, "failures")
		die := rapid.Uint64().Draw(t, "die")
		const draws = 600
		blamed := 0
		for range draws {
			if len(e.census(failing(scatter(&die, size, count))).Causes(correlation.Question{AtLeast: 3})) > 0 {
				blamed++
			}
		}
		// One in a hundred is the bound; 18 of 600 would be five standard deviations above it.
		if blamed > 18 {
			t.Errorf("%d of %d scatterings of %d failures over %d machines were blamed", blamed, draws, count, size)
		}
	})
}

// scatter draws count of size at random, by a generator that is its own (G. Marsaglia, "Xorshift RNGs", 2003).
func scatter(die *uint64, size, count int) []int {
	all := make([]int, size)
	for i := range all {
		all[i] = i
	}
	*die |= 1
	for i := range count {
		*die ^= *die << 13
		*die ^= *die >> 7
		*die ^= *die << 17
		k := i + int(*die%uint64(size-i))
		all[i], all[k] = all[k], all[i]
	}
	return all[:count]
}

// Three quarters of the machines in forty of a hundred racks: the racks are blamed, all of them and nothing else,
// though each of their hosts would be too improbable for a float64 as well.
func TestManyRacksAreBlamedRatherThanTheirHosts(t *testing.T) {
	t.Parallel()
	e := newEstate(1, 100, 4, 25)
	var failed []int
	want := map[fleet.Domain]bool{}
	for n := range 40 {
		in := e.in(rack(fmt.Sprintf("r0%d", n)))
		want[rack(fmt.Sprintf("r0%d", n))] = true
		for i, m := range in {
			if i%4 != 3 {
				failed = append(failed, m)
			}
		}
	}
	if len(failed) != 3000 {
		t.Fatalf("%d fail, want 3000", len(failed))
	}
	got := e.census(failing(failed)).Causes(correlation.Question{AtLeast: 3})
	for _, f := range got {
		if !want[f.Domain] {
			t.Errorf("%v is blamed", f.Domain)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d domains are blamed, want %d", len(got), len(want))
	}
}

// Two racks of a large estate are down for two causes, each so far beyond chance that no number is as small: the one
// that lost more is blamed, whatever they are called.
func TestOfTwoBeyondAllChanceTheLargerIsBlamed(t *testing.T) {
	t.Parallel()
	e := newEstate(1, 10, 9, 100)
	for lost, spared := range map[string]string{"r00": "r09", "r09": "r00"} {
		some := e.in(rack(spared))
		c := e.census(failing(e.in(rack(lost)), some[:len(some)*3/4]))
		if got := c.Blame(correlation.Question{AtLeast: 3}); got.Domain != rack(lost) || got.Chance != 0 {
			t.Errorf("blamed is %v, by a chance of %g, and not %s", got.Domain, got.Chance, lost)
		}
	}
}
