package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hale/internal/keys"
)

// A file with more mistakes than a person reads at once is refused with the first of them, and one that no person
// wrote is refused before it is read. Each took minutes.
func TestS57FloodsOfMistakesAreRefused(t *testing.T) {
	t.Parallel()
	entries := func(n int, each, between string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, each, i)
			b.WriteString(between)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		text     string
		problems int
		last     string
	}{
		"unknown keys": {entries(400, "u%d: 1", "\n"), keys.MostProblems + 1,
			"more is wrong than the 100 problems before this line"},
		"the same key": {"version: 1\n" + strings.Repeat("version: 1\n", 400), keys.MostProblems + 1,
			"more is wrong than the 100 problems before this line"},
		"60,000 unknown keys": {entries(60_000, "u%d: 1", "\n"), 1, "is entry 5001 of one mapping"},
		"60,000 keys on one line": {"fleets: {" + entries(60_000, "u%d: 1", ", ") + "}", 1,
			"is entry 5001 of one mapping"},
		"60,000 keys of one fleet": {"fleets:\n  web:\n" + entries(60_000, "    u%d: 1", "\n"), 1,
			"is entry 5001 of one mapping"},
		"mappings in a mapping, wide": {"fleets:\n" + entries(6_000, "  f%d: {a: {}, b: 1}", "\n"), 1,
			"is entry 5001 of one mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parsed("hale.yaml", []byte(c.text))
			var problems keys.Problems
			if !errors.As(err, &problems) || len(problems) != c.problems {
				t.Fatalf("%d problems: %.300v", len(problems), err)
			}
			if last := problems[len(problems)-1]; last.Message != c.last || last.Line == 0 || last.Hint == "" {
				t.Errorf("the last one is %v", last)
			}
		})
	}
}
