package tested_test

import (
	"testing"

	"hale/internal/core/tested"
)

func TestAnEditThatIsTakenBackIsProven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		check  tested.Check
		proven bool
	}{
		"never succeeded":           {tested.Check{Definition: "a"}, false},
		"succeeded":                 {tested.Check{Definition: "a", Good: "a"}, true},
		"edited":                    {tested.Check{Definition: "b", Good: "a", Edited: true}, false},
		"edited, and edited back":   {tested.Check{Definition: "a", Good: "a", Edited: true}, true},
		"a person knows, all along": {tested.Check{Definition: "b", Good: "a", Paged: "b"}, false},
	} {
		if got := c.check.Proven(); got != c.proven {
			t.Errorf("%s: %v", name, got)
		}
	}
}
