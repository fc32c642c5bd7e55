package rehearsal

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/sim"
	"hale/internal/sim/script"
	"hale/internal/sim/trace"
	"hale/internal/sim/verbs"
	"hale/internal/sim/weather"
	"hale/internal/sim/world"
)

// Recorded is the weather of a failure trace: what really failed somewhere, on the user's fleet. A failed node is an
// input to a machine's fate, not its death in every case: what fails is the outage's cause where the simulated world
// knows it, and else a mixture of crashes, hangs and lost disks.
type Recorded struct {
	Name string // of the file
	File trace.File
}

const (
	// quiet is how long nothing fails at first, so that hale has seen every machine.
	quiet = 10 * time.Minute
	// lengths is the fit from which the end of an outage is drawn where the trace has none.
	lengths = "lanl-2005"
	// The racks of a fleet without hosts in its configuration are at most so large, unless its trace has larger ones.
	mostPerRack, mostPerRoom = 10, 4
)

// Title implements Weather.
func (r Recorded) Title() string { return "trace " + r.Name }

// Span is how long the trace lasts, with the quiet time before it: the horizon that holds all of it.
func (r Recorded) Span() time.Duration {
	var last time.Duration
	for _, o := range r.File.Trace {
		last = max(last, o.Start, o.End)
	}
	return quiet + last + time.Second
}

func (r Recorded) befall(o *sim.Options) (unfit []string) {
	p := placing{o: o}
	for _, column := range r.File.Ignored {
		p.say("column %q says nothing that a trace can say", column)
	}
	whole := r.File.Trace
	t := whole.Window(0, max(o.Horizon-quiet, 0))
	if late := len(whole) - len(t); late > 0 {
		p.say("%s later than %s after the first", begin(late), o.Horizon-quiet)
	}
	t, repeats := t.Merge(0)
	if repeats > 0 {
		p.say("%s while the same node was down already, and taken for the same", begin(repeats))
	}
	t = r.ended(t, o.Seed)
	p.place(t)
	p.plan(t)
	return p.unfit
}

// ended draws the ends that the trace does not have.
func (r Recorded) ended(t trace.Trace, seed uint64) trace.Trace {
	fit, err := weather.FitNamed(lengths)
	if err != nil {
		return t // it is a constant of ours
	}
	random := weather.Rand(seed)
	return t.FillEnds(func() time.Duration { return max(fit.Length.Draw(random).Round(time.Second), time.Second) })
}

// placing puts a trace on a fleet.
type placing struct {
	o     *sim.Options
	of    map[int]int // the machine, from 0, of an outage
	unfit []string
}

func (p *placing) say(format string, args ...any) {
	p.unfit = append(p.unfit, fmt.Sprintf(format, args...))
}

// place gives each node a machine: the one that it names, if all of them name machines of the fleet, or one in a rack
// and room of its own kind.
func (p *placing) place(t trace.Trace) {
	if p.named(t) {
		return
	}
	shape := p.shape(t)
	m, err := trace.Map(t, shape)
	if err != nil {
		p.say("the whole trace: %v", err)
		return
	}
	p.of = map[int]int{}
	for _, placed := range m.Outages {
		p.of[placed.Outage] = placed.Machine
	}
	for _, l := range m.Lost(t) {
		p.say("%s of %s: %s", times(l.Outages, "outage"), times(l.Nodes, "node"), l.Reason)
	}
	if m.Moved > 0 {
		p.say("%s stood at several places; each plays where it failed most", times(m.Moved, "node"))
	}
	p.house(m.Layout)
}

// named takes nodes for the machines that they name.
func (p *placing) named(t trace.Trace) bool {
	of := map[int]int{}
	beyond := map[string]bool{}
	for i, o := range t {
		n, ok := fleet.MachineName(o.Node).Ordinal()
		switch {
		case !ok || fleet.MachineName(o.Node).Fleet() != p.o.Spec.Name:
			return false
		case n > p.o.Spec.Size:
			beyond[o.Node] = true
		default:
			of[i] = n - 1
		}
	}
	if len(of) == 0 {
		return false
	}
	p.of = of
	if len(beyond) > 0 {
		p.say("%s: the fleet has %s",
			strings.Join(slices.Sorted(maps.Keys(beyond)), ", "), times(p.o.Spec.Size, "machine"))
	}
	return true
}

// shape is how the fleet's machines stand in racks and rooms: as the configuration's hosts do, each by itself or in
// its rack; where there is only one, they stand as the trace's do, as far as they suffice.
func (p *placing) shape(t trace.Trace) trace.Shape {
	size := p.o.Spec.Size
	nodes, racks := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, o := range t {
		rack := o.Room + "\x00" + o.Rack
		note(nodes, rack, o.Node)
		note(racks, o.Room, rack)
	}
	s := trace.Shape{Machines: size}
	s.PerRack = share(size, len(nodes), min(largest(nodes), mostPerRack))
	if groups := p.groups(); len(groups) > 1 {
		s.PerRack = share(size, len(groups), 1)
	}
	s.RacksPerRoom = share(share(size, s.PerRack, 1), len(racks), min(largest(racks), mostPerRoom))
	return s
}

// share returns how many of n fall to each of the parts, rounded up, and at least the least.
func share(n, parts, least int) int { return max((n+max(parts, 1)-1)/max(parts, 1), least, 1) }

func note(in map[string]map[string]bool, key, what string) {
	if in[key] == nil {
		in[key] = map[string]bool{}
	}
	in[key][what] = true
}

func largest(of map[string]map[string]bool) int {
	n := 0
	for _, m := range of {
		n = max(n, len(m))
	}
	return n
}

// house builds a host for each rack, or spreads each rack's machines over the hosts that the configuration has there.
func (p *placing) house(layout []trace.Place) {
	groups := p.groups()
	var built []world.Host
	p.o.Homes = nil
	for i, at := range layout {
		if len(groups) > 1 {
			here := groups[at.Rack]
			p.o.Homes = append(p.o.Homes, here[i%len(here)].Name)
			continue
		}
		if at.Rack == len(built) {
			n := strconv.Itoa(at.Rack + 1)
			built = append(built, world.Host{Name: "h" + n, Rack: "r" + n, Room: "m" + strconv.Itoa(at.Room+1)})
		}
		p.o.Homes = append(p.o.Homes, built[at.Rack].Name)
	}
	if len(groups) <= 1 {
		p.o.Hosts = built
	}
}

// groups are the racks of the configuration: hosts of one rack, and each host by itself that is in none.
func (p *placing) groups() [][]world.Host {
	var groups [][]world.Host
	at := map[string]int{}
	for _, h := range p.o.Hosts {
		rack := h.Room + "\x00" + h.Rack
		i, known := at[rack]
		if h.Rack == "" || !known {
			i = len(groups)
			groups = append(groups, nil)
			at[rack] = i
		}
		groups[i] = append(groups[i], h)
	}
	return groups
}

// plan makes events of the outages that have a machine.
func (p *placing) plan(t trace.Trace) {
	strange := map[string]int{}
	part := p.together(t)
	for i, o := range t {
		n, ok := p.of[i]
		if !ok || part[i] {
			continue
		}
		verb, known := verbOf(o)
		if !known {
			strange[o.Cause]++
		}
		p.o.Plan = append(p.o.Plan, script.Event{
			At: quiet + o.Start, Subject: string(p.o.Spec.Name.Machine(n + 1)), Verb: verb, For: o.End - o.Start,
		})
	}
	slices.SortStableFunc(p.o.Plan, func(a, b script.Event) int { return cmp.Compare(a.At, b.At) })
	for _, cause := range slices.Sorted(maps.Keys(strange)) {
		p.say("cause %q is none that the simulated world knows: %s, hangs or lost disks", cause, became(strange[cause]))
	}
}

// Causes are the words that a trace may use for what happened to a machine, beside the verbs of scenario files.
func Causes() map[string]script.Verb {
	return map[string]script.Verb{
		"crash": verbs.Crashes, "power": verbs.Crashes, "hang": verbs.Hangs, "disk": verbs.LosesDisk,
		"network": verbs.LosesNet, "panic": verbs.Panics, "application": verbs.StopsApp, "slow": verbs.IsSlow,
		"shutdown": verbs.ShutsDown, "stopped": verbs.IsStopped, "paused": verbs.IsPaused,
	}
}

// verbOf is what the outage does to its machine, and false where its cause is not known. Without a cause four in eight
// crash, three hang, and one loses its disk; the same one in every run.
func verbOf(o trace.Outage) (verb script.Verb, known bool) {
	word := strings.ToLower(o.Cause)
	if v, ok := Causes()[word]; ok {
		return v, true
	}
	for _, v := range Causes() {
		if string(v) == word {
			return v, true
		}
	}
	switch word {
	case string(verbs.Fails503):
		return verbs.Fails503, true
	case string(verbs.Vanishes):
		return verbs.Vanishes, true
	}
	h := fnv.New32a()
	h.Write([]byte(o.Node + o.Start.String())) // hash.Hash never fails to write
	mixture := []script.Verb{
		verbs.Crashes, verbs.Crashes, verbs.Crashes, verbs.Crashes, verbs.Hangs, verbs.Hangs, verbs.Hangs,
		verbs.LosesDisk,
	}
	return mixture[int(h.Sum32()>>1)%len(mixture)], word == ""
}

func begin(n int) string {
	if n == 1 {
		return "1 outage begins"
	}
	return fmt.Sprintf("%d outages begin", n)
}

func became(n int) string {
	if n == 1 {
		return "its outage is one of the usual crashes"
	}
	return fmt.Sprintf("its %d outages are the usual crashes", n)
}
