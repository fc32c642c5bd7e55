package ladder_test

import (
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/ladder"
	"hale/internal/core/policy"
)

// The rung that fits the cause is tried: a machine that runs is rebooted, not started.
func ExamplePrecondition() {
	m := belief.Machine{
		Name:    "web-2",
		Health:  belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks},
		Current: belief.Incarnation{ID: "i-2", Generation: 1, Certified: true},
	}
	spec := policy.Spec{Name: "web", Size: 3}
	for _, kind := range []fleet.StepKind{fleet.StepStart, fleet.StepReboot} {
		fmt.Printf("%s: %q\n", kind, ladder.Precondition(&m, &spec, policy.Step{Kind: kind}))
	}
	// Output:
	// start: "not-off"
	// reboot: ""
}
