package netprobe_test

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/probe/probetest"
)

// holder is a scripted transport that counts the pings that it holds.
type holder struct {
	*probetest.Transport
	held, most atomic.Int64
}

func (h *holder) Ping(ctx context.Context, address netip.Addr) error {
	if n := h.held.Add(1); n > h.most.Load() {
		h.most.Store(n)
	}
	defer h.held.Add(-1)
	return h.Transport.Ping(ctx, address)
}

func pinged(machine int, every, timeout time.Duration) probe.Target {
	return probe.Target{
		ID:      probe.ID{Machine: fleet.Name("web").Machine(machine), Check: "alive"},
		Address: netip.AddrFrom4([4]byte{10, 0, byte(machine >> 8), byte(machine)}),
		Spec: &policy.Check{
			Name: "alive", Kind: policy.CheckPing, Every: every, Timeout: timeout, DownAfter: 1, UpAfter: 1,
		},
	}
}

func TestNoMoreProbesInFlightThanWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := &holder{Transport: probetest.NewTransport()}
		e := start(t, x, netprobe.Options{Workers: 7})
		for i := range 50 {
			target := pinged(i+1, 5*time.Second, 4*time.Second)
			x.Script(target.Address, probetest.Silent())
			e.Set(target)
		}
		time.Sleep(time.Minute)
		if most := x.most.Load(); most != 7 {
			t.Errorf("%d probes were in flight at once, want 7", most)
		}
		unknown := 0
		for _, edge := range e.Standings() {
			switch {
			case edge.Standing == fleet.StandingUnknown && edge.Result == fleet.ResultLate:
				unknown++
			case edge.Standing != fleet.StandingDown:
				t.Errorf("%s is %s %s", edge.Machine, edge.Standing, edge.Result)
			}
		}
		if unknown == 0 {
			t.Error("50 silent targets for 7 workers, and nothing is unknown")
		}
	})
}

func TestProbesInFlightAreCutShort(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(e *netprobe.Engine, target probe.Target){
		"removed": func(e *netprobe.Engine, target probe.Target) { e.Remove(target.ID) },
		"moved": func(e *netprobe.Engine, target probe.Target) {
			target.Address = netip.MustParseAddr("10.9.9.9")
			e.Set(target)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				x := &holder{Transport: probetest.NewTransport()}
				e := start(t, x, netprobe.Options{})
				target := pinged(1, time.Hour, time.Minute)
				x.Script(target.Address, probetest.Silent())
				e.Set(target)
				time.Sleep(time.Second)
				if n := x.held.Load(); n != 1 {
					t.Fatalf("%d probes in flight", n)
				}
				end(e, target)
				synctest.Wait()
				if n := x.held.Load(); n != 0 {
					t.Errorf("%d probes in flight after the target was %s", n, name)
				}
			})
		})
	}
}

func TestEndOfRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := &holder{Transport: probetest.NewTransport()}
		e := netprobe.New(x, netprobe.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		// Ends with ctx.
		go func() { ended <- e.Run(ctx) }()
		quiet, deaf := pinged(1, time.Hour, time.Minute), pinged(2, time.Hour, time.Minute)
		x.Script(quiet.Address, probetest.Silent())
		e.Set(quiet)
		synctest.Wait()
		if err := e.Run(ctx); err == nil {
			t.Error("a second Run was not refused")
		}
		cancel()
		if err := <-ended; err != nil || x.held.Load() != 0 {
			t.Errorf("Run ended with %v and %d probes in flight", err, x.held.Load())
		}
		e.Set(deaf)
		e.Remove(quiet.ID)
		if got := e.Standings(); len(got) != 0 {
			t.Errorf("standings after the end: %v", got)
		}
		if got := e.Look(t.Context(), deaf); got.Standing != fleet.StandingUnknown {
			t.Errorf("look after the end says %+v, want unknown", got)
		}
	})
}

func TestRunTellsOfProbesThatDoNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := probetest.NewTransport()
		e := netprobe.New(x, netprobe.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		// Ends with ctx.
		go func() { ended <- e.Run(ctx) }()
		target := pinged(1, time.Hour, time.Minute)
		x.Script(target.Address, probetest.Answer{Deaf: true, After: time.Hour})
		e.Set(target)
		synctest.Wait()
		cancel()
		if err := <-ended; err == nil {
			t.Error("Run ended without a word on the probe that it left behind")
		}
		time.Sleep(time.Hour) // the transport lets go at last
	})
}
