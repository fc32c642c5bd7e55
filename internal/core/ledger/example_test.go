package ledger_test

import (
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/ledger"
	"hale/internal/core/policy"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// A larger size in the file is in force at once; a smaller one waits for a person's word.
func ExampleBook() {
	for _, size := range []int{5, 2} {
		r := round.Round{S: situation.Situation{Wanted: &policy.Spec{Name: "web", Size: size}}}
		r.Sit.Whole.Ledger = &belief.Ledger{Size: 3}
		ledger.Book(&r)
		fmt.Println(size, "is asked for, and in force is", r.Sit.Whole.Ledger.Size)
	}
	// Output:
	// 5 is asked for, and in force is 5
	// 2 is asked for, and in force is 3
}
