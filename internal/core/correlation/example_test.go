package correlation_test

import (
	"fmt"

	"hale/internal/core/correlation"
)

// Of 60 machines 4 fail, and all of them are among the 10 in one rack.
func ExampleChance() {
	fmt.Printf("%.4f\n", correlation.Chance(60, 4, 10, 4))
	// Output: 0.0004
}
