// Package memory is a pool that exists in memory only: the twin of the real ones, for tests.
//
// It promises to pass the exam of package balancertest, and to break in each of the ways that real ones do, on demand.
// Delays are those of package time, so that they pass at once in a bubble.
package memory

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"hale/internal/balancer"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// Faults are the ways in which a pool may be broken. The zero value: it works.
type Faults struct {
	Dead       bool          // it does not answer
	Frozen     bool          // it hears everything, and answers when it is thawed: nothing until the caller gives up
	Garbage    bool          // its answers cannot be read
	AnswerLost bool          // orders take effect, and their answers are lost
	Full       bool          // there is room for no further member
	Fails      bool          // it takes orders, and cannot do what they say
	Slow       time.Duration // each answer takes so long
}

// Pool is one.
type Pool struct {
	mu      sync.Mutex
	members map[fleet.MachineName]balancer.Member
	faults  Faults
	orders  int
}

var _ balancer.Pool = (*Pool)(nil)

// New makes an empty pool.
func New() *Pool { return &Pool{members: map[fleet.MachineName]balancer.Member{}} }

// Break has it behave so from now on.
func (p *Pool) Break(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
}

// Put makes the member be so, as a person does at the balancer itself.
func (p *Pool) Put(m balancer.Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members[m.Name] = m
}

// Forget makes the pool what it is after a restart that lost all.
func (p *Pool) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.members)
}

// All returns the members as they truly are, by name.
func (p *Pool) All() map[fleet.MachineName]balancer.Member {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.members)
}

// Orders counts those that changed something.
func (p *Pool) Orders() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.orders
}

// Members implements balancer.Pool.
func (p *Pool) Members(ctx context.Context) ([]balancer.Member, error) {
	if _, err := p.reach(ctx, "memory.members", fault.Transient); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(p.All()), func(a, b balancer.Member) int {
			return cmp.Compare(a.Name,
				b.Name)
		}),
		nil
}

// Set implements balancer.Pool.
func (p *Pool) Set(ctx context.Context, name fleet.MachineName, w balancer.Want) error {
	const op = "memory.set"
	if err := w.Check(op, name); err != nil {
		return err
	}
	f, err := p.reach(ctx, op, fault.UnknownOutcome)
	if err != nil {
		return err
	}
	p.mu.Lock()
	m, there := p.members[name]
	switch {
	case !there && w.State != balancer.Serving, there && w.Met(m):
	case !there && f.Full:
		p.mu.Unlock()
		return fault.New(fault.NotFound, op, string(name), errors.New("there is no room for it"))
	default:
		if !there {
			m = balancer.Member{Name: name, Verdict: balancer.Up}
		}
		if m.State, m.Failed = w.State, f.Fails; w.State == balancer.Serving {
			m.At = w.At
		}
		p.members[name] = m
		p.orders++
	}
	failed := p.members[name].Failed
	p.mu.Unlock()
	switch {
	case f.AnswerLost:
		<-ctx.Done()
		return fault.New(fault.UnknownOutcome, op, string(name), ctx.Err())
	case failed:
		return fault.New(fault.UnknownOutcome, op, string(name), errors.New("it could not do it"))
	}
	return nil
}

// Close implements balancer.Pool: there is nothing open.
func (p *Pool) Close() {}

// reach waits as long as the pool takes to hear. Of what it heard and did not answer, the kind says what is known.
func (p *Pool) reach(ctx context.Context, op string, unanswered fault.Kind) (Faults, error) {
	p.mu.Lock()
	f := p.faults
	p.mu.Unlock()
	switch {
	case f.Dead:
		return f, fault.New(fault.Transient, op, "", errors.New("it does not answer"))
	case f.Frozen:
		<-ctx.Done()
		return f, fault.New(unanswered, op, "", ctx.Err())
	case f.Garbage:
		return f, fault.New(unanswered, op, "", errors.New("its answer cannot be read"))
	}
	t := time.NewTimer(f.Slow)
	defer t.Stop()
	select {
	case <-t.C:
		return f, nil
	case <-ctx.Done():
		return f, fault.New(fault.Transient, op, "", ctx.Err())
	}
}
