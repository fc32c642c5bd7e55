package spares_test

import (
	"fmt"

	"hale/internal/core/spares"
)

// A spare that is well takes the place of a machine that cannot serve.
func ExampleAssign() {
	all := []spares.One{{Machine: "web-1", Fitness: spares.Lost}, {Machine: "web-2", Fitness: spares.Ready},
		{Machine: "web-3", Spare: true, Fitness: spares.Ready}}
	for _, h := range spares.Assign(all, spares.Need{Serving: 2, Spares: 1}) {
		fmt.Println(h.Serves, "takes the place of", h.StandsBy)
	}
	// Output: web-3 takes the place of web-1
}
