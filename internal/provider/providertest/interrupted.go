package providertest

import (
	"context"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// Interrupted is a harness with a provider that ends its calls at any point, for good, when their contexts end.
type Interrupted interface {
	Interrupted()
}

// interruptedIsCleared: a create that is cut off at any moment leaves nothing, or something that bears its mark and can
// be removed. What it began may come up a moment later.
func interruptedIsCleared(t T, h Harness) {
	e := begin(t, h)
	order := e.order(1)
	for limit := 10 * time.Millisecond; limit < 2*time.Second; limit = limit * 3 / 2 {
		ctx, cancel := context.WithTimeout(e.Context(), limit)
		err := e.p.Create(ctx, order)
		cancel()
		if err != nil {
			e.refused("a create that is cut off", err, fault.UnknownOutcome, fault.Transient)
		}
		seen, gerr := e.p.Get(e.ctx(), order.Ref)
		if gerr == nil {
			e.same("the mark of what was cut off after "+limit.String(), order.Mark, seen.Mark)
			if seen.Power != fleet.PowerOff {
				e.off(order.Ref)
			}
			err := e.p.Delete(e.ctx(), order.Ref)
			if fault.Is(err, fault.Conflict) { // it runs since: what was cut off took effect late
				e.off(order.Ref)
				err = e.p.Delete(e.ctx(), order.Ref)
			}
			e.do("delete of what was cut off after "+limit.String(), err)
		} else {
			e.refused("get of what was cut off", gerr, fault.NotFound)
		}
		if found := Named(e.list(), order.Name); len(found) != 0 {
			t.Errorf("cut off after %v and deleted, the listing has %+v", limit, found)
		}
		if err == nil {
			return // it was quick enough, and so it would be with more time
		}
		order = e.rival(order)
	}
	e.do("create with the time that it needs", e.p.Create(e.ctx(), order))
	e.awaitPower(order.Ref, fleet.PowerRunning)
	e.alone(order)
}
