package provider

import (
	"context"

	"hale/internal/core/fleet"
)

// Keeper is a provider that can put an instance aside and bring it back. Independent hosts are asked before, as Power
// says; before Restore for the name, too.
type Keeper interface {
	// Keep puts the instance, which is off, aside: it gives up the machine's name and kept disks, and at last its mark
	// says so. One that was put aside already is success. fault.Conflict: it is on, or bears another mark; nothing was
	// changed.
	Keep(ctx context.Context, ref Ref, name string) error
	// Restore gives an instance that was put aside the name and the machine's kept disks back; it stays off. One that
	// was not put aside is success. fault.Conflict: the name is taken, it is on, or bears another mark.
	Restore(ctx context.Context, ref Ref, name string) error
}

// Keep implements Keeper.
func (r *Relay) Keep(ctx context.Context, ref Ref, name string) error {
	c := Call{Op: fleet.OpKeep, Ref: ref, Blueprint: Blueprint{Ref: ref, Name: name}}
	return pass(ctx, r, c, func(ctx context.Context, p Keeper) error { return p.Keep(ctx, ref, name) })
}

// Restore implements Keeper.
func (r *Relay) Restore(ctx context.Context, ref Ref, name string) error {
	c := Call{Op: fleet.OpRestore, Ref: ref, Blueprint: Blueprint{Ref: ref, Name: name}}
	return pass(ctx, r, c, func(ctx context.Context, p Keeper) error { return p.Restore(ctx, ref, name) })
}
