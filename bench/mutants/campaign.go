package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// errTooFew says that the tests caught less than they must.
var errTooFew = errors.New("too little was caught")

// campaign is one run over many mutants.
type campaign struct {
	options

	tree    tree
	sources []*source
	why     explanations
	scratch string
	say     io.Writer // progress
}

// run mutates the module that dir lies in, as the options say. The report goes to out, progress to say.
func run(ctx context.Context, dir string, o options, out, say io.Writer) (err error) {
	c := campaign{options: o, say: say}
	if c.tree, err = loadTree(ctx, dir); err != nil {
		return err
	}
	if c.scratch, err = os.MkdirTemp("", "mutants-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.scratch)) }()
	if o.explained != "" {
		if c.why, err = loadExplained(c.tree.abs(o.explained)); err != nil {
			return err
		}
	}
	mutants, err := c.collect(ctx)
	if err != nil {
		return err
	}
	if o.list {
		for _, m := range mutants {
			fmt.Fprintf(out, "%s\t%s\t%s\n", m.ID, m.Operator, m.Function)
		}
		return nil
	}
	results, baseline, err := c.judge(ctx, mutants)
	if err != nil {
		return err
	}
	if err := c.report(out, results, baseline); err != nil {
		return err
	}
	return ctx.Err() // what was judged before an interrupt is reported, but it is not all
}

// collect lists the mutants, mechanical ones first.
func (c *campaign) collect(ctx context.Context) ([]mutant, error) {
	var err error
	if c.sources, err = c.tree.load(ctx, c.packages); err != nil {
		return nil, err
	}
	var all []mutant
	for _, s := range c.sources {
		found, err := enumerate(s)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if c.hand != "" {
		byHand, err := c.tree.loadHand(c.tree.abs(c.hand))
		if err != nil {
			return nil, err
		}
		all = append(all, byHand...)
	}
	return slices.DeleteFunc(all, func(m mutant) bool { return !c.only.MatchString(m.ID) }), nil
}

// choose divides the mutants: those to be judged, and those with a known outcome.
func (c *campaign) choose(mutants []mutant) (chosen []mutant, known []result) {
	sound, known := screen(c.sources, mutants)
	first := slices.IndexFunc(sound, func(m mutant) bool { return m.Operator == opHand })
	if first < 0 {
		first = len(sound)
	}
	chosen = slices.Concat(sample(sound[:first], c.sample, c.seed), sound[first:])
	picked := map[string]bool{}
	for _, m := range chosen {
		picked[m.ID] = true
	}
	for _, m := range sound {
		if !picked[m.ID] {
			known = append(known, result{mutant: m, Outcome: notRun})
		}
	}
	return chosen, known
}

// judge holds the chosen mutants against the tests, and returns the results of all in the order of their source, and
// what the baseline cost.
func (c *campaign) judge(ctx context.Context, mutants []mutant) ([]result, cost, error) {
	begin := time.Now()
	chosen, results := c.choose(mutants)
	fmt.Fprintf(c.say, "%d mutants, %d to be judged; seed %d\n", len(mutants), len(chosen), c.seed)
	s, err := c.tree.loadSuite(ctx, c.command)
	if err != nil {
		return nil, cost{}, err
	}
	s.memory = c.memory << 20
	base := filepath.Join(c.scratch, "baseline")
	if err := os.Mkdir(base, 0o750); err != nil {
		return nil, cost{}, err
	}
	baseline, err := s.baseline(ctx, base)
	if err != nil {
		return nil, cost{}, err
	}
	limit := limitFor(baseline, c.limit)
	fmt.Fprintf(c.say, "the baseline passes in %.1fs, with %.1fs of processor time; "+
		"each mutant gets %v of that, and %v by the clock\n",
		baseline.wall.Seconds(), baseline.cpu.Seconds(), limit.cpu.Round(time.Second), limit.wall.Round(time.Second))
	if c.cover {
		reached, err := s.cover(ctx, c.sources, base)
		if err != nil {
			return nil, cost{}, err
		}
		chosen = slices.DeleteFunc(chosen, func(m mutant) bool {
			out := !reached.reaches(m)
			if out {
				results = append(results, result{mutant: m, Outcome: notReached})
			}
			return out
		})
		fmt.Fprintf(c.say, "%d to be judged are reached\n", len(chosen))
	}
	s.jobs = max(1, runtime.NumCPU()/c.workers)
	judged, err := s.judgeAll(ctx, chosen, c.scratch, c.workers, limit, c.progress(len(chosen)))
	if err != nil {
		return nil, cost{}, err
	}
	fmt.Fprintf(c.say, "judged in %v\n", time.Since(begin).Round(time.Second))
	return inOrder(mutants, append(results, judged...)), baseline, nil
}

// progress tells each result as it comes.
func (c *campaign) progress(total int) func(result) {
	n := 0
	return func(r result) {
		n++
		fmt.Fprintf(c.say, "%4d/%d  %-13s build %4.1fs run %5.1fs  %s  [%s]\n",
			n, total, r.Outcome, r.Built, r.Ran, r.ID, r.By)
	}
}

// inOrder sorts results as their mutants are.
func inOrder(mutants []mutant, results []result) []result {
	place := map[string]int{}
	for i, m := range mutants {
		place[m.ID] = i
	}
	slices.SortFunc(results, func(a, b result) int { return place[a.ID] - place[b.ID] })
	return results
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// document is what -json writes.
type document struct {
	Command  string   `json:"command"`
	Sample   int      `json:"sample"`
	Seed     uint64   `json:"seed"`
	Baseline float64  `json:"baseline_seconds"`
	Work     float64  `json:"baseline_cpu_seconds"`
	Share    float64  `json:"share"`
	AtLeast  float64  `json:"at_least"`
	Table    []count  `json:"table"`
	Mutants  []judged `json:"mutants"`
}

type judged struct {
	result

	Explained string `json:"explained,omitempty"`
}

// report prints what was found, and says whether it is enough.
func (c *campaign) report(out io.Writer, results []result, baseline cost) error {
	rows := tally(results)
	share, some := rows[len(rows)-1].share()
	if c.json != "" {
		d := document{
			Command:  c.command,
			Sample:   c.sample,
			Seed:     c.seed,
			Baseline: baseline.wall.Seconds(),
			Work:     baseline.cpu.Seconds(),
			Share:    share, AtLeast: c.atLeast, Table: rows,
		}
		for _, r := range results {
			d.Mutants = append(d.Mutants, judged{r, c.why[r.key()]})
		}
		if err := d.write(c.json, out); err != nil {
			return err
		}
	}
	if c.json != "-" {
		fmt.Fprintf(out, "tests: %s\n\n", c.command)
		if err := printTable(out, rows); err != nil {
			return err
		}
		if err := c.tree.printSurvivors(out, results, c.why); err != nil {
			return err
		}
	}
	for _, r := range results {
		if r.Operator == opHand && r.Outcome == notCompiling {
			return fmt.Errorf("%s: %s", r.ID, r.By)
		}
	}
	switch {
	case !some:
		return errors.New("nothing was judged")
	case share < c.atLeast:
		return fmt.Errorf("%w: %.1f %% of the mutants, and at least %.1f %% are wanted",
			errTooFew, 100*share, 100*c.atLeast)
	}
	return nil
}

func (d document) write(file string, out io.Writer) error {
	data, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if file == "-" {
		_, err = out.Write(data)
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
