package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/bulkprobe"
	"hale/internal/probe/netprobe"
)

// tale is what a checker says of itself when it ends.
type tale struct {
	Started    uint64
	Answered   uint64
	Skipped    uint64
	Local      uint64
	Stalls     uint64
	Failing    int     // edges to failing or down
	LateP50    float64 // lateness of starts, ms
	LateP99    float64
	HeapBytes  uint64           // live
	DownAt     map[string]int64 // unix ns, by machine
	Goroutines int
}

// check is hale's engine as a process of its own: check -kind K -n N …, until it is told to end.
func check(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	kind := flags.String("kind", "tcp", "ping, tcp, http or keep")
	n := flags.Int("n", 1000, "targets")
	port := flags.Int("port", 0, "port of the targets")
	other := flags.Int("other", 0, "port of every fourth target")
	every := flags.Duration("every", time.Second, "interval")
	six := flags.Bool("six", false, "by IPv6")
	timeout := flags.Duration("timeout", 900*time.Millisecond, "time limit of a probe")
	start := flags.Duration("start", 2*time.Second, "for how long the first probes do not count as late")
	if err := flags.Parse(args); err != nil {
		return err
	}
	debug.SetGCPercent(50) // nothing is allocated once all targets are there; until then it shall not leave much behind
	pool, err := bulkprobe.New(bulkprobe.Options{})
	if err != nil {
		return err
	}
	engine := pool.Engine(netprobe.New(netprobe.Network(), netprobe.Options{}))
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 2)
	// Owned by this call, which waits for them; they end with working.
	go func() { ended <- pool.Run(working) }()
	go func() { ended <- engine.Run(working) }()
	spec := specOf(*kind, *port, *every, *timeout)
	moved := *spec
	moved.Port = *other
	at := targetAt
	if *six {
		at = targetAt6
	}
	set(engine, *n, at, func(i int) *policy.Check {
		if *other != 0 && i%4 == 0 {
			return &moved
		}
		return spec
	})
	out := &tale{DownAt: map[string]int64{}}
	out.listen(ctx, engine, time.After(*start))
	begun, err := pool.Stats(working)
	debug.FreeOSMemory() // what setting so many at once left behind
	out.listen(ctx, engine, nil)
	stats, failed := pool.Stats(working)
	if err = errors.Join(err, failed); err == nil {
		out.fill(&begun, &stats)
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	stop()
	return errors.Join(err, <-ended, <-ended)
}

func specOf(kind string, port int, every, timeout time.Duration) *policy.Check {
	c := &policy.Check{
		Name:      "c",
		Kind:      policy.CheckKind(kind),
		Port:      port,
		Every:     every,
		Timeout:   timeout,
		DownAfter: 3,
		UpAfter:   1,
	}
	if kind == "keep" {
		c.Kind, c.HTTP.KeepAlive = policy.CheckHTTP, true
	}
	c.HTTP.Path = "/health"
	return c
}

// set adds the targets in portions, so that the list of them is no part of the memory that is measured.
func set(engine probe.Engine, n int, at func(i int) netip.Addr, spec func(i int) *policy.Check) {
	const portion = 500
	targets := make([]probe.Target, 0, portion)
	for i := range n {
		targets = append(targets, probe.Target{
			ID:      probe.ID{Machine: fleet.Name("web").Machine(i + 1), Check: "c"},
			Address: at(i),
			Spec:    spec(i),
			Epoch:   1,
		})
		if len(targets) == portion || i == n-1 {
			engine.Set(targets...)
			targets = targets[:0]
		}
	}
	debug.FreeOSMemory()
}

// listen reads the engine's reports until ctx ends, or until then.
func (t *tale) listen(ctx context.Context, engine probe.Engine, until <-chan time.Time) {
	for {
		select {
		case r := <-engine.Reports():
			if e := r.Edge; e != nil && (e.Standing == fleet.StandingFailing || e.Standing == fleet.StandingDown) {
				t.Failing++
				if e.Standing == fleet.StandingDown {
					t.DownAt[fmt.Sprint(e.Machine)] = e.At.UnixNano()
				}
			}
		case <-ctx.Done():
			return
		case <-until:
			return
		}
	}
}

// fill tells what was done since the start, and of the times since then.
func (t *tale) fill(begun, s *bulkprobe.Stats) {
	t.Started, t.Answered, t.Skipped, t.Local, t.Stalls = s.Started, s.Answered, s.Skipped, s.Local, s.Stalls
	late := s.Lateness
	for i, n := range begun.Lateness {
		late[i] -= n
	}
	ms := func(q float64) float64 { return float64(late.Quantile(q)) / float64(time.Millisecond) }
	t.LateP50, t.LateP99 = ms(0.5), ms(0.99)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.HeapBytes, t.Goroutines = m.HeapAlloc, runtime.NumGoroutine()
}
