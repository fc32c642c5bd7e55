package guard_test

import (
	"slices"
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

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
