package rehearsal

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"hale/internal/config"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/load"
	"hale/internal/sim/script"
	"hale/internal/sim/source"
	"hale/internal/sim/world"
	"hale/internal/trial/scenario"
)

// Options is what is to be played.
type Options struct {
	Config *config.Config
	Fleet  fleet.Name // empty: each one of the configuration, one after the other
	Seed   uint64
	// Horizon is how long faults may begin; afterwards the run goes on until what was begun can have ended. Zero: 30
	// days.
	Horizon time.Duration
	// Servers is how many hale servers share each fleet. Zero: one.
	Servers int
	// Operator is the mean time until a person who was paged mends what hale left to them; zero: never.
	Operator time.Duration
	// Weather says what goes wrong.
	Weather Weather
	// Load is what is asked of each fleet; nil: nothing is said of it.
	Load *load.Trace
	// Capacity is how much of it a machine takes. Zero: what an opinion on the size takes for that (Takes).
	Capacity float64
	// Trace receives every run as text, each fleet's under its name; nil: no trace is written.
	Trace io.Writer
}

// Weather makes the plan of what goes wrong.
type Weather interface {
	// Title names it in a few words.
	Title() string
	// befall puts on the run what happens to its fleet, and returns what of it does not fit.
	befall(o *sim.Options) (unfit []string)
}

const day = 24 * time.Hour

// Rehearse plays the order. An error means that it cannot be played at all; what goes wrong in the play is in the
// outcome.
func Rehearse(order Options) (Outcome, error) {
	order = order.complete()
	out := Outcome{Seed: order.Seed, Weather: order.Weather.Title(), DidNotFit: []string{}, Found: []Found{}}
	fleets, err := order.fleets()
	if err != nil {
		return Outcome{}, err
	}
	for _, i := range fleets {
		f, unfit, err := order.play(i)
		if err != nil {
			return Outcome{}, fmt.Errorf("fleet %s: %w", order.Config.Fleets[i].Name, err)
		}
		for _, u := range unfit {
			out.DidNotFit = append(out.DidNotFit, fmt.Sprintf("fleet %s: %s", f.Name, u))
		}
		out.Fleets = append(out.Fleets, f)
		out.Score.Add(f.Result.Score)
	}
	return out, nil
}

// Check says what is wrong with the order itself.
func (o Options) Check() error {
	all, err := o.fleets()
	for _, i := range all {
		if f := &o.Config.Fleets[i]; err == nil && o.Load != nil && o.Capacity == 0 && Takes(f.Sizing) == 0 {
			err = fmt.Errorf("nothing says how much of the load a machine of fleet %s takes: no opinion on its size has a "+
				"target for it", f.Name)
		}
	}
	return err
}

// Takes returns how much of a load a machine takes by the policy: the greatest target that an opinion has for it, with
// what is tolerated above it, since no machine is added for that; zero: none has.
func Takes(p *policy.Sizing) float64 {
	most := 0.0
	if p == nil {
		return most
	}
	for i := range p.Opinions {
		o := &p.Opinions[i]
		m := p.Metric(o.Metric)
		if o.Kind != policy.OpinionTarget || m == nil {
			continue
		}
		if q := source.Usual(p, m); q == load.TotalLoad || q == load.LoadOfEach {
			most = max(most, o.Target*(1+o.Tolerance))
		}
	}
	return most
}

func (o Options) complete() Options {
	if o.Horizon == 0 {
		o.Horizon = 30 * day
	}
	o.Servers = max(o.Servers, 1)
	return o
}

// fleets returns the indices of the fleets to play.
func (o Options) fleets() ([]int, error) {
	var all []int
	var names []string
	for i, f := range o.Config.Fleets {
		if o.Fleet == "" || f.Name == o.Fleet {
			all = append(all, i)
		}
		names = append(names, string(f.Name))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no fleet %q; there are %s", o.Fleet, strings.Join(names, ", "))
	}
	return all, nil
}

// play plays one fleet.
func (o Options) play(index int) (Fleet, []string, error) {
	options := sim.Options{
		Servers: o.Servers, Seed: o.Seed, Horizon: o.Horizon, Operator: o.Operator, History: &chronicle.History{},
	}
	scenario.Adopt(&options, o.Config, index)
	furnish(&options)
	unfit := o.Weather.befall(&options)
	if o.Load != nil {
		options.Burden = sim.Burden{Load: *o.Load, Capacity: o.Capacity}
		if o.Capacity == 0 {
			options.Burden.Capacity = Takes(options.Spec.Sizing)
		}
	}
	var lines bytes.Buffer
	options.Trace = o.listen(&lines, options.Spec.Name)
	result, err := sim.Run(options)
	if err != nil {
		return Fleet{}, nil, err
	}
	options.Trace = nil
	f := newFleet(options, result)
	f.Unexpected = o.unexpected(result, lines.Bytes())
	return f, unfit, nil
}

// listen returns where the trace of the fleet's run goes: to the order's Trace, and to a story that expects one.
func (o Options) listen(lines *bytes.Buffer, name fleet.Name) io.Writer {
	var ears []io.Writer
	if o.Trace != nil {
		_, _ = fmt.Fprintf(o.Trace, "fleet %s\n", name) // a trace that cannot be written must not change the run
		ears = append(ears, o.Trace)
	}
	if s, ok := o.Weather.(Story); ok && s.Script.Expects() {
		ears = append(ears, lines)
	}
	if len(ears) == 0 {
		return nil
	}
	return io.MultiWriter(ears...)
}

// unexpected says what is not as the story has it.
func (o Options) unexpected(r sim.Result, lines []byte) []string {
	out := []string{}
	if s, ok := o.Weather.(Story); ok {
		for _, p := range s.Script.Compare(r, lines) {
			out = append(out, p.String())
		}
	}
	return out
}

// furnish names the one host of a provider that has no hosts to name: events need a name to strike.
func furnish(o *sim.Options) {
	if len(o.Hosts) == 0 {
		o.Hosts = []world.Host{{}}
	}
	for i := range o.Hosts {
		if o.Hosts[i].Name == "" {
			o.Hosts[i].Name = "h1"
		}
	}
}

// Faults are drawn from the order's seed.
type Faults struct {
	Kinds []script.Kind
	usual bool // they are the default
}

// Usual are the faults of an ordinary, bad month.
func Usual() Faults {
	return Faults{usual: true, Kinds: []script.Kind{
		script.KindMachine,
		script.KindStorm,
		script.KindPartition,
		script.KindPower,
		script.KindProvider,
		script.KindController,
		script.KindPerson,
	}}
}

// Title implements Weather.
func (f Faults) Title() string {
	words := make([]string, len(f.Kinds))
	for i, k := range f.Kinds {
		words[i] = string(k)
	}
	return "faults " + strings.Join(words, ",")
}

// smallest is the size from which on a fleet has a brake.
const smallest = 3

// befall draws the plan. A fleet without a brake, with a policy that takes silence for death, gets no partitions unless
// they were asked for: it would act as it was ordered, and that would hide everything else.
func (f Faults) befall(o *sim.Options) (unfit []string) {
	drawn := slices.Clone(f.Kinds)
	if f.usual && o.Spec.Size < smallest && o.Spec.Repair.Silence == policy.SilenceActs {
		drawn = slices.DeleteFunc(drawn, func(k script.Kind) bool { return k == script.KindPartition })
		unfit = append(unfit, fmt.Sprintf("a fleet of %d has no brake and takes silence for death, so partitions "+
			"are left out; --faults %s plays them",
			o.Spec.Size, script.KindPartition))
	}
	o.Plan = script.Forecast{Seed: o.Seed, Kinds: drawn, Horizon: o.Horizon}.Draw(o.Spec, o.Hosts, o.Servers)
	return unfit
}
