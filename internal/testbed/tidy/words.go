package tidy

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed words.txt
var lists embed.FS

// banishedWord is one line of words.txt.
type banishedWord struct {
	scope   string // "all", or "docs" for Markdown only
	pattern *regexp.Regexp
	reason  string
}

// wordsExempt are the files that must name the words, or that other programs write.
var wordsExempt = []string{
	"internal/testbed/tidy/words.txt", "internal/testbed/tidy/fixtures_test.go", "go.sum", "tools/go.sum",
	"tools/go.mod",
}

// parseWords reads lines of scope, regular expression and reason, separated by tabs; # begins a comment line.
func parseWords(text string) ([]banishedWord, error) {
	var words []banishedWord
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "\t")
		if len(parts) != 3 || !slices.Contains([]string{"all", "docs"}, parts[0]) {
			return nil, fmt.Errorf("words.txt:%d: want scope (all, docs), pattern and reason, separated by tabs", i+1)
		}
		re, err := regexp.Compile("(?i)" + parts[1])
		if err != nil {
			return nil, fmt.Errorf("words.txt:%d: %w", i+1, err)
		}
		words = append(words, banishedWord{scope: parts[0], pattern: re, reason: parts[2]})
	}
	return words, nil
}

// checkWords finds lines that speak of how or where the tree was made.
func checkWords(t Tree) []Finding {
	text, err := lists.ReadFile("words.txt")
	if err != nil {
		return []Finding{{"internal/testbed/tidy/words.txt", err.Error()}}
	}
	words, err := parseWords(string(text))
	if err != nil {
		return []Finding{{"internal/testbed/tidy/words.txt", err.Error()}}
	}
	var found []Finding
	for _, f := range t.files {
		if slices.Contains(wordsExempt, f.Path) || strings.ContainsRune(f.Text, 0) {
			continue
		}
		for i, line := range strings.Split(f.Text, "\n") {
			for _, w := range words {
				if w.scope == "docs" && !f.isMarkdown() {
					continue
				}
				if hit := w.pattern.FindString(line); hit != "" {
					found = append(found, Finding{place(f.Path, i+1), fmt.Sprintf("%q: %s", hit, w.reason)})
				}
			}
		}
	}
	return found
}

// inGuest holds what busybox runs inside a guest: its first process must not die of a failed command.
const inGuest = "internal/testbed/lab/guest/"

var strict = regexp.MustCompile(`(?m)^set -(euo pipefail|eu)$`)

// checkScripts finds shell scripts that go on after an error, or that cannot be run.
func checkScripts(t Tree) []Finding {
	var found []Finding
	for _, f := range t.files {
		first, _, _ := strings.Cut(f.Text, "\n")
		if strings.HasPrefix(f.Path, inGuest) {
			continue
		}
		shell := strings.HasPrefix(first, "#!") && strings.HasSuffix(first, "sh")
		if !shell || strings.Contains("/"+path.Dir(f.Path)+"/", "/testdata/") {
			continue
		}
		if !strict.MatchString(f.Text) {
			found = append(found, Finding{f.Path, "add a line 'set -euo pipefail' (for plain sh: 'set -eu')"})
		}
		if f.Mode&0o111 == 0 {
			found = append(found, Finding{f.Path, "run chmod +x " + f.Path})
		}
	}
	return found
}
