// Command sizes plays hale's rule for a fleet's size, and those of other systems, in the same simulated world under the
// same loads, and prints what each cost as tables. The first line names the seed; equal flags give equal tables.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/sim"
	"hale/internal/sim/load"
	"hale/internal/sim/scaler"
	"hale/internal/sim/score"
	"hale/internal/sim/script"
	"hale/internal/trial/scenario"
)

// The fleet: what hale reads is what the others read, too, and all are to keep the same use, so far as they know one.
const (
	least, most = 2, 20
	capacity    = 100.0 // units per second of a machine
	peak        = 1300.0
	target      = 70.0 // percent
)

// policy is a fleet of so many machines with hale's own defaults; %s is what moves its size.
const policy = `
providers: {lab: {type: simulated}}
fleets:
  web:
    provider: lab
    size: {min: %d, max: %d%s}
    template: {image: web.qcow2, disks: {root: ephemeral}}
    checks: {page: {http: {}}}
`

// opinion is hale's rule.
const opinion = `, metrics: {busy: {provider: cpu}}, opinions: {busy: {metric: busy, target: %v%s}}%s`

type flags struct {
	seed   uint64
	runs   int
	days   float64
	target float64
	faults bool
	only   string
	trace  string
	keys   string // further ones of the size
	own    string // and of the opinion
	hale   bool
}

func main() {
	debug.SetGCPercent(400)
	var f flags
	flag.Uint64Var(&f.seed, "seed", 1, "the first run's seed")
	flag.IntVar(&f.runs, "runs", 3, "how many runs of each load, each with a seed of its own")
	flag.Float64Var(&f.days, "days", 7, "how long each is")
	flag.Float64Var(&f.target, "target", target, "the use in percent that is to be kept")
	flag.BoolVar(&f.faults, "faults", true, "let machines fail meanwhile, the same for all")
	flag.StringVar(&f.only, "load", "", "only loads of this shape")
	flag.StringVar(&f.trace, "trace", "", "with -load: write what the first run of hale's says to this file")
	flag.StringVar(&f.keys, "keys", "", "further keys of hale's size, as 'down: {stabilise: 10m}'")
	flag.StringVar(&f.own, "opinion", "", "further keys of its opinion, as 'tolerance: 0.2'")
	flag.BoolVar(&f.hale, "hale", false, "play hale alone, and print the sums")
	flag.Parse()
	if err := run(f, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

// rule is one that is compared: hale's own where scaler is empty.
type rule struct {
	name   string
	scaler scaler.Kind
	target float64
}

// cost is what a rule came to under loads.
type cost struct {
	rule
	score.Sizes
}

// dominates reports whether the one is better than, or equal to, the other in all that counts.
func (c *cost) dominates(o *cost) bool {
	return c.SecondsUnder <= o.SecondsUnder && c.HoursOver <= o.HoursOver && c.Changes() <= o.Changes()
}

func run(f flags, out io.Writer) error {
	fmt.Fprintf(out, "seed %d, %d runs of %v days each, %d to %d machines of %v units, target %v %%\n", f.seed, f.runs,
		f.days, least, most, capacity, f.target)
	rules := []rule{{name: "hale", target: f.target}}
	for _, k := range scaler.Kinds() {
		if f.hale {
			break
		}
		rules = append(rules, rule{string(k), k, f.target})
	}
	total, bad := map[string]*cost{}, 0
	for _, shape := range load.Shapes() {
		if f.only != "" && load.Shape(f.only) != shape {
			continue
		}
		var costs []*cost
		for _, r := range rules {
			c, wrong, err := f.play(r, shape)
			if err != nil {
				return fmt.Errorf("%s under %s: %w", r.name, shape, err)
			}
			costs, bad = append(costs, c), bad+wrong
			if total[r.name] == nil {
				total[r.name] = &cost{rule: r}
			}
			total[r.name].Add(c.Sizes)
		}
		table(out, string(shape), costs)
	}
	var sums []*cost
	for _, r := range rules {
		sums = append(sums, total[r.name])
	}
	table(out, "all", sums)
	if f.hale {
		return nil
	}
	if err := f.sweep(out, sums[0]); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("what must never be was, %d times", bad)
	}
	return verdict(sums)
}

// verdict says whether a rule dominates hale's.
func verdict(sums []*cost) error {
	for _, c := range sums[1:] {
		if c.dominates(sums[0]) {
			return fmt.Errorf("%s dominates hale", c.name)
		}
	}
	return nil
}

func table(out io.Writer, what string, costs []*cost) {
	fmt.Fprintf(out, "\n%-24s %14s %14s %10s %8s %8s\n", what, "seconds under", "hours wasted", "hours on", "out", "in")
	for _, c := range costs {
		fmt.Fprintf(out, "%-24s %14.0f %14.1f %10.1f %8d %8d\n", c.name, c.SecondsUnder, c.HoursOver, c.MachineHours,
			c.ScaledOut, c.ScaledIn)
	}
}

// play plays the rule under loads of the shape, and counts what must never be.
func (f flags) play(r rule, shape load.Shape) (*cost, int, error) {
	c, bad := &cost{rule: r}, 0
	for i := range f.runs {
		o, err := f.options(r, shape, f.seed+uint64(max(i, 0)))
		if err != nil {
			return nil, 0, err
		}
		var file *os.File
		if f.trace != "" && i == 0 && r.scaler == "" {
			if file, err = os.Create(f.trace); err != nil {
				return nil, 0, err
			}
			o.Trace = file
		}
		result, err := sim.Run(o)
		if file != nil {
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return nil, 0, err
		}
		c.Add(result.Score.Sizes)
		bad += result.Score.Wrong()
		for _, v := range result.Violations {
			fmt.Fprintf(os.Stderr, "%s, %s, seed %d: after %s law %s, %s: %s\n", r.name, shape, o.Seed, v.At, v.Law,
				v.Machine, v.What)
		}
	}
	return c, bad, nil
}

// options is one run.
func (f flags) options(r rule, shape load.Shape, seed uint64) (sim.Options, error) {
	moves := ""
	if r.scaler == "" {
		moves = fmt.Sprintf(opinion, r.target, after(f.own), after(f.keys))
	}
	c, err := config.Parse("sizes.yaml", fmt.Appendf(nil, policy, least, most, moves), adapters.All())
	if err != nil {
		return sim.Options{}, err
	}
	horizon := time.Duration(f.days * 24 * float64(time.Hour))
	o := sim.Options{Seed: seed, Horizon: horizon, Calm: time.Minute, Operator: 40 * time.Minute, Unbrakes: true}
	scenario.Adopt(&o, c, 0)
	o.Boot, o.BootMost, o.Latency, o.LatencyMost = 20*time.Second, 60*time.Second, 0, 0
	o.Burden = sim.Burden{
		Load: load.Draw(shape, seed, horizon, peak), Capacity: capacity, Scaler: r.scaler, Target: r.target,
	}
	if f.faults {
		o.Plan = script.Forecast{
			Seed: seed, Kinds: []script.Kind{script.KindMachine}, Horizon: horizon, MachineGap: 20 * 24 * time.Hour,
		}.Draw(o.Spec, o.Hosts, 1)
	}
	return o, nil
}

// after is what follows a comma; nothing, where there is nothing.
func after(text string) string {
	if text == "" {
		return ""
	}
	return ", " + text
}

// sweep compares hale with a threshold and a cooldown where both waste the same: the threshold is moved until it does.
func (f flags) sweep(out io.Writer, hale *cost) error {
	var line []*cost
	for _, high := range []float64{40, 50, 60, 65, 70, 75, 80, 85, 90, 95} {
		sum := &cost{rule: rule{fmt.Sprintf("above %v %%", high), scaler.Heat, high}}
		for _, shape := range load.Shapes() {
			if f.only != "" && load.Shape(f.only) != shape {
				continue
			}
			c, _, err := f.play(sum.rule, shape)
			if err != nil {
				return err
			}
			sum.Add(c.Sizes)
		}
		line = append(line, sum)
	}
	table(out, "threshold and cooldown", line)
	slices.SortFunc(line, func(a, b *cost) int { return cmp.Compare(a.HoursOver, b.HoursOver) })
	i := slices.IndexFunc(line, func(c *cost) bool { return c.HoursOver >= hale.HoursOver })
	if i < 1 {
		fmt.Fprintln(out, "no threshold wastes as many hours as hale")
		return nil
	}
	a, b := line[i-1], line[i]
	part := (hale.HoursOver - a.HoursOver) / (b.HoursOver - a.HoursOver)
	between := func(x, y float64) float64 { return x + part*(y-x) }
	fmt.Fprintf(out,
		"at hale's %.1f hours wasted, between %s and %s: %.0f seconds under, and hale %.0f; %.0f changes, and hale %d\n",
		hale.HoursOver, a.name, b.name, between(a.SecondsUnder, b.SecondsUnder), hale.SecondsUnder,
		between(float64(a.Changes()), float64(b.Changes())), hale.Changes())
	return nil
}
