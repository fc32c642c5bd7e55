package leaving_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/leaving"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// machines are healthy, on hosts h1, h2 and so on by their numbers, the first one built last.
func machines(n int) []situation.View {
	out := make([]situation.View, n)
	for i := range out {
		id := fleet.InstanceID("i" + strconv.Itoa(i+1))
		v := situation.View{Machine: belief.Machine{Name: fleet.Name("web").Machine(i + 1),
			Current: belief.Incarnation{ID: id, Host: fleet.HostName("h" + strconv.Itoa(i+1)), Certified: true},
			Health:  belief.Health{Verdict: belief.VerdictHealthy}}}
		v.Seen = []fleet.Sighting{{Instance: fleet.Instance{ID: id,
			Mark: fleet.Mark{Built: time.Unix(int64(1000-i), 0)}}}}
		out[i] = v
	}
	return out
}

// scene is of a fleet with the rules.
func scene(views []situation.View, rules ...policy.LeaveRule) leaving.Scene {
	hosts := make([]fleet.Host, len(views))
	for i := range hosts {
		zone := "z1"
		if i%2 == 1 {
			zone = "z2"
		}
		hosts[i] = fleet.Host{Name: fleet.HostName("h" + strconv.Itoa(i+1)), Place: fleet.Place{Zone: zone}}
	}
	never := func(*belief.Machine) bool { return false }
	return leaving.Scene{
		Spec:     &policy.Spec{Name: "web", Size: len(views), Sizing: &policy.Sizing{Leave: rules}},
		Machines: views, Hosts: hosts, Fit: func(m *belief.Machine) bool { return !never(m) }, Gone: never,
	}
}

// goes writes who goes, and why, in short.
func goes(s leaving.Scene, n int) string {
	var out []string
	for _, l := range leaving.Choose(s, n) {
		out = append(out, strings.TrimPrefix(string(l.Machine), "web-")+" "+string(l.Why))
	}
	return strings.Join(out, ", ")
}

func fails(v *situation.View) {
	v.Machine.Health.Verdict, v.Machine.Incident = belief.VerdictUnhealthy, &belief.Incident{}
}

func TestWhoGoesByWhichRule(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules []policy.LeaveRule
		edit  func(*leaving.Scene)
		want  string
	}{
		"no rule":         {nil, nil, "4 highest-number, 3 highest-number"},
		"the oldest":      {[]policy.LeaveRule{policy.LeaveOldest}, nil, "4 oldest, 3 oldest"},
		"the newest":      {[]policy.LeaveRule{policy.LeaveNewest}, nil, "1 newest, 2 newest"},
		"who fails first": {nil, func(s *leaving.Scene) { fails(&s.Machines[1]) }, "2 failing, 4 highest-number"},
		"who has nothing first": {nil, func(s *leaving.Scene) {
			fails(&s.Machines[1])
			s.Machines[0].Machine.Current = belief.Incarnation{}
		}, "1 failing, 2 failing"},
		"an older template": {[]policy.LeaveRule{policy.LeaveUnhealthy, policy.LeaveOldestTemplate, policy.LeaveNewest},
			func(s *leaving.Scene) {
				for i := range s.Machines {
					s.Machines[i].Machine.Current.Edition = uint64(i % 3)
				}
			}, "1 oldest-template, 4 oldest-template"},
		"the rule that decided, and not the one between the last two": {
			[]policy.LeaveRule{policy.LeaveUnhealthy, policy.LeaveOldestTemplate, policy.LeaveOldest},
			func(s *leaving.Scene) { // web-3 and web-4 were built together
				s.Machines[2].Seen[0].Instance.Mark.Built = s.Machines[3].Seen[0].Instance.Mark.Built
			}, "4 oldest, 3 oldest"},
		"the least busy": {[]policy.LeaveRule{policy.LeaveLeastBusy}, func(s *leaving.Scene) {
			s.Spec.Sizing.Busy = "load"
			s.Gauges = []fleet.Gauge{{Metric: "load", Each: []fleet.MachineValue{
				{Machine: "web-1", Value: 9}, {Machine: "web-2", Value: 1}, {Machine: "web-4", Value: 5}}}}
		}, "2 least-busy, 4 least-busy"},
		"protected ones last": {nil, func(s *leaving.Scene) { s.Spec.Protected = []int{4} },
			"3 highest-number, 2 highest-number"},
		"those that stay last": {nil, func(s *leaving.Scene) { s.Spec.Sizing.Stay = []int{3, 4} },
			"2 highest-number, 1 highest-number"},
		"not who may not": {nil, func(s *leaving.Scene) {
			s.Fit = func(m *belief.Machine) bool { return m.Name == "web-1" }
		}, "1 highest-number"},
		"not who goes already": {nil, func(s *leaving.Scene) {
			s.Gone = func(m *belief.Machine) bool { return m.Name == "web-4" }
		}, "3 highest-number, 2 highest-number"},
	} {
		s := scene(machines(4), c.rules...)
		if c.edit != nil {
			c.edit(&s)
		}
		if got := goes(s, 2); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestDomainsAreKeptEven(t *testing.T) {
	t.Parallel()
	s := scene(machines(5), policy.LeaveNewest)
	for i := range s.Hosts {
		s.Hosts[i].Place.Zone = []string{"z2", "z2", "z1", "z1", "z1"}[i]
	}
	s.Spec.Sizing.Even = fleet.DomainZone
	if got := goes(s, 4); got != "3 even, 1 newest, 4 even, 2 newest" {
		t.Error(got)
	}
	fails(&s.Machines[0])
	s.Spec.Sizing.Leave = []policy.LeaveRule{policy.LeaveUnhealthy, policy.LeaveNewest}
	if got := goes(s, 2); got != "1 failing, 3 even" {
		t.Errorf("what fails goes even where there are few: %s", got)
	}
}

func TestTheLastHealthyOneOfADomainStays(t *testing.T) {
	t.Parallel()
	s := scene(machines(5), policy.LeaveHighestNumber)
	s.Spec.Placement.Spread, s.Spare = fleet.DomainZone, true
	s.Machines[1].Machine.Health.Verdict = belief.VerdictStarting // web-4 is the last healthy one of z2
	if got := goes(s,
		9); got != "5 highest-number, 3 highest-number, 4 highest-number, 2 highest-number, 1 highest-number" {
		t.Error(got) // once the other domain has no more than one, they are equal again
	}
	s.Fit = func(m *belief.Machine) bool { return m.Name == "web-4" }
	if got := goes(s, 1); got != "" {
		t.Errorf("%s goes", got)
	}
	s.Spare = false
	if got := goes(s, 1); got != "4 highest-number" {
		t.Errorf("a person's word is not bound by it: %s", got)
	}
}

// A fleet of three to five has four machines, and one of them is being rebuilt: until it is back no healthy one goes.
func TestAsManyHealthyOnesStayAsThereAreToBe(t *testing.T) {
	t.Parallel()
	s := scene(machines(4), policy.LeaveNewest)
	s.Spec.Sizing.Min, s.Spare = 3, true
	if got := goes(s, 9); got != "1 newest" {
		t.Errorf("of four healthy ones %q goes, and three are to be there at least", got)
	}
	fails(&s.Machines[1])
	s.Fit = func(m *belief.Machine) bool { return m.Name != "web-2" }
	if got := goes(s, 1); got != "" {
		t.Errorf("%q goes, and two healthy ones would be left", got)
	}
	s.Fit = func(*belief.Machine) bool { return true }
	if got := goes(s, 1); got != "2 failing" {
		t.Errorf("%q goes, and not what fails", got)
	}
	if s.Spare = false; goes(s, 2) == "2 failing" {
		t.Error("a person's word is bound by it")
	}
}

func TestADrawingEndsAlike(t *testing.T) {
	t.Parallel()
	s := scene(machines(9), policy.LeaveRandom)
	first := goes(s, 9)
	slices.Reverse(s.Machines)
	if second := goes(s, 9); first != second {
		t.Errorf("%s, and then %s", first, second)
	}
	if strings.HasPrefix(first, "9 ") && strings.Contains(first, "9 random, 8 random, 7") {
		t.Errorf("%s is no drawing", first)
	}
}
