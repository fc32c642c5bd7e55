package octavia_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/balancer"
	"hale/internal/balancer/balancertest"
	adapter "hale/internal/balancer/octavia"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider/openstack"
	"hale/internal/testbed/octavia"
	"hale/internal/testbed/octavia/front"
)

var projects atomic.Int64

// bench is a pool of the adapter in a project of its own.
type bench struct {
	balancertest.Bench
	cloud         *front.Cloud
	project, pool string
	named         string // the pool, by its id or its name
}

// anew is the adapter of a hale that was just started.
func (b *bench) anew(t *testing.T) balancer.Pool {
	t.Helper()
	service, err := openstack.NewService(openstack.Options{Cloud: front.Name, CloudsFile: b.cloud.File},
		openstack.Balancing)
	if err != nil {
		t.Fatal(err)
	}
	p := adapter.New(adapter.Options{Name: "edge", Pool: b.named, Weight: 1}, service)
	t.Cleanup(p.Close)
	return p
}

func setup(t *testing.T, o *octavia.Octavia, byName bool) bench {
	t.Helper()
	b := bench{project: fmt.Sprint("p", projects.Add(1))}
	b.cloud = front.Start(t, b.project, o.Handler())
	name := "pool-of-" + b.project
	b.pool = o.Pool(t, b.project, name)
	if b.named = b.pool; byName {
		b.named = name
	}
	able := func() {}
	b.Bench = balancertest.Bench{
		Pool: b.anew(t),
		Put: func(m balancer.Member) {
			o.Update(t, b.project, b.pool, o.Member(t, b.project, b.pool, string(m.Name)), map[string]any{
				"weight":         map[balancer.State]int{balancer.Serving: 1}[m.State],
				"admin_state_up": m.State != balancer.Out})
		},
		Break: func(f balancertest.Fault) {
			b.cloud.Break(f)
			if able(); f == balancertest.Fails {
				able = o.Fail(t, b.pool)
			}
		},
		Cannot: []balancertest.Fault{balancertest.Full}, // without credentials it counts no quota
	}
	return b
}

// TestARealOctaviaPassesTheExam, and what it alone can show. It is one for all, since it takes seconds to start.
func TestARealOctaviaPassesTheExam(t *testing.T) {
	t.Parallel()
	o := octavia.Start(t)
	t.Run("exam", func(t *testing.T) {
		t.Parallel()
		balancertest.Run(t, func(t *testing.T) balancertest.Bench { return setup(t, o, projects.Load()%2 == 0).Bench })
	})
	t.Run("what its monitor finds is told", func(t *testing.T) {
		t.Parallel()
		finds(t, o)
	})
	t.Run("credentials that are not good any more are said", func(t *testing.T) {
		t.Parallel()
		b := setup(t, o, true)
		b.cloud.Revoke("second")
		if all, err := b.Pool.Members(t.Context()); !fault.Is(err, fault.Unauthorised) {
			t.Errorf("it lists %v, %v", all, err)
		}
		b.cloud.Revoke("first")
		if all, err := b.Pool.Members(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("with good ones it lists %v, %v", all, err)
		}
	})
	t.Run("more members than a page are all of them", func(t *testing.T) {
		t.Parallel()
		b := setup(t, o, true)
		for n := 1; n <= 5; n++ {
			set(t, b.Pool, fmt.Sprint("web-", n), balancer.Want{State: balancer.Serving,
				At: balancertest.At(fmt.Sprint("127.0.0.1:", 8000+n))})
		}
		if all, err := b.Pool.Members(t.Context()); err != nil || len(all) != 5 {
			t.Errorf("it lists %v, %v", all, err)
		}
	})
	t.Run("a person's weight outlasts a restart of hale", func(t *testing.T) {
		t.Parallel()
		weight(t, o)
	})
	t.Run("another's member at its address is not touched", func(t *testing.T) {
		t.Parallel()
		b := setup(t, o, false)
		at := balancertest.At("127.0.0.1:8001")
		set(t, b.Pool, "other-1", balancer.Want{State: balancer.Serving, At: at})
		err := b.Pool.Set(t.Context(), "web-1", balancer.Want{State: balancer.Serving, At: at})
		if !fault.Is(err, fault.Transient) {
			t.Errorf("it says %v", err)
		}
	})
}

// TestAChangeUnderWayIsWaitedFor: a load balancer takes one at a time, and refuses others meanwhile (409).
func TestAChangeUnderWayIsWaitedFor(t *testing.T) {
	t.Parallel()
	o := octavia.Start(t)
	b := setup(t, o, true)
	at := balancertest.At("127.0.0.1:8001")
	set(t, b.Pool, "web-1", balancer.Want{State: balancer.Serving, At: at})
	end := o.Stall(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := b.Pool.Set(ctx, "web-1", balancer.Want{State: balancer.Draining}); !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("it was accepted, and is not done: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err := b.Pool.Set(ctx, "web-2", balancer.Want{State: balancer.Serving, At: balancertest.At("127.0.0.1:8002")})
	if !fault.Is(err, fault.Transient) && !fault.Is(err, fault.UnknownOutcome) { // its time may end amid a request
		t.Errorf("it is busy with another: %v", err)
	}
	end()
	set(t, b.Pool, "web-2", balancer.Want{State: balancer.Serving, At: balancertest.At("127.0.0.1:8002")})
	all, err := b.Pool.Members(t.Context())
	if err != nil || len(all) != 2 || all[0].State != balancer.Draining || all[1].State != balancer.Serving {
		t.Errorf("in the end: %+v, %v", all, err)
	}
}

func set(t *testing.T, p balancer.Pool, name string, w balancer.Want) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Set(ctx, fleet.MachineName(name), w); err != nil {
		t.Fatalf("%s %s: %v", name, w.State, err)
	}
}

// finds has the load balancer find a member down, and up again.
func finds(t *testing.T, o *octavia.Octavia) {
	t.Helper()
	b := setup(t, o, false)
	set(t, b.Pool, "web-1", balancer.Want{State: balancer.Serving, At: balancertest.At("127.0.0.1:8001")})
	id := o.Member(t, b.project, b.pool, "web-1")
	for _, c := range []struct {
		status string
		want   balancer.Verdict
	}{{"ONLINE", balancer.Up}, {"ERROR", balancer.Down}, {"NO_MONITOR", balancer.Unknown}, {"ONLINE", balancer.Up}} {
		o.Find(t, id, c.status)
		end := time.Now().Add(time.Minute)
		for {
			all, err := b.Pool.Members(t.Context())
			if err == nil && len(all) == 1 && all[0].Verdict == c.want && all[0].State == balancer.Serving &&
				all[0].Connections == balancer.UnknownConnections {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s is told so: %+v, %v", c.status, all, err)
			}
		}
	}
}

// weight has a member with a person's weight drain and be out, with hale started anew each time before it is back.
func weight(t *testing.T, o *octavia.Octavia) {
	t.Helper()
	b := setup(t, o, false)
	serves := func(port int) {
		t.Helper()
		set(t, b.anew(t), "web-1", balancer.Want{State: balancer.Serving,
			At: balancertest.At(fmt.Sprint("127.0.0.1:", port))})
	}
	weighs := func(want int) {
		t.Helper()
		if is := o.Weight(t, b.project, b.pool, "web-1"); is != want {
			t.Errorf("it weighs %d, and should %d", is, want)
		}
	}
	serves(8001)
	o.Update(t, b.project, b.pool, o.Member(t, b.project, b.pool, "web-1"),
		map[string]any{"weight": 7, "tags": []string{"shop"}})
	set(t, b.Pool, "web-1", balancer.Want{State: balancer.Draining})
	weighs(0)
	serves(8001)
	weighs(7)
	set(t, b.Pool, "web-1", balancer.Want{State: balancer.Draining})
	set(t, b.Pool, "web-1", balancer.Want{State: balancer.Out})
	serves(8002)
	weighs(7)
}
