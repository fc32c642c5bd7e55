package provider

import (
	"context"
)

// Rehearser is a provider that can say whether an order could be built without building it.
type Rehearser interface {
	// Rehearse looks for what Create needs for the order (its image, networks, size, the place for its disks), and
	// changes nothing. The error joins all that was found to be missing or refused; nil: nothing was. Create may still
	// fail.
	Rehearse(ctx context.Context, order Blueprint) error
}

// Rehearse implements Rehearser.
func (r *Relay) Rehearse(ctx context.Context, o Blueprint) error {
	return pass(ctx, r, Call{Op: OpRehearse, Ref: o.Ref, Blueprint: o}, func(ctx context.Context, p Rehearser) error {
		return p.Rehearse(ctx, o)
	})
}
