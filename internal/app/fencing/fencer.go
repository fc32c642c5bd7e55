package fencing

import (
	"context"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/engine/poller"
	"hale/internal/fence"
)

// fencer is a provider's part of fencing.
type fencer struct {
	*Fencing
	provider fleet.ProviderName
}

// Of returns the provider's fencer; nil: its hosts have no fence.
func (f *Fencing) Of(p fleet.ProviderName) poller.Fencer {
	if f == nil {
		return nil
	}
	return fencer{f, p}
}

func (f fencer) host(name fleet.HostName) fenced {
	for _, e := range f.all() {
		if e.provider == f.provider && e.host == name {
			return e
		}
	}
	return fenced{}
}

// Means implements engine.Fencer: one try for each attempt of each method. Those that only cut access come last.
func (f fencer) Means(host fleet.HostName, seen []fleet.Name) fleet.Means {
	e := f.host(host)
	out := fleet.Means{Delay: e.delay + e.weighs(seen)}
	for _, m := range e.methods {
		if m.Yields == fleet.ProofAccessCut {
			out.Cuts += m.Attempts
		} else {
			out.Tries += m.Attempts
		}
		out.Limit = max(out.Limit, m.Timeout)
	}
	return out
}

// weighs is how much longer the host is left as it is, for the fleets that were seen on it. When they are unknown, it
// may be any fleet's.
func (e fenced) weighs(seen []fleet.Name) time.Duration {
	var most time.Duration
	for name, longer := range e.later {
		if seen == nil || slices.Contains(seen, name) {
			most = max(most, longer)
		}
	}
	return most
}

// Fence implements engine.Fencer. Two at once take turns: who comes second finds the host off already.
func (f fencer) Fence(ctx context.Context, host fleet.HostName, try int) (poller.Fenced, error) {
	const op = "app.fence"
	e := f.host(host)
	for _, m := range e.methods {
		if try > m.Attempts {
			try -= m.Attempts
			continue
		}
		return f.strike(ctx, e, m)
	}
	return poller.Fenced{}, fault.New(fault.Unsupported, op, string(host), nil)
}

// strike makes one try by the method.
func (f fencer) strike(ctx context.Context, e fenced, m armed) (poller.Fenced, error) {
	const op = "app.fence"
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return poller.Fenced{}, fault.New(fault.Transient, op, string(e.host), ctx.Err())
	}
	defer func() { <-e.turn }()
	done, err := fence.Attempt(ctx, m.Method)
	if err == nil {
		f.heard(e, m, fence.PowerOff)
	}
	if err != nil && done.Orders > 0 {
		err = fault.New(fault.UnknownOutcome, op, m.Name, err)
	}
	f.log.Info("a host is fenced", "provider", e.provider, "host", e.host, "method", m.Name, "proves", m.Yields,
		"already", done.Already, "orders", done.Orders,
		"took", done.Took, "err", err)
	return poller.Fenced{Proof: m.Yields, Already: done.Already}, err
}
