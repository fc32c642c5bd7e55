package health_test

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/health"
	"hale/internal/core/policy"
)

// A condition over checks has three values: what is not known is never taken for a failure.
func ExampleEvaluate() {
	condition := policy.Condition{Op: policy.OpAll, Of: []policy.Condition{
		{Op: policy.OpTerm, Term: "ping"}, {Op: policy.OpTerm, Term: "page"},
	}}
	down := map[fleet.CheckName]health.Truth{"ping": health.Unknown, "page": health.True}
	fmt.Println(health.Evaluate(condition, func(c fleet.CheckName) health.Truth { return down[c] }) == health.Unknown)
	// Output: true
}
