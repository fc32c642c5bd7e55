package providertest

import (
	"context"
	"fmt"
	"slices"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// Addressed is a harness with a provider that gives machines addresses of their own, which go from instance to
// instance.
type Addressed interface {
	// Addressed returns a template with one.
	Addressed() policy.Template
	// Addresses returns those that there are of the order's machine, whether an instance has them or not, sorted.
	Addresses(t T, o provider.Blueprint) []string
}

// addressIsTheMachines: an address of the machine's own is allocated once, whichever answer is lost, goes on to the
// next instance, and is given back with the machine.
func addressIsTheMachines(t T, h Harness) {
	e := begin(t, h)
	able := ability[Addressed](t, h)
	order := e.order(1)
	order.Template = able.Addressed()
	var first []string
	e.eachOrder("create with an address", func(after int) bool {
		order = e.rival(order)
		err := e.unheard(after, func(ctx context.Context) error { return e.p.Create(ctx, order) })
		e.await("the same create again", func() (string, bool) {
			err := e.p.Create(e.ctx(), order)
			return fmt.Sprint(err), err == nil || fault.Is(err, fault.Conflict) && e.isThere(order)
		})
		now := able.Addresses(t, order)
		if len(now) != 1 || len(first) > 0 && !slices.Equal(first, now) {
			e.Fatalf("without an answer to order %d it has %v, and had %v", after+1, now, first)
		}
		first = now
		seen := e.awaitInstance("the address", order.Ref, func(i fleet.Instance) bool {
			return i.Power == fleet.PowerRunning && i.Address.String() == now[0]
		})
		for _, i := range Named(e.list(), order.Name) {
			e.same("the address in the list", seen.Address, i.Address)
		}
		e.cleared(order)
		e.same("what is kept of it", first, able.Addresses(t, order))
		return err == nil
	})
	e.eachOrder("delete for good", func(after int) bool {
		order = e.rival(order)
		e.do("create", e.p.Create(e.ctx(), order))
		e.awaitPower(order.Ref, fleet.PowerRunning)
		e.off(order.Ref)
		gone := order
		gone.ForGood = true
		err := e.unheard(after, func(ctx context.Context) error { return e.p.Delete(ctx, gone.Ref) })
		e.deleted(gone)
		e.same("what is left of the machine", 0, len(able.Addresses(t, order)))
		return err == nil
	})
}

// isThere reports whether the provider has the order's instance.
func (e *exam) isThere(o provider.Blueprint) bool {
	_, err := e.p.Get(e.ctx(), o.Ref)
	return err == nil
}
