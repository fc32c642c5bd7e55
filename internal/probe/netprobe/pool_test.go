package netprobe_test

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
)

// pool is a load balancer that a test has its way with.
type pool struct {
	mu     sync.Mutex
	says   error
	never  bool          // it does not answer
	oldest time.Duration // how far back its answers might lie, as it was last asked
}

func (p *pool) say(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.says = err
}

// Find implements probe.Pools.
func (p *pool) Find(ctx context.Context, _ probe.Target, from time.Time) error {
	p.mu.Lock()
	says, never := p.says, p.never
	p.oldest = time.Since(from)
	p.mu.Unlock()
	if never {
		<-ctx.Done()
		return probe.UntoldError{Why: "it does not answer in time"}
	}
	return says
}

// TestABalancersWordIsCounted: what a load balancer finds of a machine is a result as any check's; what it does not say
// is none, and neither makes it down nor up (S35).
func TestABalancersWordIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pool{}
		ctx, end := context.WithCancel(t.Context())
		e := netprobe.New(nil, netprobe.Options{Pools: p})
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		defer func() { end(); <-ended }()
		target := probe.Target{ID: probe.ID{Machine: "web-1", Check: "lb"}, Instance: "i-1", Epoch: 1,
			Address: netip.MustParseAddr("10.0.0.1"), Spec: &policy.Check{Name: "lb", Kind: policy.CheckPool,
				Every: 10 * time.Second, Timeout: 5 * time.Second, DownAfter: 3, UpAfter: 1}}
		e.Set(target)
		expect := func(after time.Duration, want fleet.Standing, result fleet.ResultReason) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if s := e.Standings(); s[0].Standing != want || s[0].Result != result {
				t.Errorf("it is %s by %q, and should be %s by %q", s[0].Standing, s[0].Result, want, result)
			}
		}
		look := func(want fleet.Standing, result fleet.ResultReason) {
			t.Helper()
			if got := e.Look(t.Context(), target); got.Standing != want || got.Result != result {
				t.Errorf("a look finds it %s by %q, and should find it %s by %q", got.Standing, got.Result, want,
					result)
			}
			if p.oldest > time.Second {
				t.Errorf("a look goes by what was said %s before", p.oldest)
			}
		}
		expect(time.Minute, fleet.StandingUp, fleet.ResultOK)
		p.say(probe.DownError{Detail: "since 12:00"})
		expect(12*time.Second, fleet.StandingFailing, fleet.ResultPoolDown)
		look(fleet.StandingUnknown, fleet.ResultUntold) // it was up a moment ago
		expect(20*time.Second, fleet.StandingDown, fleet.ResultPoolDown)
		look(fleet.StandingDown, fleet.ResultPoolDown)
		p.say(probe.UntoldError{Why: "it is out"})
		look(fleet.StandingUnknown, fleet.ResultUntold)
		expect(20*time.Second, fleet.StandingDown, fleet.ResultPoolDown)
		expect(time.Minute, fleet.StandingUnknown, fleet.ResultUntold)
		p.mu.Lock()
		p.never = true
		p.mu.Unlock()
		expect(time.Minute, fleet.StandingUnknown, fleet.ResultUntold)
	})
}
