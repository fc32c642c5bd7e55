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
	"hale/internal/defect"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/provider/simulated"
)

// mined is a network on which pings of one address panic.
type mined struct {
	probe.Transport
	over  netip.Addr
	blown atomic.Int64
}

func (m *mined) Ping(ctx context.Context, a netip.Addr) error {
	if a == m.over {
		m.blown.Add(1)
		panic("boom")
	}
	return m.Transport.Ping(ctx, a)
}

// TestAProbeThatPanicsIsUnknown: its own target is, in the regular probes and in looks, and the others are not.
func TestAProbeThatPanicsIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		well, bad := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
		world := simulated.NewWorld(simulated.Options{Canaries: []netip.Addr{well, bad}})
		m := &mined{Transport: world, over: bad}
		var told atomic.Int64
		e := netprobe.New(m, netprobe.Options{Panics: func(name, _ string, p *defect.Panic) {
			if name == "alive" && p.Value == "boom" {
				told.Add(1)
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- e.Run(ctx) }()
		spec := &policy.Check{
			Name: "alive", Kind: policy.CheckPing, Every: time.Second, Timeout: 500 * time.Millisecond, DownAfter: 3,
			UpAfter: 1,
		}
		targets := map[netip.Addr]probe.Target{}
		for a, name := range map[netip.Addr]fleet.MachineName{well: "web-1", bad: "web-2"} {
			targets[a] = probe.Target{ID: probe.ID{Machine: name, Check: "alive"}, Address: a, Epoch: 1, Spec: spec}
			e.Set(targets[a])
		}
		time.Sleep(10 * time.Second)
		edges := e.Standings()
		if len(edges) != 2 || edges[0].Standing != fleet.StandingUp || edges[1].Standing != fleet.StandingUnknown ||
			edges[1].Result != fleet.ResultPanicked {
			t.Errorf("%+v", edges)
		}
		if s := e.Look(t.Context(), targets[bad]); s.Standing != fleet.StandingUnknown ||
			s.Result != fleet.ResultPanicked {
			t.Errorf("a look says %+v", s)
		}
		if s := e.Look(t.Context(), targets[well]); s.Standing != fleet.StandingUp {
			t.Errorf("a look says %+v", s)
		}
		if told.Load() < 10 || told.Load() != m.blown.Load() {
			t.Errorf("%d panics, %d told", m.blown.Load(), told.Load())
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
