package simulated

import (
	"context"
	"errors"
	"time"

	"hale/internal/probe"
	"hale/internal/sim/guest"
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

// Await implements probe.Hearing: a guest with a service and a network that work has just reported, and any other one
// says nothing.
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
	h := v.hear(t.Address)
	if h.TCP != guest.Well || h.HTTP == guest.Silence || h.Fails(string(t.Check)) {
		return probe.Beat{}, false
	}
	return probe.Beat{At: now, OK: h.HTTP != guest.Status5, Detail: "simulated"}, true
}
