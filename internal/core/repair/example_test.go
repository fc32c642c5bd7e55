package repair_test

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/repair"
)

// The rung that fits the cause is tried: a machine that runs is rebooted, not started.
func ExamplePrecondition() {
	m := fleet.Machine{
		Name:    "web-2",
		Health:  fleet.Health{Verdict: fleet.VerdictUnhealthy, Cause: fleet.CauseChecks},
		Current: fleet.Incarnation{ID: "i-2", Generation: 1, Certified: true},
	}
	spec := fleet.Spec{Name: "web", Size: 3}
	for _, kind := range []fleet.StepKind{fleet.StepStart, fleet.StepReboot} {
		fmt.Printf("%s: %q\n", kind, repair.Precondition(&m, &spec, fleet.Step{Kind: kind}))
	}
	// Output:
	// start: "not-off"
	// reboot: ""
}
