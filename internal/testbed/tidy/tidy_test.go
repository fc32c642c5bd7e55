package tidy

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestTheTreeIsTidy holds every rule against the tree that this file lies in.
func TestTheTreeIsTidy(t *testing.T) {
	t.Parallel()
	tree, err := Load(t.Context(), "../../..")
	if err != nil {
		t.Fatal(err)
	}
	if !tree.known["internal/testbed/tidy/tidy_test.go"] {
		t.Fatal("the tree that was loaded does not contain this test")
	}
	for _, rule := range Rules() {
		t.Run(strings.ReplaceAll(rule.Name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			found := rule.Check(tree)
			for _, f := range found {
				t.Errorf("%s: %s", f.Where, f.What)
			}
			if len(found) > 0 {
				t.Logf("why: %s", rule.Why)
			}
		})
	}
	scenarios := shown(tree)
	t.Logf("acceptance scenarios shown by tests (%d): %s",
		len(scenarios), strings.Join(slices.Sorted(maps.Keys(scenarios)), " "))
}
