package tidy

import (
	"regexp"
	"slices"
	"strings"
)

var (
	scenario = regexp.MustCompile(`\bS[0-9]{2}\b`)
	notYet   = regexp.MustCompile(`(?i)\b(not yet|not done|planned|left out|missing)\b`)
)

// shown maps each acceptance scenario to the tests and scenario files that carry its number.
func shown(t Tree) map[string][]string {
	in := map[string][]string{}
	for _, f := range t.files {
		story := strings.HasSuffix(f.Path, ".txtar") || strings.Contains("/"+f.Path, "/testdata/") ||
			strings.HasPrefix(f.Path, "scenarios/")
		if !f.isTest() && !story || f.isMarkdown() || strings.HasPrefix(f.Path, "internal/testbed/tidy/") {
			continue
		}
		for _, s := range scenario.FindAllString(f.Text, -1) {
			if !slices.Contains(in[s], f.Path) {
				in[s] = append(in[s], f.Path)
			}
		}
	}
	return in
}

// checkScenarios finds scenarios that a document claims and no test shows. A line that says "not yet", "planned",
// "left out", "not done" or "missing" claims nothing.
func checkScenarios(t Tree) []Finding {
	in := shown(t)
	var found []Finding
	for _, f := range t.markdown() {
		for i, line := range strings.Split(f.Text, "\n") {
			if notYet.MatchString(line) {
				continue
			}
			for _, s := range scenario.FindAllString(line, -1) {
				if in[s] == nil {
					found = append(found, Finding{
						place(f.Path, i+1),
						s +
							" is claimed, but no test or scenario file carries the number (or say in the same line " +
							"that it is not yet done)",
					})
				}
			}
		}
	}
	return found
}
