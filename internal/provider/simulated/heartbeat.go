package simulated

import (
	"context"
	"errors"
	"time"

	"hale/internal/probe"
)

var (
	_ probe.Hearing = (*World)(nil)
	_ probe.Hearing = vantage{}
)

var errNoPlace = errors.New("nobody knows where the machine is")

// Watch implements probe.Hearing. A guest that is well reports all the time, so nothing is kept.
func (w *World) Watch(probe.Target) {}

// Forget implements probe.Hearing.
func (w *World) Forget(probe.ID) {}

// Await implements probe.Hearing, as from nowhere in particular.
func (w *World) Await(ctx context.Context, t probe.Target) (probe.Beat, error) {
	return vantage{w, ""}.Await(ctx, t)
}

// Await implements probe.Hearing: a guest whose service and network work has just reported, and any other one says nothing.
func (v vantage) Await(ctx context.Context, t probe.Target) (probe.Beat, error) {
	if !t.Address.IsValid() {
		return probe.Beat{}, probe.LocalError{Err: errNoPlace}
	}
	if b, came := v.report(t, time.Now()); came {
		return b, nil
	}
	<-ctx.Done()
	return probe.Beat{}, probe.SilentError{}
}

func (v vantage) report(t probe.Target, now time.Time) (probe.Beat, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	g, ok := v.leases[t.Address]
	if !ok || !g.reachable(now) || v.missed(v.client, g) || g.has(NoHTTP) || g.has(HTTPHangs) || g.fails(t.Check) {
		return probe.Beat{}, false
	}
	return probe.Beat{At: now, OK: !g.has(HTTPStatus), Detail: "simulated"}, true
}
