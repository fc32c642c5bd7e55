package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"hale/bench/rig"
)

type options struct {
	targets          int
	floor, out, only string
}

const (
	rounds = 3
	warm   = 3 * time.Second // a second probe comes up to two intervals after the first
	window = time.Second
)

// bout is one run of the comparison.
type bout struct {
	options
	self  string // this program
	dir   string
	seen  counters          // of the field
	costs map[string][]cost // by contestant
	told  map[string]figure // by key of the table
}

// cost is what a contestant took in one window.
type cost struct {
	Micros float64 // of CPU, for one check
	Rate   float64 // checks a second
	RSS    float64 // MiB
}

// contestant is one that is compared.
type contestant struct {
	name  string
	begin func(ctx context.Context) (*process, error) // nil: it is a loop that tells its own cost
	count func() uint64
	loop  []string
}

// compare runs all parts, prints the table and writes the figures.
func compare(ctx context.Context, o options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "probes")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bout{options: o, self: self, dir: dir, costs: map[string][]cost{}, told: map[string]figure{}}
	if b.seen, err = share(dir + "/seen"); err != nil {
		return err
	}
	f, err := begin(ctx, self, "field", fmt.Sprint(fieldPort), dir+"/seen")
	if err != nil {
		return err
	}
	defer f.end()
	if err := b.contest(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"memory", b.memory}, {"scale", b.scale}, {"lateness", b.lateness}, {"detection", b.detection},
	} {
		if strings.Contains(part.name, o.only) {
			if err := part.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	b.ratios()
	return b.report(os.Stdout)
}

// contest lets all contestants work in turns, so that whatever else the machine does falls on each alike.
func (b *bout) contest(ctx context.Context) error {
	all, err := b.contestants()
	if err != nil {
		return err
	}
	for range rounds {
		for _, c := range all {
			if !strings.Contains(c.name, b.only) {
				continue
			}
			took, err := b.measure(ctx, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			b.costs[c.name] = append(b.costs[c.name], took)
		}
	}
	return nil
}

func (b *bout) measure(ctx context.Context, c contestant) (cost, error) {
	if c.loop != nil {
		return loopCost(ctx, c.loop)
	}
	p, err := c.begin(ctx)
	if err != nil {
		return cost{}, err
	}
	defer p.end()
	if err := b.ready(ctx, c); err != nil {
		return cost{}, fmt.Errorf("%w: %s", err, p.errors())
	}
	cpu, n, at := p.CPU(), c.count(), time.Now()
	if err := rig.Pass(ctx, window); err != nil {
		return cost{}, err
	}
	spent, done, took := p.CPU()-cpu, c.count()-n, time.Since(at)
	if done == 0 || spent <= 0 {
		return cost{}, errIdle
	}
	return cost{
		Micros: float64(spent.Nanoseconds()) / 1e3 / float64(done),
		Rate:   float64(done) / took.Seconds(),
		RSS:    p.Memory("VmRSS"),
	}, nil
}

var errIdle = errors.New("it does nothing")

// ready waits until the contestant has begun to ask, and then for it to find its pace.
func (b *bout) ready(ctx context.Context, c contestant) error {
	from, limit := c.count(), time.Now().Add(20*time.Second)
	for c.count() < from+200 {
		if time.Now().After(limit) {
			return errIdle
		}
		if err := rig.Pass(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return rig.Pass(ctx, warm)
}

// middle returns the cost of the window in the middle.
func (b *bout) middle(name string) (cost, bool) {
	all := slices.Clone(b.costs[name])
	if len(all) == 0 {
		return cost{}, false
	}
	slices.SortFunc(all, func(x, y cost) int { return int(math.Copysign(1, x.Micros-y.Micros)) })
	return all[len(all)/2], true
}

// ratios makes the table's figures of the costs.
func (b *bout) ratios() {
	for _, r := range []struct {
		key, ours, theirs string
		most              float64
	}{
		{"tcp_vs_haproxy", "hale tcp", "haproxy tcp", 0.75},
		{"http_fresh_vs_haproxy", "hale http", "haproxy http", 0.70},
		{"http_keepalive_vs_haproxy", "hale http kept", "haproxy http", 0.22},
		{"icmp_vs_fping_burst", "hale icmp", "fping icmp, burst", 0.90},
		{"icmp_vs_fping_paced", "hale icmp", "fping icmp, paced", 0.35},
		{"icmp6_vs_fping_burst", "hale icmp, IPv6", "fping icmp, burst, IPv6", 0},
		{"icmp6_vs_icmp", "hale icmp, IPv6", "hale icmp", 0},
		{"tcp6_vs_tcp", "hale tcp, IPv6", "hale tcp", 0},
		{"tcp_vs_blackbox", "hale tcp", "blackbox tcp", 1. / 15},
		{"tcp_vs_floor", "hale tcp", "loop tcp", 1.30},
		{"http_fresh_vs_floor", "hale http", "loop http", 1.30},
		{"http_keepalive_vs_floor", "hale http kept", "loop http kept", 1.30},
		{"icmp_vs_floor", "hale icmp", "loop icmp", 1.30},
	} {
		ours, has := b.middle(r.ours)
		theirs, have := b.middle(r.theirs)
		if has && have {
			b.tell(r.key, ours.Micros/theirs.Micros, r.most)
		}
	}
}

func (b *bout) tell(key string, value, most float64) {
	b.told[key] = figure{Value: value, AtMost: most}
}
