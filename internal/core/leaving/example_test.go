package leaving_test

import (
	"fmt"

	"hale/internal/core/leaving"
	"hale/internal/core/policy"
)

// Of three machines the one that fails goes first.
func ExampleChoose() {
	views := machines(3)
	fails(&views[1])
	for _, l := range leaving.Choose(scene(views, policy.LeaveUnhealthy, policy.LeaveOldest), 1) {
		fmt.Println(l.Machine, l.Why)
	}
	// Output: web-2 failing
}
