// Command mutants asks whether the tests would notice. It changes the source of some packages in one small, mechanical
// way at a time, runs the tests on each changed version, and reports which versions pass: those show what no test
// holds.
//
//	mutants [flags] [packages]
//
// The packages are guard, placement, repair and decide, unless others are named; the tests are those of the simulated
// world. See bench/README.md.
//
// It promises not to touch the tree: the changed files are an overlay of the build. It judges nothing before the tests
// pass on the source as it stands. Equal sources, flags and seeds give the same mutants. What a mutant that survives
// means, it leaves to a person: see explained.txt.
//
// It needs Linux, for the limit on a run's memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
)

// options are the command line, parsed.
type options struct {
	packages  []string
	command   string
	workers   int
	sample    int
	seed      uint64
	only      *regexp.Regexp
	hand      string
	explained string
	limit     cost
	memory    uint64 // MiB
	atLeast   float64
	json      string
	cover     bool
	list      bool
}

func parse(args []string, complain io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("mutants", flag.ContinueOnError)
	f.SetOutput(complain)
	f.StringVar(&o.command, "cmd", "go test -count=1 -failfast ./internal/sim/...",
		"the `tests` that must fail; flags as -name=value")
	f.IntVar(&o.workers, "workers", runtime.NumCPU(), "mutants judged side by side")
	f.IntVar(&o.sample, "sample", 0,
		"judge only so many, spread over packages and operators; those made by hand come on top (0: all)")
	f.Uint64Var(&o.seed, "seed", 1, "what the sample is chosen by")
	only := f.String("only", "", "judge only those with an id that matches the `expression`")
	f.StringVar(&o.hand, "hand", "bench/mutants/hand.yaml", "the `file` of mutants made by hand (empty: none)")
	f.StringVar(&o.explained, "explained", "bench/mutants/explained.txt",
		"the `file` of explained survivors (empty: none)")
	f.DurationVar(&o.limit.cpu, "limit", 0,
		"the processor time that one mutant's tests get, in whole seconds (0: four times the baseline's, at least 20s)")
	f.DurationVar(&o.limit.wall, "wall", 0, "the time by the clock that they get (0: three times -limit)")
	f.Uint64Var(&o.memory, "memory", 2048, "the MiB that one mutant's tests get (0: any)")
	f.Float64Var(&o.atLeast, "at-least", 0.90, "the share that must be caught")
	f.StringVar(&o.json, "json", "",
		"write all results as one object to the `file` (-: standard output, in place of the report)")
	f.BoolVar(&o.cover, "cover", false, "find out first what the tests never reach, and do not run those mutants")
	f.BoolVar(&o.list, "list", false, "list the mutants, run nothing")
	if err := f.Parse(args); err != nil {
		return options{}, err
	}
	o.packages = f.Args()
	if len(o.packages) == 0 {
		o.packages = []string{"./internal/core/guard", "./internal/core/placement", "./internal/core/chart",
			"./internal/core/look", "./internal/core/ladder", "./internal/core/repair", "./internal/core/round",
			"./internal/core/rollout", "./internal/core/ledger", "./internal/core/proving", "./internal/core/inference",
			"./internal/core/telling", "./internal/core/believing", "./internal/core/adopting",
			"./internal/core/orders",
			"./internal/core/decide"}
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return options{}, fmt.Errorf("-only: %w", err)
	}
	if o.workers < 1 || o.sample < 0 || o.limit.cpu < 0 || o.limit.wall < 0 {
		return options{}, errors.New("-workers must be one or more; -sample, -limit and -wall not negative")
	}
	return o, nil
}

func main() { os.Exit(status()) }

// status runs the command line and returns the exit status: 1 when too little was caught, 2 when nothing was judged.
func status() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "mutants:", err)
		}
		return 2
	}
	err = run(ctx, ".", o, os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, errTooFew):
		fmt.Fprintln(os.Stderr, "mutants:", err)
		return 1
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		return 2
	}
	return 0
}
