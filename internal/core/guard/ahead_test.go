package guard_test

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// L4: the size of a fleet that selects is the number of machines found, or the expected number if that is larger. While
// hale has found none, the fleet does not serve. A machine that is found and not adopted yet counts, too.
func TestL04AFleetThatSelectsMayNotHaveFoundItsMachines(t *testing.T) {
	t.Parallel()
	machine := func(n int, v belief.Verdict, certified bool) *belief.Machine {
		return &belief.Machine{Name: fleet.Name("db").Machine(n), Health: belief.Health{Verdict: v},
			Current: belief.Incarnation{ID: "i", Adopted: true, Certified: certified}}
	}
	well, ill := belief.VerdictHealthy, belief.VerdictUnhealthy
	for name, c := range map[string]struct {
		expected int
		machines []*belief.Machine
		serves   bool
	}{
		"none was found":         {},
		"one was found of one":   {serves: true, machines: []*belief.Machine{machine(1, well, true)}},
		"one was found of three": {expected: 3, machines: []*belief.Machine{machine(1, well, true)}},
		"two were found of three": {expected: 3, serves: true, machines: []*belief.Machine{
			machine(1, well, true), machine(2, well, true)}},
		"one is well, two are not": {machines: []*belief.Machine{
			machine(1, well, true), machine(2, ill, true), machine(3, ill, true)}},
		"two are not adopted": {machines: []*belief.Machine{
			machine(1, well, true), machine(2, ill, false), machine(3, ill, false)}},
		"those not adopted do well": {serves: true, machines: []*belief.Machine{
			machine(1, ill, true), machine(2, well, false)}},
		"one has left": {serves: true, machines: []*belief.Machine{machine(1, well, true), {Name: "db-2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := policy.Spec{Name: "db", Size: len(c.machines)}
			spec.Adopt.Select, spec.Adopt.Expected = policy.Selector{Name: "db-*"}, c.expected
			a := guard.Ahead(&spec, nil, slices.Values(c.machines))
			if got := guard.Ready(a); got != c.serves {
				t.Errorf("it serves: %t, with %d of %d", got, a.Well, a.Size)
			}
		})
	}
}

// Neither a first build nor a repair begins while a fleet that comes first does not serve. What a person orders does.
func TestNothingBeginsBehindAFleetThatDoesNotServe(t *testing.T) {
	t.Parallel()
	m, s := sick(), quiet()
	fresh := belief.Machine{Name: "web-2"}
	s.Tally = guard.Tally{Size: 10}
	if why := guard.NewBuild(&fresh, &s); why != "" {
		t.Fatalf("a first build is held for %q", why)
	}
	s.Unready = []situation.Ahead{{Fleet: "db"}}
	if why := guard.NewBuild(&fresh, &s); why != fleet.ReasonAfter {
		t.Errorf("a first build is held for %q", why)
	}
	if why := guard.NewRepair(&m, &s, fleet.StepReboot); why != fleet.ReasonAfter {
		t.Errorf("a repair is held for %q", why)
	}
	m.Wanted = &belief.Wanted{Order: "o", Until: s.Now.Wall.Add(time.Hour)}
	if why := guard.NewRepair(&m, &s, fleet.StepReboot); why != "" {
		t.Errorf("what a person orders is held for %q", why)
	}
}

// L4: a fleet that comes first serves with half of its machines healthy. Spares and what is beyond the size are none of
// them, what was not built yet is, and a fleet that was not heard of may be down.
func TestWhoComesFirstServesWithHalfOfItsMachines(t *testing.T) {
	t.Parallel()
	spec := policy.Spec{Name: "db", Size: 4}
	machine := func(n int, v belief.Verdict) *belief.Machine {
		return &belief.Machine{Name: spec.Name.Machine(n), Health: belief.Health{Verdict: v},
			Current: belief.Incarnation{ID: "i", Certified: true}}
	}
	well, ill := belief.VerdictHealthy, belief.VerdictUnhealthy
	for name, c := range map[string]struct {
		machines []*belief.Machine
		spares   []fleet.MachineName
		serves   bool
	}{
		"half of them": {serves: true, machines: []*belief.Machine{
			machine(1, well), machine(2, well), machine(3, ill), machine(4, belief.VerdictUnknown)}},
		"one of four": {machines: []*belief.Machine{
			machine(1, well), machine(2, belief.VerdictSuspect), machine(3, belief.VerdictStarting), machine(4, ill)}},
		"one of four, and one too many": {machines: []*belief.Machine{
			machine(1, well), machine(2, ill), machine(3, ill), machine(4, ill), machine(5, well)}},
		"one of three, and a spare": {spares: []fleet.MachineName{"db-4"}, machines: []*belief.Machine{
			machine(1, well), machine(2, ill), machine(3, ill), machine(4, well)}},
		"one, and the others are not there yet": {machines: []*belief.Machine{machine(1, well)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := guard.Ahead(&spec, &belief.Ledger{Size: 4, Spares: c.spares}, slices.Values(c.machines))
			if got := guard.Ready(a); got != c.serves {
				t.Errorf("it serves: %t, with %d of %d", got, a.Well, a.Size)
			}
		})
	}
	if guard.Ready(situation.Ahead{Fleet: "db"}) {
		t.Error("a fleet serves of which nothing is known")
	}
}
