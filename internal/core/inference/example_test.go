package inference_test

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/inference"
)

// What a fleet shows the owners of others is how its machines fare, place by place.
func ExampleLots() {
	spec := fleet.Spec{Name: "web", Size: 2}
	on := fleet.Incarnation{ID: "i-1", Host: "h1", Certified: true}
	well := fleet.Machine{Name: "web-1", Current: on, Health: fleet.Health{Verdict: fleet.VerdictHealthy}}
	ill := fleet.Machine{Name: "web-2", Current: on, Incident: &fleet.Incident{},
		Health: fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: fleet.CauseChecks}}
	lots := inference.Lots(&spec, &fleet.Whole{}, []fleet.View{{Machine: well}, {Machine: ill}}, fleet.Now{})
	for _, l := range lots {
		fmt.Println(l.Host, l.Members, l.Failing)
	}
	// Output: h1 2 1
}
