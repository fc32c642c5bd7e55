package scenario

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/script"
)

// Script is a scenario file without its fleet: what happens, and in which world, to be played by a fleet of the user's
// own. The file may have a part hale.yaml or not. If it has one, what it expects is expected of that fleet and no
// other.
type Script struct {
	Name    string
	Purpose string
	// World holds what the part world says, Horizon and Calm, and the events; the rest is zero.
	World sim.Options
	own   policy.Spec // of the file's own fleet; zero: it has none
	file  Scenario    // for what it expects
}

// LoadScript reads a file from the disk. An error is of type Problems, or says why the file could not be read.
func LoadScript(path string) (*Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return ParseScript(path, data)
}

// ParseScript reads a file's content. An error is of type Problems and names every place that is wrong.
func ParseScript(name string, data []byte) (*Script, error) {
	a, err := unpack(name, data)
	if err != nil {
		return nil, err
	}
	s := &Script{Name: name, Purpose: strings.TrimSpace(string(a.Comment))}
	s.file = Scenario{Name: name, archive: a}
	r := reader{s: &s.file, parts: map[string]part{}}
	r.divide(a)
	if p, ok := r.parts[partConfig]; ok {
		own := Scenario{Name: name}
		reading := reader{s: &own, parts: r.parts}
		reading.config(p)
		r.problems = append(r.problems, reading.problems...)
		s.own = own.Options.Spec
	}
	r.lines(r.parts[partWorld], r.world)
	r.lines(r.parts[partEvents], r.event)
	r.lines(r.parts[partExpect], r.expect)
	if p, ok := r.parts[partTrace]; ok {
		s.file.Trace, s.file.traceAt = p.data, p.line
	}
	calm := s.file.Options.Calm
	r.complete()
	if !s.Expects() {
		s.file.Options.Calm = calm // else as it is when the file itself is played
	}
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
		return nil, r.problems
	}
	s.World = s.file.Options
	return s, nil
}

// About returns the fleets that the script names: its own, or those with machines in its events. None: it happens to
// any fleet alike.
func (s *Script) About() []fleet.Name {
	if s.own.Name != "" {
		return []fleet.Name{s.own.Name}
	}
	var names []fleet.Name
	for _, e := range s.World.Plan {
		if name := fleet.MachineName(e.Subject).Fleet(); e.OfMachine() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Befall puts the script's world and events on a run of another fleet. Its machines play those of the script with the
// same numbers. It returns what does not fit, and leaves that out.
func (s *Script) Befall(o *sim.Options) (unfit []string) {
	w := s.World
	if len(w.Hosts) > 0 {
		o.Hosts = w.Hosts
	}
	if w.Boot != 0 {
		o.Boot, o.BootMost = w.Boot, w.BootMost
	}
	if w.Latency != 0 {
		o.Latency, o.LatencyMost = w.Latency, w.LatencyMost
	}
	o.Empty, o.Calm = w.Empty, w.Calm
	if len(w.Homes) == o.Spec.Size {
		o.Homes = w.Homes
	} else if len(w.Homes) > 0 {
		unfit = append(unfit,
			fmt.Sprintf("where the machines stand: it says so of %d, and the fleet has %d", len(w.Homes), o.Spec.Size))
	}
	for _, e := range w.Plan {
		said := e.String()
		e = e.Of(o.Spec.Name)
		alone := *o
		alone.Plan = []script.Event{e}
		switch err := sim.Check(alone); {
		case err != nil:
			unfit = append(unfit, fmt.Sprintf("%s: %v", said, err))
		case e.At > o.Horizon:
			unfit = append(unfit, fmt.Sprintf("%s: it happens after %s, when the run is over", said, e.At))
		default:
			o.Plan = append(o.Plan, e)
		}
	}
	slices.SortStableFunc(o.Plan, func(a, b script.Event) int { return cmp.Compare(a.At, b.At) })
	return unfit
}

// Expects reports whether the script expects something of any fleet. What a file with a fleet of its own expects, it
// expects of that one.
func (s *Script) Expects() bool {
	return s.own.Name == "" && (len(s.file.Expect) > 0 || s.file.Trace != nil)
}

// Compare says what of a run and its trace is not as the script expects. Laws are no part of it.
func (s *Script) Compare(r sim.Result, trace []byte) []Problem {
	if !s.Expects() {
		return nil
	}
	r.Violations = nil
	return slices.Concat(s.file.compare(r), s.file.diverge(trace))
}
