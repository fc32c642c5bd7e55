package guard_test

import (
	"fmt"

	"hale/internal/core/guard"
	"hale/internal/core/policy"
)

// At a fifth of the fleet, and two machines at least, the brake engages when more than these fail.
func ExampleBrakeLimit() {
	policy := policy.Brake{AtLeast: 2, Percent: 20}
	fmt.Println(guard.BrakeLimit(policy, 5), guard.BrakeLimit(policy, 50))
	// Output: 2 10
}
