package engine

import (
	"context"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/owner"
)

// trial is an order of which is to be said what would become of it.
type trial struct {
	order  fleet.Order
	answer chan<- owner.Trial // has room
}

// Try says what would become of an order as its fleet stands now, and what would be recorded of it. Nothing is done.
// False: this server does not own the fleet, or its owner is too busy to say.
func (e *Engine) Try(ctx context.Context, o fleet.Order) (fleet.Ruling, []record.Record, bool) {
	ctx, cancel := context.WithTimeout(ctx, longestRest) // an owner at work answers sooner
	defer cancel()
	for _, h := range *e.owners.Load() {
		if p := h.published.Load(); h.name != o.Fleet || p.Acting == fleet.ReasonNotOwner {
			continue
		}
		answer := make(chan owner.Trial, 1)
		select {
		case h.trials <- trial{o, answer}:
		case <-ctx.Done():
			return fleet.Ruling{}, nil, false
		}
		select {
		case said := <-answer:
			return said.Ruling, said.Records, said.Ruled
		case <-ctx.Done():
		}
	}
	return fleet.Ruling{}, nil, false
}
