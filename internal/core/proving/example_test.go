package proving_test

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/proving"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// A check that never succeeded proves nothing, until it does.
func ExampleTestChecks() {
	spec := policy.Spec{Name: "web", Checks: []policy.Check{{Name: "page", Kind: policy.CheckHTTP}},
		UnhealthyWhen: policy.Condition{Op: policy.OpTerm, Term: "page"}}
	for _, standing := range []fleet.Standing{fleet.StandingDown, fleet.StandingUp} {
		r := round.Round{S: situation.Situation{State: situation.State{Spec: spec}, Open: []int{0},
			Machines: []situation.View{{Checks: []fleet.CheckState{{Check: "page", Standing: standing}}}}}}
		proving.TestChecks(&r, new(proving.Definitions))
		fmt.Println(standing, r.Unproven)
	}
	// Output:
	// down [page]
	// up []
}
