package sizing_test

import (
	"fmt"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/sizing"
)

// Four machines at a load of 90 are as busy as eight at 45.
func ExampleHours_Judge() {
	policy := &policy.Sizing{Min: 2, Max: 10,
		Metrics: []policy.Metric{{Name: "load", Late: time.Minute, Most: 100}},
		Opinions: []policy.Opinion{{Name: "busy", Kind: policy.OpinionTarget, Metric: "load", Target: 45,
			PerMachine: true}},
	}
	now := fleet.Now{Mono: fleet.Instant(time.Hour)}
	read := []fleet.Gauge{{Metric: "load", Points: []fleet.Point{{At: now.Mono, Value: 90, Serving: 4}}}}
	var hours sizing.Hours
	verdict := hours.Judge(&sizing.Case{Policy: policy, Size: 4, Gauges: read, Now: now})
	fmt.Println(verdict.Size, "machines")
	// Output: 8 machines
}
