package chart_test

import (
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
)

// What bears the machine's mark and is not its instance is a stray; only what an unfinished build of ours left behind
// may go.
func ExampleIsRemnant() {
	m := belief.Machine{Name: "web-2", Generation: 3,
		Current: belief.Incarnation{ID: "i-3", Generation: 3, Certified: true}}
	mark := fleet.Mark{Installation: "ours", Fleet: "web", Machine: "web-2", Generation: 2}
	halfBuilt := fleet.Instance{ID: "i-2", Power: fleet.PowerOff, Mark: mark}
	whole := halfBuilt
	whole.Mark.Certified = true
	for _, i := range []fleet.Instance{halfBuilt, whole} {
		fmt.Println(chart.IsStray(&m, &i, "ours"), chart.IsRemnant(m, i, "ours"))
	}
	// Output:
	// true true
	// true false
}
