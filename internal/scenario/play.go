package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hale/internal/sim"

	"github.com/rogpeppe/go-internal/txtar"
)

// Expectation is what one figure of the score must be.
type Expectation struct {
	Figure string // as in the score's JSON
	Op     string // =, > or <
	Value  float64
}

// expect reads "repairs 1", "held > 0" or "paged < 2".
func (r *reader) expect(line string) error {
	words := strings.Fields(line)
	if len(words) == 2 {
		words = []string{words[0], "=", words[1]}
	}
	if len(words) != 3 || !slices.Contains([]string{"=", ">", "<"}, words[1]) {
		return fmt.Errorf("%q: write a figure and its value, as repairs 1, held > 0 or paged < 2", line)
	}
	if _, known := figures(sim.Score{})[words[0]]; !known {
		return fmt.Errorf("the score has no %q", words[0])
	}
	v, err := strconv.ParseFloat(words[2], 64)
	if err != nil {
		return fmt.Errorf("%q is no number", words[2])
	}
	r.s.Expect = append(r.s.Expect, Expectation{words[0], words[1], v})
	return nil
}

// figures returns the score by the names of its JSON.
func figures(s sim.Score) map[string]float64 {
	data, err := json.Marshal(s)
	out := map[string]float64{}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return nil // a score is numbers only
	}
	return out
}

// Outcome is how a scenario went.
type Outcome struct {
	Result sim.Result
	Trace  []byte
	// Problems are what was expected and did not happen; none: it went as written.
	Problems []string
}

// Play plays the scenario once, and says what was not as written.
func (s *Scenario) Play() (Outcome, error) {
	var trace bytes.Buffer
	o := s.Options
	o.Trace = &trace
	r, err := sim.Run(o)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	out := Outcome{Result: r, Trace: trace.Bytes()}
	got := figures(r.Score)
	for _, e := range s.Expect {
		if v := got[e.Figure]; !e.holds(v) {
			out.Problems = append(out.Problems, fmt.Sprintf("%s is %v, expected %s %v", e.Figure, v, e.Op, e.Value))
		}
	}
	for _, v := range r.Violations {
		if !s.expectsWrong() {
			out.Problems = append(out.Problems, fmt.Sprintf("law %s is broken after %s: %s %s", v.Law, v.At, v.Machine, v.What))
		}
	}
	if s.Trace != nil && !bytes.Equal(s.Trace, out.Trace) {
		out.Problems = append(out.Problems, difference(string(s.Trace), string(out.Trace)))
	}
	return out, nil
}

// expectsWrong reports whether the file itself says that a law breaks: the cases that show a known limit.
func (s *Scenario) expectsWrong() bool {
	return slices.ContainsFunc(s.Expect, func(e Expectation) bool { return e.Figure == "laws_broken" && !e.holds(0) })
}

func (e Expectation) holds(v float64) bool {
	switch e.Op {
	case ">":
		return v > e.Value
	case "<":
		return v < e.Value
	}
	return v == e.Value
}

// difference shows the first line in which two traces part.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		wl, gl := "(the end)", "(the end)"
		if i < len(w) {
			wl = w[i]
		}
		if i < len(g) {
			gl = g[i]
		}
		if wl != gl {
			return fmt.Sprintf("line %d of the trace is\n    %s\n  and was to be\n    %s", i+1, gl, wl)
		}
	}
	return "the traces differ in how they end"
}

// Updated returns the file with the trace that a run wrote.
func (s *Scenario) Updated(trace []byte) []byte {
	a := *s.archive
	a.Files = slices.DeleteFunc(slices.Clone(a.Files), func(f txtar.File) bool { return f.Name == partTrace })
	a.Files = append(a.Files, txtar.File{Name: partTrace, Data: trace})
	return txtar.Format(&a)
}
