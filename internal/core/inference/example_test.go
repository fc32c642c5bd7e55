package inference_test

import (
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/inference"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// What a fleet shows the owners of others is how its machines fare, place by place.
func ExampleLots() {
	spec := policy.Spec{Name: "web", Size: 2}
	on := belief.Incarnation{ID: "i-1", Host: "h1", Certified: true}
	well := belief.Machine{Name: "web-1", Current: on, Health: belief.Health{Verdict: belief.VerdictHealthy}}
	ill := belief.Machine{Name: "web-2", Current: on, Incident: &belief.Incident{},
		Health: belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks}}
	lots := inference.Lots(&spec, &belief.Whole{}, []situation.View{{Machine: well}, {Machine: ill}}, fleet.Now{})
	for _, l := range lots {
		fmt.Println(l.Host, l.Members, l.Failing)
	}
	// Output: h1 2 1
}
