package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rogpeppe/go-internal/diff"
)

// count is one row of the table.
type count struct {
	Package      string `json:"package"`
	Operator     string `json:"operator"`
	Made         int    `json:"made"`
	NotCompiling int    `json:"not_compiling"`
	NotRun       int    `json:"not_run"`
	Caught       int    `json:"caught"`
	TimedOut     int    `json:"timed_out"`
	Survived     int    `json:"survived"` // those not reached among them
	NotReached   int    `json:"not_reached"`
}

// share is the part that was caught of those that compile and were run; there may be none.
func (c count) share() (float64, bool) {
	run := c.Made - c.NotCompiling - c.NotRun
	if run == 0 {
		return 0, false
	}
	return float64(c.Caught+c.TimedOut) / float64(run), true
}

func (c *count) add(o outcome) {
	c.Made++
	switch o {
	case caught:
		c.Caught++
	case timedOut:
		c.TimedOut++
	case survived:
		c.Survived++
	case notReached:
		c.Survived++
		c.NotReached++
	case notCompiling:
		c.NotCompiling++
	case notRun:
		c.NotRun++
	}
}

// everything is the row that counts all of a package, or of all packages.
const everything = "all"

// tally counts results by package and operator, each package, in the order of its first appearance, followed by its
// total; the last row is the total of all. Those made by hand are a group of their own, wherever they lie.
func tally(results []result) []count {
	var groups []string
	operators := map[string][]string{}
	counts := map[stratum]*count{}
	add := func(group, operator string, o outcome) {
		k := stratum{group, operator}
		if counts[k] == nil {
			counts[k] = &count{Package: group, Operator: operator}
			if operators[group] == nil {
				groups = append(groups, group)
			}
			if operator != everything {
				operators[group] = append(operators[group], operator)
			}
		}
		counts[k].add(o)
	}
	total := count{Package: everything, Operator: everything}
	for _, r := range results {
		group := r.Package
		if r.Operator == opHand {
			group = "by hand"
		}
		add(group, r.Operator, r.Outcome)
		add(group, everything, r.Outcome)
		total.add(r.Outcome)
	}
	var rows []count
	for _, g := range groups {
		for _, op := range slices.Sorted(slices.Values(operators[g])) {
			rows = append(rows, *counts[stratum{g, op}])
		}
		rows = append(rows, *counts[stratum{g, everything}])
	}
	return append(rows, total)
}

func printTable(w io.Writer, rows []count) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t,
		"package\toperator\tmade\tnot compiling\tnot run\tcaught\ttimed out\tsurvived\tnot reached\tshare\t")
	for _, c := range rows {
		share := "-"
		if s, ok := c.share(); ok {
			share = fmt.Sprintf("%.1f %%", 100*s)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t\n", path.Base(c.Package), c.Operator, c.Made,
			c.NotCompiling, c.NotRun,
			c.Caught, c.TimedOut, c.Survived, c.NotReached, share)
	}
	return t.Flush()
}

// unified is the mutant as a patch of the tree.
func (t tree) unified(m mutant) (string, error) {
	var b strings.Builder
	for _, file := range sortedKeys(m.patch) {
		was, err := os.ReadFile(t.abs(file))
		if err != nil {
			return "", err
		}
		b.Write(diff.Diff("a/"+file, was, "b/"+file, m.patch[file]))
	}
	return b.String(), nil
}

// printSurvivors lists what was not caught: first the unexplained ones, each as a patch, then the others.
func (t tree) printSurvivors(w io.Writer, results []result, why explanations) error {
	var unexplained, explained []result
	for _, r := range results {
		switch {
		case r.Outcome != survived && r.Outcome != notReached:
		case why[r.key()] == "":
			unexplained = append(unexplained, r)
		default:
			explained = append(explained, r)
		}
	}
	fmt.Fprintf(w, "\nSurvivors without an explanation: %d\n", len(unexplained))
	for _, r := range unexplained {
		patch, err := t.unified(r.mutant)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s (%s)\n  explained by: %s\n  line: %s\n%s",
			r.ID, r.Outcome, strings.ReplaceAll(r.key(), "\n", " | "), r.Source, patch)
	}
	fmt.Fprintf(w, "\nSurvivors with an explanation: %d\n", len(explained))
	for _, r := range explained {
		fmt.Fprintf(w, "\n%s\n  line: %s\n  reason: %s\n", r.ID, r.Source, why[r.key()])
	}
	for _, old := range why.outdated(results) {
		fmt.Fprintf(w, "\nThis explanation is of no use any more: %s\n", old)
	}
	return nil
}
