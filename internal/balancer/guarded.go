package balancer

import (
	"context"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
)

// Guarded returns the pool as one that does not panic, and tells the witness when the one behind it does. A question
// that panicked has no answer (fault.Transient), and an order has an unknown outcome (fault.UnknownOutcome).
func Guarded(p Pool, name string, told defect.Witness) Pool {
	if p == nil {
		return nil
	}
	return guarded{p, name, told}
}

type guarded struct {
	behind Pool
	name   string
	told   defect.Witness
}

// Members implements Pool.
func (g guarded) Members(ctx context.Context) (all []Member, err error) {
	defer g.told.Catch(g.name, "members", func(p *defect.Panic) {
		all, err = nil, fault.New(fault.Transient, "balancer.members", g.name, p)
	})
	return g.behind.Members(ctx)
}

// Set implements Pool.
func (g guarded) Set(ctx context.Context, name fleet.MachineName, w Want) (err error) {
	defer g.told.Catch(g.name, "set", func(p *defect.Panic) {
		err = fault.New(fault.UnknownOutcome, "balancer.set", string(name), p)
	})
	return g.behind.Set(ctx, name, w)
}

// Close implements Pool.
func (g guarded) Close() {
	defer g.told.Catch(g.name, "close", nil)
	g.behind.Close()
}
