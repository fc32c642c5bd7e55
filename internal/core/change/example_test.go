package change_test

import (
	"fmt"

	"hale/internal/core/change"
)

// What an edit of the configuration asks for: two machines fewer.
func ExampleSpecs() {
	was, is := web(), web()
	is.Size = 1
	for _, d := range change.Specs(&was, &is) {
		fmt.Println(d.Kind, d.Was, d.Is)
	}
	// Output: size-down 3 1
}
