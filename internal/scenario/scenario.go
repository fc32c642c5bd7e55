// Package scenario reads and plays scenario files: what one fleet goes through, told so that an operator can read it, and
// what has to come of it.
//
// A file is a txtar archive. The text before its first part is the purpose, in a sentence; the parts are
//
//	hale.yaml   the configuration of one fleet, as for hale run
//	world       where it lives: a line per host, and how the run is set up
//	events      a line for each thing that happens: 10m  host h2 loses power for 5m
//	expect      a line for each figure of the score: repairs 1, held > 0
//	trace       every line that the run writes; made by hale test --update, and read by people
//
// It promises that a file that cannot be understood says where and what would be right, and that equal files give equal
// outcomes. It decides nothing about machines.
package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hale/internal/config"
	"hale/internal/sim"
	"hale/internal/sim/world"

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
	archive *txtar.Archive
}

// The parts of a file.
const (
	partConfig = "hale.yaml"
	partWorld  = "world"
	partEvents = "events"
	partExpect = "expect"
	partTrace  = "trace"
)

// Parse reads a file. Its error names every place that is wrong.
func Parse(name string, data []byte) (*Scenario, error) {
	a := txtar.Parse(data)
	s := &Scenario{Name: name, Purpose: strings.TrimSpace(string(a.Comment)), archive: a}
	r := reader{s: s}
	if s.Purpose == "" {
		r.add(1, "begins without a purpose: say in a sentence what it shows")
	}
	for i := range a.Files {
		r.part(&a.Files[i], lineOf(data, a.Files[i].Name))
	}
	r.complete()
	return s, errors.Join(r.problems...)
}

// lineOf returns the line on which the part's own lines begin.
func lineOf(data []byte, part string) int {
	before, _, _ := bytes.Cut(data, []byte("-- "+part+" --"))
	return bytes.Count(before, []byte("\n")) + 2
}

// reader collects what is wrong with a file.
type reader struct {
	s        *Scenario
	problems []error
	fleet    bool
}

func (r *reader) add(line int, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("%s:%d: %w", r.s.Name, line, fmt.Errorf(format, args...)))
}

func (r *reader) part(f *txtar.File, line int) {
	switch f.Name {
	case partConfig:
		r.config(f.Data, line)
	case partTrace:
		r.s.Trace = f.Data
	case partWorld:
		r.lines(f.Data, line, r.world)
	case partEvents:
		r.lines(f.Data, line, r.event)
	case partExpect:
		r.lines(f.Data, line, r.expect)
	default:
		r.add(line-1, "there is no part %q: the parts are %s, %s, %s, %s and %s", f.Name, partConfig, partWorld, partEvents, partExpect, partTrace)
	}
}

// lines hands out what is neither empty nor a comment.
func (r *reader) lines(data []byte, first int, each func(line string) error) {
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := each(line); err != nil {
			r.add(first+i, "%w", err)
		}
	}
}

func (r *reader) config(data []byte, line int) {
	c, err := config.Parse(r.s.Name+"/"+partConfig, data)
	switch {
	case err != nil:
		r.problems = append(r.problems, err)
	case len(c.Fleets) != 1:
		r.add(line, "%d fleets: a scenario is about one", len(c.Fleets))
	default:
		r.fleet = true
		Adopt(&r.s.Options, c, 0)
	}
}

// Adopt sets a run up for the configuration's fleet with the index, on its provider.
func Adopt(o *sim.Options, c *config.Config, index int) {
	o.Spec = c.Fleets[index]
	for _, p := range c.Providers {
		if p.Name != o.Spec.Provider {
			continue
		}
		o.Poll = p.Poll
		if p.Type == config.ProviderSimulated {
			o.Boot, o.BootMost = max(p.Simulated.Boot, time.Millisecond), p.Simulated.Boot
			o.Latency, o.LatencyMost = max(p.Simulated.Latency, time.Millisecond), p.Simulated.Latency
		}
		for _, h := range p.Hosts {
			o.Hosts = append(o.Hosts, world.Host{Name: string(h.Name)})
		}
	}
}

func (r *reader) event(line string) error {
	e, err := sim.ParseEvent(line)
	r.s.Options.Plan = append(r.s.Options.Plan, e)
	return err
}

// world reads one line of the part: "host h1 rack r1 room m1", or a setting and its value.
func (r *reader) world(line string) error {
	words := strings.Fields(line)
	o := &r.s.Options
	if words[0] == "host" {
		h, err := parseHost(words)
		o.Hosts = append(o.Hosts, h)
		return err
	}
	if words[0] == "empty" && len(words) == 1 {
		o.Empty = true
		return nil
	}
	if len(words) != 2 {
		return fmt.Errorf("%q: write host NAME rack R room M zone Z network N storage S, empty, or one of servers, seed, run, calm, boot, latency and operator with its value", line)
	}
	return setting(o, words[0], words[1])
}

func setting(o *sim.Options, key, value string) error {
	numbers := map[string]func(uint64){
		"servers": func(n uint64) { o.Servers = int(min(n, 9)) }, "seed": func(n uint64) { o.Seed = n },
	}
	times := map[string]func(time.Duration){
		"run": func(d time.Duration) { o.Horizon = d }, "calm": func(d time.Duration) { o.Calm = d },
		"boot":     func(d time.Duration) { o.Boot, o.BootMost = d, d },
		"latency":  func(d time.Duration) { o.Latency, o.LatencyMost = d, d },
		"operator": func(d time.Duration) { o.Operator = d },
	}
	if set, ok := numbers[key]; ok {
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			return fmt.Errorf("%s is a number, not %q", key, value)
		}
		set(n)
		return nil
	}
	set, ok := times[key]
	if !ok {
		return fmt.Errorf("there is no setting %q: write host, empty, servers, seed, run, calm, boot, latency or operator", key)
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return fmt.Errorf("%s is a duration, not %q", key, value)
	}
	set(d)
	return nil
}

func parseHost(words []string) (world.Host, error) {
	if len(words)%2 != 0 {
		return world.Host{}, fmt.Errorf("host: write pairs, as host h1 rack r1")
	}
	var h world.Host
	for i := 0; i < len(words); i += 2 {
		into, ok := map[string]*string{
			"host": &h.Name, "rack": &h.Rack, "room": &h.Room, "zone": &h.Zone, "network": &h.Network, "storage": &h.Storage,
		}[words[i]]
		if !ok {
			return h, fmt.Errorf("a host has a rack, room, zone, network and storage, but no %q", words[i])
		}
		*into = words[i+1]
	}
	return h, nil
}

// complete fills in what the file leaves out, and says what it must not leave out.
func (r *reader) complete() {
	o := &r.s.Options
	if !r.fleet && len(r.problems) == 0 {
		r.add(1, "has no part %s", partConfig)
	}
	if o.Horizon == 0 {
		for _, e := range o.Plan {
			o.Horizon = max(o.Horizon, e.At+e.For)
		}
		o.Horizon += time.Hour
	}
	if o.Calm == 0 {
		o.Calm = time.Minute
	}
	if r.fleet {
		if err := sim.Check(*o); err != nil {
			r.problems = append(r.problems, fmt.Errorf("%s: %w", r.s.Name, err))
		}
	}
}
