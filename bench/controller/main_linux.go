// Command controller measures a whole hale with very many machines: how soon it knows them all, what it takes at rest,
// and how soon it finds those that fall silent, every one and no other. The machines are addresses of this network
// namespace, the provider is a program that lists them (an exec provider, so that nothing in hale knows of this), the
// probes are real.
//
//	controller [-n 50000] [-fleets 10] [-every 1s] [-dead 0.1] [-hale bin/hale] [-out FILE]
//	           [-profiles FOLDER]
//	controller -servers 3 [-etcd] [-n 10000] [-fleets 10] [-every 5s] [-rest 1m]
//
// With several servers it measures what an installation takes at rest: the active one, those that stand by, and their
// etcd. With -dead 0 it measures only starts and rest.
//
// scripts/bench-controller.sh makes the namespace.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"hale/internal/testbed/etcdtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-controller:", err)
		os.Exit(1)
	}
}

// options are those of one run.
type options struct {
	machines, fleets int
	every            time.Duration
	dead             float64
	rest             time.Duration
	seed             uint64
	hale, out        string
	profiles         string
	servers          int
	etcd             bool
}

func run(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == "provider" {
		return provide(args[1], args[2], os.Stdin, os.Stdout)
	}
	if len(args) > 1 && args[0] == "etcd" {
		os.Args = os.Args[1:]
		etcdtest.Serve()
		return nil
	}
	var o options
	flags := flag.NewFlagSet("controller", flag.ContinueOnError)
	flags.IntVar(&o.machines, "n", 50_000, "machines")
	flags.IntVar(&o.fleets, "fleets", 10, "fleets that they are in")
	flags.DurationVar(&o.every, "every", time.Second, "interval of the checks")
	flags.Float64Var(&o.dead, "dead", 0.1,
		"share that falls silent, at random, all at once; 0: only starts and rest are measured")
	flags.DurationVar(&o.rest, "rest", 30*time.Second, "how long it is measured at rest")
	flags.Uint64Var(&o.seed, "seed", 1, "of the choice of those that fall silent")
	flags.StringVar(&o.hale, "hale", "bin/hale", "the program")
	flags.StringVar(&o.out, "out", "", "file for the figures, as JSON")
	flags.StringVar(&o.profiles, "profiles", "", "folder for profiles of hale's memory, for go tool pprof")
	flags.IntVar(&o.servers, "servers", 1, "servers; of more than one, only what they take at rest is measured")
	flags.BoolVar(&o.etcd, "etcd", false,
		"with servers: they share three etcd servers, and are no cluster of their own")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.fleets < 1 || o.machines < o.fleets || o.machines%o.fleets != 0 || o.machines > most {
		return fmt.Errorf("-n %d is no multiple of -fleets %d up to %d", o.machines, o.fleets, most)
	}
	if o.servers > 1 {
		return idle(ctx, o)
	}
	return measure(ctx, o)
}
