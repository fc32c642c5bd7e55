package guard_test

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// At a fifth of the fleet, and two machines at least, the brake engages when more than these fail.
func ExampleBrakeLimit() {
	policy := fleet.BrakePolicy{AtLeast: 2, Percent: 20}
	fmt.Println(guard.BrakeLimit(policy, 5), guard.BrakeLimit(policy, 50))
	// Output: 2 10
}
