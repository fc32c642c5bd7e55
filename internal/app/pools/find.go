package pools

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hale/internal/balancer"
	"hale/internal/core/fault"
	"hale/internal/probe"
)

var _ probe.Pools = (*Pools)(nil)

// reading is what a pool said to one question.
type reading struct {
	began   time.Time
	members []balancer.Member
	err     error
}

// Find implements probe.Pools by what the pool is asked in any case. Where the last answer is too old, it is asked
// sooner, once for all who wait.
func (p *Pools) Find(ctx context.Context, t probe.Target, from time.Time) error {
	k := p.keeperOf(t.Spec.Pool.Balancer)
	if k == nil {
		return untold("no pool of the balancer %s is kept here", t.Spec.Pool.Balancer)
	}
	for {
		r, next := k.said()
		if !r.began.Before(from) {
			return r.finds(t)
		}
		select {
		case k.asked <- struct{}{}:
		default:
		}
		select {
		case <-next:
		case <-k.ended:
			return untold("the balancer was edited")
		case <-ctx.Done():
			return untold("it does not answer in time")
		}
	}
}

func (p *Pools) keeperOf(balancer string) *keeper {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at[balancer]
}

// said returns the last reading, and what is closed with the next one.
func (k *keeper) said() (reading, <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reading, k.told
}

func (k *keeper) tell(r reading) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reading = r
	close(k.told)
	k.told = make(chan struct{})
}

func untold(format string, args ...any) error {
	return probe.UntoldError{Why: fmt.Sprintf(format, args...)}
}

// finds says what the pool finds of the target's machine, which it has serve. A pool that finds none of its members up
// may itself be cut off from them: it says nothing of any (L4).
func (r *reading) finds(t probe.Target) error {
	if r.err != nil {
		return untold("%s", fault.Plain(r.err))
	}
	i := slices.IndexFunc(r.members, func(m balancer.Member) bool { return m.Name == t.Machine })
	if i < 0 {
		return untold("it is not in the pool")
	}
	m := &r.members[i]
	switch {
	case m.State == balancer.Draining:
		return untold("it drains")
	case m.State != balancer.Serving:
		return untold("it is out")
	case m.At.IsValid() && m.At.Addr() != t.Address:
		return untold("the pool sends to another address than its own")
	case m.Verdict == balancer.Up:
		return nil
	case m.Verdict != balancer.Down:
		return untold("the pool checks nothing")
	case !slices.ContainsFunc(r.members, isUp):
		return untold("the pool finds none of its members up")
	}
	return probe.DownError{Detail: downSince(m)}
}

func isUp(m balancer.Member) bool { return m.State == balancer.Serving && m.Verdict == balancer.Up }

func downSince(m *balancer.Member) string {
	if m.Since.IsZero() {
		return ""
	}
	return "since " + m.Since.UTC().Format("15:04:05 UTC")
}

// deserted reports whether the pool has members to send to, and finds each of them down.
func deserted(members []balancer.Member) bool {
	serving := slices.DeleteFunc(slices.Clone(members),
		func(m balancer.Member) bool { return m.State != balancer.Serving })
	return len(serving) > 0 && !slices.ContainsFunc(serving, func(m balancer.Member) bool {
		return m.Verdict != balancer.Down
	})
}
