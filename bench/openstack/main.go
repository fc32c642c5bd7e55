// Command openstack measures hale on a real OpenStack that it starts itself: how soon hale recovers a failed server, by
// event and by poll; what watching costs the cloud; and what hale does when the cloud's own API fails, or hale is
// killed.
//
// It prints a table beside the figures of the retired Senlin on the same kind of cloud, and writes everything as JSON.
// As root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hale/internal/testbed/cloud"
)

// campaign is what is measured.
type campaign struct {
	hale   string // the program
	out    string // the file of results
	sizes  []int
	faults []string
	ways   []string
	parts  []string
	window time.Duration // of the measurement of cost
	keep   string        // a folder for hale's log; empty: none is kept
}

func main() {
	var c campaign
	var sizes, faults, ways, parts string
	flag.StringVar(&c.hale, "hale", "bin/hale", "the program to measure")
	flag.StringVar(&c.out, "out", "bench/out/openstack.json", "where the results go")
	flag.StringVar(&sizes, "sizes", "10,50,200", "sizes of the fleets; of ten one server fails, of more 20 % at once")
	flag.StringVar(&faults, "faults", "error,delete,stop",
		"how servers fail; of more than 10, only the first by poll, and of more than 50 by event, too")
	flag.StringVar(&ways, "ways", "event,poll", "how hale hears of it")
	flag.StringVar(&parts, "parts", "recovery,cost,away,404,kill",
		"what is measured; cost on the fleets of more than 10, away, 404 and kill on the first of 50 or less")
	flag.DurationVar(&c.window, "window", time.Minute, "how long the cost of watching is measured")
	flag.StringVar(&c.keep, "keep", "", "a folder for hale's logs")
	flag.Parse()
	var err error
	if c.sizes, err = numbers(sizes); err != nil {
		fmt.Fprintln(os.Stderr, "openstack:", err)
		os.Exit(2)
	}
	c.faults, c.ways, c.parts = strings.Split(faults, ","), strings.Split(ways, ","), strings.Split(parts, ",")
	os.Exit(cloud.Main(&c, cloud.Options{Computes: 2}))
}

func numbers(list string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 2 {
			return nil, fmt.Errorf("%q is not a size", part)
		}
		out = append(out, n)
	}
	return out, nil
}

// Run measures, and returns how the program is to exit.
func (c *campaign) Run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.measure(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "openstack:", err)
		return 1
	}
	return 0
}

func (c *campaign) measure(ctx context.Context) error {
	program, err := filepath.Abs(c.hale)
	if err != nil {
		return err
	}
	r, err := newRig(ctx, program, c.keep)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.empty(ctx); err != nil { // of what an earlier run left
		return err
	}
	results := &results{Began: time.Now().UTC(), Conditions: conditions()}
	for _, size := range c.sizes {
		if err = c.fleet(ctx, r, size, results); err != nil {
			err = fmt.Errorf("a fleet of %d: %w", size, err)
			break
		}
	}
	results.Took = time.Since(results.Began).Round(time.Second).String()
	results.print(os.Stdout)
	return errors.Join(err, results.write(c.out))
}

// fleet measures with one fleet, from its first build to its last server's end.
func (c *campaign) fleet(ctx context.Context, r *rig, size int, out *results) error {
	h, err := r.found(size)
	if err != nil {
		return err
	}
	defer h.end()
	say("a fleet of %d is being built", size)
	began := time.Now()
	if err := h.start(byEvent); err != nil {
		return err
	}
	if err := h.await(ctx, 30*time.Minute, "the fleet stands", h.complete); err != nil {
		return err
	}
	out.Builds = append(out.Builds, build{Size: size, Seconds: seconds(time.Since(began))})
	for _, part := range c.parts {
		if err := c.part(ctx, h, part, out); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	h.end()
	return r.empty(ctx)
}

func (c *campaign) part(ctx context.Context, h *hale, part string, out *results) error {
	small := h.size <= 50 && !out.done(part)
	switch part {
	case "recovery":
		return c.recoveries(ctx, h, out)
	case "cost":
		if h.size > 10 || len(c.sizes) == 1 {
			return h.cost(ctx, c.window, out)
		}
	case "away", "404":
		if small {
			return h.apiFault(ctx, part, out)
		}
	case "kill":
		if small {
			return h.killed(ctx, out)
		}
	default:
		return errors.New("there is no such part")
	}
	return nil
}

func (c *campaign) recoveries(ctx context.Context, h *hale, out *results) error {
	for _, w := range c.ways {
		if err := h.restart(ctx, way(w)); err != nil {
			return err
		}
		for _, fault := range c.faultsOf(h.size, way(w)) {
			r, err := h.recovery(ctx, way(w), fault)
			if err != nil {
				return fmt.Errorf("%s by %s: %w", fault, w, err)
			}
			out.Recoveries = append(out.Recoveries, r)
			say("%s", r)
		}
	}
	return h.restart(ctx, byEvent)
}

// faultsOf returns the faults that a fleet of the size meets: a large one takes minutes for each.
func (c *campaign) faultsOf(size int, w way) []string {
	if size > 50 || size > 10 && w == byPoll {
		return c.faults[:1]
	}
	return c.faults
}

// say writes the progress to standard error.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().UTC().Format("15:04:05 ")+format+"\n", args...)
}

func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond)) / float64(time.Second)
}
