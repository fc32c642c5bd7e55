package explain_test

import (
	"strings"
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/prose/explain"
)

// A machine that another hale looks after says so while it is healthy, too: before it fails is the time to take it
// out of one of the two.
func TestAMachineThatAnotherHaleClaimedFirstSaysWhich(t *testing.T) {
	t.Parallel()
	m := belief.Machine{
		Name: "db-1", Alias: "db-main", Health: belief.Health{Verdict: belief.VerdictHealthy},
		Elsewhere: &fleet.Claim{By: "4f00aa11bb", Since: 1764000000},
		Current:   belief.Incarnation{ID: "0b6f", Generation: 1, Adopted: true, Certified: true},
	}
	for _, waiting := range []fleet.Reason{"", fleet.ReasonElsewhere} {
		m.Waiting = waiting
		said := strings.Join(explain.Machine(published.Fleet{}, situation.View{Machine: m}).Now, "\n")
		if want := "(installation 4f00aa11bb…, since 2025-11-24 16:00 UTC)"; strings.Count(said, want) != 1 {
			t.Errorf("waiting for %q it says:\n%s\nwant %q once", waiting, said, want)
		}
	}
}
