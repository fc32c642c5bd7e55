package tidy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryRuleCanFail shows each rule a bad tree and wants exactly the findings that the fixture names.
func TestEveryRuleCanFail(t *testing.T) {
	t.Parallel()
	rules := map[string]Rule{}
	for _, r := range Rules() {
		rules[r.Name] = r
	}
	shownToFail := map[string]bool{}
	for reason, fix := range fixtures {
		rule, ok := rules[fix.rule]
		if !ok {
			t.Fatalf("%s: there is no rule %q", reason, fix.rule)
		}
		shownToFail[fix.rule] = true
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			compare(t, rule.Check(treeOf(fix.files)), fix.want)
		})
	}
	for name := range rules {
		if !shownToFail[name] {
			t.Errorf("rule %q has no fixture that it fails on", name)
		}
	}
}

// compare wants each finding to contain a different one of the wanted texts, and none to be left over.
func compare(t *testing.T, found []Finding, want []string) {
	t.Helper()
	left := slices.Clone(want)
	for _, f := range found {
		line := f.Where + ": " + f.What
		i := slices.IndexFunc(left, func(w string) bool { return strings.Contains(line, w) })
		if i < 0 {
			t.Errorf("found what is allowed: %s", line)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, w := range left {
		t.Errorf("not found: %s", w)
	}
}

// TestLoadReadsATreeWithoutGit covers the release tarball: no history, and build results lie about.
func TestLoadReadsATreeWithoutGit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, p := range []string{"cmd/hale/main.go", "bin/hale.go"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(p)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, p), []byte("package main\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Load(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.files) != 1 || tree.files[0].Path != "cmd/hale/main.go" {
		t.Errorf("want cmd/hale/main.go alone, got %v", tree.files)
	}
}

// TestABadWordListIsRefused keeps a slip in words.txt from silencing the rule.
func TestABadWordListIsRefused(t *testing.T) {
	t.Parallel()
	for reason, text := range map[string]string{
		"spaces instead of tabs":  "all word reason",
		"a scope that is unknown": "code\tword\treason",
		"a broken pattern":        "all\t(\treason",
	} {
		if words, err := parseWords(text); err == nil {
			t.Errorf("%s: want an error, got %v", reason, words)
		}
	}
}

func treeOf(sources map[string]string) Tree {
	var files []File
	for p, text := range sources {
		files = append(files, File{Path: p, Text: text, Mode: 0o644})
	}
	return newTree(files)
}

// long writes a function of n lines.
func long(name string, n int) string {
	return "func " + name + "() {\n" + strings.Repeat("\n", n-2) + "}\n"
}

func longs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(long(fmt.Sprintf("f%d", i), longLimit+1))
	}
	return b.String()
}

func times(n int, s string) []string { return slices.Repeat([]string{s}, n) }
