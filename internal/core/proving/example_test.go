package proving_test

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/proving"
	"hale/internal/core/round"
)

// A check that never succeeded proves nothing, until it does.
func ExampleTestChecks() {
	spec := fleet.Spec{Name: "web", Checks: []fleet.Check{{Name: "page", Kind: fleet.CheckHTTP}},
		UnhealthyWhen: fleet.Condition{Op: fleet.OpTerm, Term: "page"}}
	for _, standing := range []fleet.Standing{fleet.StandingDown, fleet.StandingUp} {
		r := round.Round{S: fleet.Situation{State: fleet.State{Spec: spec}, Open: []int{0},
			Machines: []fleet.View{{Checks: []fleet.CheckState{{Check: "page", Standing: standing}}}}}}
		proving.TestChecks(&r, new(proving.Definitions))
		fmt.Println(standing, r.Unproven)
	}
	// Output:
	// down [page]
	// up []
}
