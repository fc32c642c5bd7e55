// Command probes compares hale's probe engine with its peers: HAProxy's checks, fping, blackbox_exporter, and a closed
// loop of bare system calls in C. It runs as root in a network namespace of its own (scripts/bench-probes.sh makes
// one), on loopback only. It takes no figure from a checker: CPU comes from the kernel's schedule of the checker's
// threads, and the kernel or the target counts the checks.
//
// It does not say how fast anything is on a network with distances: both ends of each check run here.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "probes:", err)
		os.Exit(1)
	}
}

// run is the program: without a word it compares, and with one it is one of the comparison's parts.
func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "field":
			return field(ctx, args[1:])
		case "check":
			return check(ctx, args[1:])
		case "load":
			return load(ctx, args[1:])
		}
	}
	flags := flag.NewFlagSet("probes", flag.ContinueOnError)
	var o options
	flags.IntVar(&o.targets, "n", 10000, "targets of the comparisons")
	flags.StringVar(&o.floor, "floor", "", "the closed loop in C, built")
	flags.StringVar(&o.out, "out", "", "file for the figures, as JSON")
	flags.StringVar(&o.only, "only", "", "only the parts with this in their names")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return compare(ctx, o)
}
