// Package scenario reads and plays scenario files: what one fleet goes through, told so that an operator can read it,
// and what has to come of it.
//
// A file is a txtar archive. The text before its first part is the purpose, in a sentence; the parts are
//
//	hale.yaml   the configuration of one fleet, as for hale run
//	world       where it lives: a line per host, and how the run is set up
//	load        what is asked of the fleet: a line for each time, as 10m,250
//	events      a line for each thing that happens: 10m  host h2 loses power for 5m
//	expect      a line for each figure of the score: repairs 1, held > 0
//	trace       every line that the run writes; made by hale test --update, and read by people
//
// It promises that a file that cannot be understood says where and what would be right, and that equal files give equal
// outcomes. It decides nothing about machines.
package scenario

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/keys"
	"hale/internal/sim"
	"hale/internal/sim/load"
	"hale/internal/sim/script"

	"github.com/rogpeppe/go-internal/txtar"
)

// Scenario is one file, understood.
type Scenario struct {
	Name    string
	Purpose string
	Options sim.Options
	Expect  []Expectation
	// Trace is what the run must write; nil when the file has no such part.
	Trace   []byte
	traceAt int // the line on which it begins
	archive *txtar.Archive
}

// The parts of a file.
const (
	partConfig = "hale.yaml"
	partWorld  = "world"
	partLoad   = "load"
	partEvents = "events"
	partExpect = "expect"
	partTrace  = "trace"
)

// Problem is one thing that is wrong with a file, or with what came of it.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"` // from 1; 0: no line of the file is to blame
	Message string `json:"message"`
}

// String renders "file:line: message".
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Problems is everything that is wrong with a file, in order of place. It is never empty when it is an error.
type Problems []Problem

// Error renders one problem per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Files lists the scenario files of a folder (*.txt and *.txtar, not of its sub-folders, no hidden ones) by name. A
// file is itself.
func Files(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("scenario files: %w", err)
	}
	if !info.IsDir() {
		return []string{filepath.Clean(path)}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("scenario files: %w", err)
	}
	var names []string
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if !e.IsDir() && (ext == ".txt" || ext == ".txtar") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, filepath.Join(path, e.Name()))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("folder %s has no scenario file: they end in .txt or .txtar", path)
	}
	return names, nil
}

// Load reads a file from the disk. An error is of type Problems, or says why the file could not be read.
func Load(path string) (*Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a file's content. The name appears in problems, and its folder is where relative paths of the
// configuration begin. An error is of type Problems and names every place that is wrong.
func Parse(name string, data []byte) (*Scenario, error) {
	a, err := unpack(name, data)
	if err != nil {
		return nil, err
	}
	s := &Scenario{Name: name, Purpose: strings.TrimSpace(string(a.Comment)), archive: a}
	r := reader{s: s, parts: map[string]part{}}
	r.divide(a)
	if s.Purpose == "" {
		r.add(1, "begins without a purpose: say in a sentence what it shows, before the first part")
	}
	r.config(r.parts[partConfig])
	r.lines(r.parts[partWorld], r.world)
	r.load(r.parts[partLoad])
	r.lines(r.parts[partEvents], r.event)
	r.lines(r.parts[partExpect], r.expect)
	if p, ok := r.parts[partTrace]; ok {
		s.Trace, s.traceAt = p.data, p.line
	}
	r.complete()
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
		return nil, r.problems
	}
	return s, nil
}

// unpack divides the file into its parts. A part without a name is refused first, since txtar cannot read it.
func unpack(name string, data []byte) (*txtar.Archive, error) {
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if string(bytes.TrimRight(text, "\r\n")) == "-- --" {
			return nil, Problems{
				{File: name, Line: line,
					Message: "a part has no name: write -- hale.yaml --, -- world --, -- events -- …"},
			}
		}
	}
	return txtar.Parse(data), nil
}

// part is one part of a file.
type part struct {
	data []byte
	line int // on which its own text begins
}

// reader collects what is wrong with a file.
type reader struct {
	s        *Scenario
	problems Problems
	parts    map[string]part
	events   []int // the lines of Options.Plan
	fleet    bool
}

func (r *reader) add(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.s.Name, Line: line, Message: fmt.Sprintf(format, args...)})
}

// divide finds the parts.
func (r *reader) divide(a *txtar.Archive) {
	known := []string{partConfig, partWorld, partLoad, partEvents, partExpect, partTrace}
	line := 1 + bytes.Count(a.Comment, []byte("\n"))
	for _, f := range a.Files {
		line++
		earlier, twice := r.parts[f.Name]
		switch {
		case !slices.Contains(known, f.Name):
			r.add(line-1, "there is no part %q: the parts are %s", f.Name, strings.Join(known, ", "))
		case twice:
			r.add(line-1, "part %s is there already, on line %d: keep one of the two", f.Name, earlier.line-1)
		default:
			r.parts[f.Name] = part{f.Data, line}
		}
		line += bytes.Count(f.Data, []byte("\n"))
	}
}

// lines hands out what is neither empty nor a comment.
func (r *reader) lines(p part, each func(line int, words string) error) {
	for i, text := range strings.Split(string(p.data), "\n") {
		text, _, _ = strings.Cut(text, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if err := each(p.line+i, text); err != nil {
			r.add(p.line+i, "%v", err)
		}
	}
}

// config reads the part as a file of its own that begins where the part does, so that places are those of the whole
// file.
func (r *reader) config(p part) {
	if p.line == 0 {
		r.add(1, "has no part %s: it says which fleet the scenario is about", partConfig)
		return
	}
	c, err := config.Parse(r.s.Name, append(bytes.Repeat([]byte("\n"), p.line-1), p.data...), adapters.All())
	var problems keys.Problems
	switch {
	case errors.As(err, &problems):
		for _, q := range problems {
			where := q
			where.File, where.Line, where.Column = "", 0, 0
			_, what, _ := strings.Cut(where.String(), ": ")
			r.add(q.Line, "%s", what)
		}
	case err != nil:
		r.add(p.line, "%v", err)
	case len(c.Fleets) != 1:
		r.add(p.line, "a scenario is about one fleet, and here are %d: write a file for each", len(c.Fleets))
	default:
		r.fleet = true
		Adopt(&r.s.Options, c, 0)
	}
}

// load reads what is asked of the fleet.
func (r *reader) load(p part) {
	if p.line == 0 {
		return
	}
	t, err := load.Read(bytes.NewReader(p.data))
	var problem load.Problem
	switch {
	case errors.As(err, &problem):
		r.add(p.line+problem.Line-1, "%s", problem.Message)
	case err != nil:
		r.add(p.line, "%v", err)
	}
	o := &r.s.Options
	o.Burden.Load = t
	if err == nil && o.Burden.Capacity == 0 {
		r.add(p.line, "nothing bears the load: say in the part world how much a machine takes, as capacity 100")
	}
}

func (r *reader) event(line int, text string) error {
	e, err := script.Parse(text)
	if err == nil {
		r.s.Options.Plan = append(r.s.Options.Plan, e)
		r.events = append(r.events, line)
	}
	return err
}

// complete fills in what the file leaves out, and says which events cannot happen in this world.
func (r *reader) complete() {
	o := &r.s.Options
	if o.Horizon == 0 {
		for _, e := range o.Plan {
			o.Horizon = max(o.Horizon, e.At+e.For)
		}
		o.Horizon = max(o.Horizon, o.Burden.Load.Span()) + time.Hour
	}
	if o.Calm == 0 {
		o.Calm = time.Minute
	}
	if !r.fleet {
		return
	}
	for i, e := range o.Plan {
		alone := *o
		alone.Plan = []script.Event{e}
		if err := sim.Check(alone); err != nil {
			r.add(r.events[i], "%v", err)
		}
	}
}
