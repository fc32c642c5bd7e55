// Package balancertest is the exam of package balancer's port: what every adapter of a load balancer must do, also when
// the balancer breaks.
//
// It promises to leave nothing running. Its times are real ones, since adapters talk to processes and sockets.
package balancertest

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"hale/internal/balancer"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// Fault is a way in which a balancer breaks.
type Fault string

// The faults.
const (
	Works      Fault = ""
	Dead       Fault = "dead"
	Frozen     Fault = "frozen" // it takes connections, and answers nothing
	Garbage    Fault = "garbage"
	AnswerLost Fault = "does it and the answer is lost"
	Full       Fault = "full" // no further member has room
	Slow       Fault = "slow" // by a fraction of a second
	Fails      Fault = "takes orders and cannot do what they say"
)

// Bench is an adapter with a balancer that can be broken. Its pool has room for at least web-1 to web-3.
type Bench struct {
	Pool balancer.Pool
	// Break has the balancer behave so from now on.
	Break func(Fault)
	// Cannot are the faults that this balancer cannot be made to have.
	Cannot []Fault
	// Put makes a member be so behind the adapter's back: as a person does at the balancer itself.
	Put func(balancer.Member)
	// Forget has the balancer lose what it was told, as it does when it is started anew; nil: it never does.
	Forget func()
	// Remembers says that a member which is out is still listed.
	Remembers bool
	// Settle waits until the balancer has done what it was told; nil: it has at once.
	Settle func()
}

// Run examines the adapter. Each test has a bench of its own, with a pool in which none serves.
func Run(t *testing.T, setup func(t *testing.T) Bench) {
	t.Helper()
	for name, exam := range map[string]func(t *testing.T, b Bench){
		"a member serves, drains and is out":             life,
		"to want it again changes nothing":               again,
		"a member that moved serves at its new address":  moved,
		"only the named member is touched":               alone,
		"one that is not there is out already":           absent,
		"it cannot serve without an address":             homeless,
		"of a member that another hand changed it tells": foreign,
		"what it forgot is set again":                    forgotten,
		"a dead balancer is no empty pool":               silent(Dead),
		"a frozen balancer is no empty pool":             silent(Frozen),
		"garbage is no empty pool":                       silent(Garbage),
		"a lost answer is an unknown outcome":            lost,
		"no room for a member is said":                   full,
		"a slow balancer is waited for":                  slow,
		"a change that it could not do is told as such":  fails,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exam(t, setup(t))
		})
	}
}

const limit = 20 * time.Second

// At is where a member of the exam serves.
func At(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }

func (b Bench) can(t *testing.T, f Fault) {
	t.Helper()
	if slices.Contains(b.Cannot, f) {
		t.Skip("this balancer cannot be made so")
	}
}

func (b Bench) set(t *testing.T, name fleet.MachineName, state balancer.State, at netip.AddrPort) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := b.Pool.Set(ctx, name, balancer.Want{State: state, At: at}); err != nil {
		t.Fatalf("%s is not %s: %v", name, state, err)
	}
	if b.Settle != nil {
		b.Settle()
	}
}

func (b Bench) members(t *testing.T) map[fleet.MachineName]balancer.Member {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	all, err := b.Pool.Members(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out := map[fleet.MachineName]balancer.Member{}
	var last fleet.MachineName
	for _, m := range all {
		if m.Name <= last {
			t.Errorf("%s comes after %s", m.Name, last)
		}
		if m.Connections < balancer.UnknownConnections || m.Verdict == "" {
			t.Errorf("it says too little: %+v", m)
		}
		out[m.Name], last = m, m.Name
	}
	return out
}

// is fails unless the member is so. One that is out may be forgotten.
func (b Bench) is(t *testing.T, name fleet.MachineName, state balancer.State, at netip.AddrPort) {
	t.Helper()
	m, there := b.members(t)[name]
	switch {
	case !there && state == balancer.Out && !b.Remembers:
	case m.State != state, state == balancer.Serving && m.At != at:
		t.Errorf("%s is %+v, there %v, and should be %s at %s", name, m, there, state, at)
	}
}

func life(t *testing.T, b Bench) {
	at := At("127.0.0.1:8001")
	b.set(t, "web-1", balancer.Serving, at)
	b.is(t, "web-1", balancer.Serving, at)
	b.set(t, "web-1", balancer.Draining, netip.AddrPort{})
	b.is(t, "web-1", balancer.Draining, at)
	b.set(t, "web-1", balancer.Out, netip.AddrPort{})
	b.is(t, "web-1", balancer.Out, at)
	b.set(t, "web-1", balancer.Serving, at)
	b.is(t, "web-1", balancer.Serving, at)
}

func again(t *testing.T, b Bench) {
	at := At("127.0.0.1:8001")
	for range 3 {
		b.set(t, "web-1", balancer.Serving, at)
		b.is(t, "web-1", balancer.Serving, at)
	}
	for range 2 {
		b.set(t, "web-1", balancer.Draining, at)
		b.is(t, "web-1", balancer.Draining, at)
	}
	for range 2 {
		b.set(t, "web-1", balancer.Out, at)
		b.is(t, "web-1", balancer.Out, at)
	}
}

func moved(t *testing.T, b Bench) {
	b.set(t, "web-1", balancer.Serving, At("127.0.0.1:8001"))
	b.set(t, "web-1", balancer.Serving, At("127.0.0.2:8002"))
	b.is(t, "web-1", balancer.Serving, At("127.0.0.2:8002"))
}

func alone(t *testing.T, b Bench) {
	b.set(t, "web-1", balancer.Serving, At("127.0.0.1:8001"))
	b.set(t, "web-2", balancer.Serving, At("127.0.0.1:8002"))
	b.set(t, "web-3", balancer.Serving, At("127.0.0.1:8003"))
	b.set(t, "web-2", balancer.Out, netip.AddrPort{})
	b.is(t, "web-1", balancer.Serving, At("127.0.0.1:8001"))
	b.is(t, "web-2", balancer.Out, netip.AddrPort{})
	b.is(t, "web-3", balancer.Serving, At("127.0.0.1:8003"))
}

func absent(t *testing.T, b Bench) {
	b.set(t, "web-2", balancer.Out, netip.AddrPort{})
	b.is(t, "web-2", balancer.Out, netip.AddrPort{})
	b.set(t, "nowhere-7", balancer.Draining, netip.AddrPort{})
	if m, there := b.members(t)["nowhere-7"]; there {
		t.Errorf("one was made that was to drain: %+v", m)
	}
}

func homeless(t *testing.T, b Bench) {
	for _, w := range []balancer.Want{
		{State: balancer.Serving},
		{State: balancer.Serving, At: At("127.0.0.1:0")},
		{State: "dancing", At: At("127.0.0.1:8001")},
	} {
		if err := b.Pool.Set(t.Context(), "web-1", w); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

func foreign(t *testing.T, b Bench) {
	b.set(t, "web-1", balancer.Serving, At("127.0.0.1:8001"))
	b.Put(balancer.Member{Name: "web-1", State: balancer.Draining, At: At("127.0.0.1:8001"), Verdict: balancer.Up})
	if b.Settle != nil {
		b.Settle()
	}
	b.is(t, "web-1", balancer.Draining, At("127.0.0.1:8001"))
	b.set(t, "web-1", balancer.Serving, At("127.0.0.1:8001"))
	b.is(t, "web-1", balancer.Serving, At("127.0.0.1:8001"))
}

func forgotten(t *testing.T, b Bench) {
	if b.Forget == nil {
		t.Skip("it never forgets")
	}
	b.set(t, "web-1", balancer.Serving, At("127.0.0.1:8001"))
	b.Forget()
	if m := b.members(t)["web-1"]; m.State == balancer.Serving {
		t.Fatalf("it did not forget: %+v", m)
	}
	b.set(t, "web-1", balancer.Serving, At("127.0.0.1:8001"))
	b.is(t, "web-1", balancer.Serving, At("127.0.0.1:8001"))
}

// silent is a balancer that says nothing to be believed: neither who is there, nor that it did as told.
func silent(f Fault) func(t *testing.T, b Bench) {
	return func(t *testing.T, b Bench) {
		b.can(t, f)
		at := At("127.0.0.1:8001")
		b.set(t, "web-1", balancer.Serving, at)
		b.Break(f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if all, err := b.Pool.Members(ctx); err == nil || fault.Is(err, fault.UnknownOutcome) {
			t.Errorf("it lists %v, %v", all, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Pool.Set(ctx, "web-1", balancer.Want{State: balancer.Out}); err == nil {
			t.Error("it says that it was done")
		}
		if took := time.Since(began); took > limit {
			t.Errorf("it held up its caller for %s", took)
		}
		b.Break(Works)
		b.set(t, "web-1", balancer.Serving, at)
		b.is(t, "web-1", balancer.Serving, at)
	}
}

func lost(t *testing.T, b Bench) {
	b.can(t, AnswerLost)
	b.set(t, "web-1", balancer.Serving, At("127.0.0.1:8001"))
	b.Break(AnswerLost)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := b.Pool.Set(ctx, "web-1", balancer.Want{State: balancer.Out}); !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("the outcome is unknown, and it says: %v", err)
	}
	b.Break(Works)
	b.set(t, "web-1", balancer.Out, netip.AddrPort{})
	b.is(t, "web-1", balancer.Out, netip.AddrPort{})
}

func full(t *testing.T, b Bench) {
	b.can(t, Full)
	b.Break(Full)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err := b.Pool.Set(ctx, "web-999", balancer.Want{State: balancer.Serving, At: At("127.0.0.1:8001")})
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("there is no room, and it says: %v", err)
	}
}

func slow(t *testing.T, b Bench) {
	b.can(t, Slow)
	b.Break(Slow)
	b.set(t, "web-1", balancer.Serving, At("127.0.0.1:8001"))
	b.is(t, "web-1", balancer.Serving, At("127.0.0.1:8001"))
}

// fails is a drain that the balancer takes and cannot do: it goes on as before, and does not say otherwise.
func fails(t *testing.T, b Bench) {
	b.can(t, Fails)
	at := At("127.0.0.1:8001")
	b.set(t, "web-1", balancer.Serving, at)
	b.Break(Fails)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := b.Pool.Set(ctx, "web-1", balancer.Want{State: balancer.Draining}); !fault.Is(err, fault.UnknownOutcome) {
		t.Errorf("it could not do it, and says: %v", err)
	}
	if m := b.members(t)["web-1"]; m.State == balancer.Draining && !m.Failed {
		t.Errorf("it tells of a drain: %+v", m)
	}
	b.Break(Works)
	b.set(t, "web-1", balancer.Draining, at)
	if m := b.members(t)["web-1"]; m.State != balancer.Draining || m.Failed {
		t.Errorf("told again, it is %+v", m)
	}
}
