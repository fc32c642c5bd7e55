package simulated

import (
	"context"
	"errors"
	"time"

	"hale/internal/provider"
)

// Rehearse implements provider.Rehearser. A simulated machine needs nothing but a name.
func (p *Provider) Rehearse(ctx context.Context, order provider.Order) error {
	return p.read(ctx, OpRehearse, order.Ref, func(time.Time) error {
		if p.world.names[place{order.Host, order.Name}] != nil {
			return conflict(order.Ref, errors.New("the name is taken"))
		}
		return nil
	})
}
