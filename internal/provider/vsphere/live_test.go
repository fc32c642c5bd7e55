package vsphere_test

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/testbed/vcsim"
)

// body is what a simulated machine has where a real one has a process.
type body struct {
	address netip.Addr
	ended   chan struct{}
	end     func()
}

func (b *body) Address() netip.Addr    { return b.address }
func (b *body) Ended() <-chan struct{} { return b.ended }
func (b *body) Kill()                  { b.end() }

// What a machine's process does, and what is ordered of it, is what vCenter says: tests with real guests rest on it.
func TestAMachineIsWhatItsProcessIs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var mu sync.Mutex
	var bodies []*body
	b.Live(t, func(_ context.Context, name string) (vcsim.Machine, error) {
		mu.Lock()
		defer mu.Unlock()
		x := &body{address: netip.AddrFrom4([4]byte{10, 9, 0, byte(len(bodies) + 1)}), ended: make(chan struct{})}
		x.end = sync.OnceFunc(func() { close(x.ended) })
		bodies = append(bodies, x)
		if name != "web-1" {
			t.Errorf("%s is started", name)
		}
		return x, nil
	})
	latest := func() *body {
		mu.Lock()
		defer mu.Unlock()
		return bodies[len(bodies)-1]
	}
	p := b.New(t)
	o := b.order(1)
	must(t, p.Create(t.Context(), o))
	running := func(address string) {
		t.Helper()
		seen(t, p, o.Ref, func(i fleet.Instance) bool {
			return i.Power == fleet.PowerRunning && i.Address.String() == address
		})
	}
	running("10.9.0.1")
	latest().end()
	seen(t, p, o.Ref, func(i fleet.Instance) bool {
		return i.Power == fleet.PowerOff && i.Stop == fleet.StopCrash && !i.Address.IsValid()
	})
	must(t, p.Start(t.Context(), o.Ref))
	running("10.9.0.2")
	must(t, p.Reboot(t.Context(), o.Ref))
	running("10.9.0.3")
	last := latest()
	off(t, p, o.Ref)
	<-last.ended
}

// seen waits until the instance is as wanted.
func seen(t *testing.T, p provider.Provider, ref provider.Ref, want func(fleet.Instance) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		i, err := p.Get(ctx, ref)
		if err == nil && want(i) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("it is %+v, %v", i, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
