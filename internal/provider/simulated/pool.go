package simulated

import (
	"context"
	"time"

	"hale/internal/probe"
	"hale/internal/sim/guest"
	"hale/internal/sim/pool"
	"hale/internal/sim/world"
)

var (
	_ probe.Pools = (*World)(nil)
	_ probe.Pools = vantage{}
)

// Find implements probe.Pools: one load balancer is before all machines, and has them serve all the time.
func (w *World) Find(ctx context.Context, t probe.Target, _ time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var found guest.Answer
	w.do(func(is *world.World) { found = pool.Finds(is, t.Address, string(t.Check)) })
	switch found {
	case guest.Well:
		return nil
	case guest.Critical:
		return probe.DownError{}
	default:
		return probe.UntoldError{Why: "the pool finds none of its members up"}
	}
}
