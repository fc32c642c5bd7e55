package fleet_test

import (
	"fmt"

	"hale/internal/core/fleet"
)

// A machine's name says its fleet and its number.
func ExampleMachineName_Ordinal() {
	m := fleet.Name("web").Machine(2)
	n, ok := m.Ordinal()
	fmt.Println(m, m.Fleet(), n, ok)
	// Output: web-2 web 2 true
}
