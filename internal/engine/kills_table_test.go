package engine_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row is one step's line of the table.
type row struct {
	step    string
	moments []moment
	killed  []killed
}

const safetyFile = "../../docs/safety.md"

// The table stands between these.
const (
	tableBegin = "<!-- killed at any point: begin -->\n"
	tableEnd   = "<!-- killed at any point: end -->\n"
)

// The heads of the two tables. The order of the manners is that of sort.manners.
const (
	resultsHead = "| step | points | before | done, no answer | arrives late | after |\n|---|---|---|---|---|---|\n"
	pointsHead  = "\n| step | writes, by what they say | calls, questions and messages |\n|---|---|---|\n"
)

// compareTable holds the rows against the document, or writes them there. Steps that were not asked for are left as
// they are.
func compareTable(t *testing.T, rows <-chan row) {
	t.Helper()
	if t.Failed() {
		return // and the results are not
	}
	data, err := os.ReadFile(safetyFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(data), tableBegin)
	table, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", safetyFile)
	}
	results, points, _ := strings.Cut(table, pointsHead)
	now := linesOf(strings.TrimPrefix(results, resultsHead))
	named := linesOf(points)
	for r := range rows {
		now[r.step], named[r.step] = r.results(), r.names()
	}
	fresh := resultsHead + inOrder(now) + pointsHead + inOrder(named)
	if *update {
		if err := os.WriteFile(safetyFile, []byte(before+tableBegin+fresh+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table, fresh); diff != "" {
		t.Errorf("%s is stale: go test ./internal/engine -run S71KilledAtAnyPoint -update\n%s", safetyFile, diff)
	}
}

// linesOf returns a table's lines by their steps.
func linesOf(table string) map[string]string {
	lines := map[string]string{}
	for line := range strings.Lines(table) {
		step, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		lines[step] = line
	}
	return lines
}

// inOrder returns the lines of the steps that there are.
func inOrder(lines map[string]string) string {
	var b strings.Builder
	for _, o := range ordeals() {
		b.WriteString(lines[o.step])
	}
	return b.String()
}

func line(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// results renders what came of the kills.
func (r row) results() string {
	cells := []string{r.step, r.points()}
	for _, how := range sortWrite.manners() {
		cells = append(cells, r.inManner(how))
	}
	return line(cells...)
}

// points counts the moments.
func (r row) points() string {
	n := map[sort]int{}
	for _, m := range r.moments {
		n[m.sort]++
	}
	var said []string
	for _, s := range []sort{sortWrite, sortCall, sortQuestion, sortMessage} {
		switch n[s] {
		case 0:
		case 1:
			said = append(said, "1 "+string(s))
		default:
			said = append(said, fmt.Sprintf("%d %ss", n[s], s))
		}
	}
	return strings.Join(said, ", ")
}

// inManner counts what came of the kills in the manner.
func (r row) inManner(how manner) string {
	n := map[string]int{}
	for _, k := range r.killed {
		if k.manner == how {
			n[k.result]++
		}
	}
	var said []string
	for _, result := range slices.Sorted(maps.Keys(n)) {
		said = append(said, strings.TrimSpace(fmt.Sprintf("%d %s", n[result], result)))
	}
	return strings.Join(said, ", ")
}

// names renders what the moments are; what happens several times is named once.
func (r row) names() string {
	var writes, others []string
	for _, m := range r.moments {
		switch {
		case m.sort == sortWrite && !slices.Contains(writes, m.what):
			writes = append(writes, m.what)
		case m.sort != sortWrite && !slices.Contains(others, m.what):
			others = append(others, m.what)
		}
	}
	slices.Sort(writes)
	slices.Sort(others)
	return line(r.step, strings.Join(writes, "; "), strings.Join(others, ", "))
}
