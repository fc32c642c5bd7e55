package provider

import (
	"context"

	"hale/internal/core/fleet"
)

// Rebuilder is a provider that can give an instance a new disk. Independent hosts are asked before, as Power says.
type Rebuilder interface {
	// Rebuild gives the order's instance, which is off, a new disk from the template's image in place of its ephemeral
	// one. It then starts it with the same id, name, mark and network address. What it had on the disk is lost.
	// fault.Conflict: it runs, or bears another mark; nothing was changed. It may be called again after any error.
	Rebuild(ctx context.Context, order Blueprint) error
}

// Rebuild implements Rebuilder.
func (r *Relay) Rebuild(ctx context.Context, o Blueprint) error {
	return pass(ctx, r, Call{Op: fleet.OpRebuild, Ref: o.Ref, Blueprint: o},
		func(ctx context.Context, p Rebuilder) error {
			return p.Rebuild(ctx, o)
		})
}
