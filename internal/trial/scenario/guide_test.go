package scenario

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hale/internal/sim/script"
)

// TestTheGuideNamesEverything: each verb stands in the guide's tables, and each line there can be read; so do the
// settings of the world, and the example plays as it says.
func TestTheGuideNamesEverything(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/guide/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(string(page), "## What can happen")
	tables, _, _ = strings.Cut(tables, "## What to expect")
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(tables, -1) {
		told = append(told, m[1])
	}
	verbs := script.Verbs()
	for _, v := range verbs {
		if !slices.Contains(told, v) {
			t.Errorf("the guide does not say what %q means", v)
		}
	}
	for _, line := range told {
		if !slices.Contains(verbs, line) {
			t.Errorf("the guide tells of %q, which cannot happen", line)
		}
	}
	for _, key := range append(Settings(), "host", "home", "empty", "after") {
		if !strings.Contains(string(page), "\n| `"+key) {
			t.Errorf("the guide does not say what %s means", key)
		}
	}
	_, example, _ := strings.Cut(string(page), "```\n")
	example, _, _ = strings.Cut(example, "```\n")
	if out := play(t, example); len(out.Problems) > 0 {
		t.Errorf("the example does not go as it says: %v\n%s", out.Problems, out.Trace)
	}
}
