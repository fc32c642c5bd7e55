package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"hale/internal/sim"
	"hale/internal/sim/score"

	"github.com/rogpeppe/go-internal/txtar"
)

// Expectation is what one figure of the score must be.
type Expectation struct {
	Figure string // as in the score's JSON
	Op     string // =, > or <
	Value  float64
	Line   int // of the file
}

func (e Expectation) String() string { return fmt.Sprintf("%s %s %v", e.Figure, e.Op, e.Value) }

// expect reads "repairs 1", "held > 0" or "paged < 2".
func (r *reader) expect(line int, text string) error {
	words := strings.Fields(text)
	if len(words) == 2 {
		words = []string{words[0], "=", words[1]}
	}
	if len(words) != 3 || !slices.Contains([]string{"=", ">", "<"}, words[1]) {
		return fmt.Errorf("%q: write a figure and its value, as repairs 1, held > 0 or paged < 2", text)
	}
	if !slices.Contains(Figures(), words[0]) {
		return fmt.Errorf("the score has no %q; it has %s", words[0], strings.Join(Figures(), ", "))
	}
	v, err := strconv.ParseFloat(words[2], 64)
	if err != nil || math.IsNaN(v) {
		return fmt.Errorf("%q is no number", words[2])
	}
	r.s.Expect = append(r.s.Expect, Expectation{words[0], words[1], v, line})
	return nil
}

// Figures lists what can be expected of a score, sorted.
func Figures() []string { return slices.Sorted(maps.Keys(figures(score.Score{}))) }

// figures returns the score by the names of its JSON.
func figures(s score.Score) map[string]float64 {
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
	Problems []Problem
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
	return Outcome{
		Result:   r,
		Trace:    trace.Bytes(),
		Problems: slices.Concat(s.compare(r), s.diverge(trace.Bytes())),
	}, nil
}

// compare says which figures and laws are not as written.
func (s *Scenario) compare(r sim.Result) []Problem {
	var found []Problem
	got := figures(r.Score)
	for _, e := range s.Expect {
		if v := got[e.Figure]; !e.Holds(v) {
			found = append(found, Problem{
				s.Name,
				e.Line,
				fmt.Sprintf("%s is %v, expected %s %v", e.Figure, v, e.Op, e.Value),
			})
		}
	}
	if s.ExpectsWrong() {
		return found
	}
	for _, v := range r.Violations {
		found = append(found, Problem{
			s.Name,
			0,
			fmt.Sprintf("after %s law %s is broken: %s", v.At, v.Law, strings.TrimSpace(v.Machine+" "+v.What)),
		})
	}
	return found
}

// ExpectsWrong reports whether the file itself says that a law breaks: the cases that show a known limit.
func (s *Scenario) ExpectsWrong() bool {
	return slices.ContainsFunc(s.Expect, func(e Expectation) bool { return e.Figure == "laws_broken" && !e.Holds(0) })
}

// Holds reports whether the figure is as expected.
func (e Expectation) Holds(v float64) bool {
	switch e.Op {
	case ">":
		return v > e.Value
	case "<":
		return v < e.Value
	}
	return v == e.Value
}

// diverge shows the first line in which the trace is not the one that is written.
func (s *Scenario) diverge(trace []byte) []Problem {
	if s.Trace == nil || bytes.Equal(s.Trace, trace) {
		return nil
	}
	want, got := strings.Split(string(s.Trace), "\n"), strings.Split(string(trace), "\n")
	i := 0
	for i < len(want)-1 && i < len(got)-1 && want[i] == got[i] {
		i++
	}
	line := func(of []string) string {
		if i >= len(of)-1 {
			return "(nothing more)"
		}
		return of[i]
	}
	return []Problem{
		{s.Name, s.traceAt + i, "the trace goes another way: it is\n" + line(got) + "\nand was\n" + line(want)},
	}
}

// Updated returns the file with the trace that a run wrote.
func (s *Scenario) Updated(trace []byte) []byte {
	a := *s.archive
	a.Files = slices.DeleteFunc(slices.Clone(a.Files), func(f txtar.File) bool { return f.Name == partTrace })
	a.Files = append(a.Files, txtar.File{Name: partTrace, Data: trace})
	return txtar.Format(&a)
}
