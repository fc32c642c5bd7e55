package tenure_test

import (
	"fmt"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/tenure"
)

// A reset is sent only while the rest of the lease covers it.
func ExampleCover() {
	in := belief.Intent{Op: fleet.OpReboot, Limit: 10 * time.Second}
	for _, remaining := range []time.Duration{time.Minute, 3 * time.Second} {
		_, ok := tenure.Cover(in, remaining)
		fmt.Println(remaining, ok)
	}
	// Output:
	// 1m0s true
	// 3s false
}
