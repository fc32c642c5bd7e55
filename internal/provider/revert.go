package provider

import (
	"context"

	"hale/internal/core/fleet"
)

// Reverter is a Snapshotter that can put a copy of disks back. Independent hosts are asked before, as Power says.
type Reverter interface {
	// Revert gives the instance, which is off, the disks of the whole copy in place of its own ones that would go with
	// it. It then starts it with the same id, name, mark and network address. The copy may be of an earlier instance
	// of the machine. What the instance had on these disks is lost; the machine's kept disks and the copy stay as they
	// are. fault.Conflict: it is not off, it was put aside, or it bears another mark; nothing was changed.
	// fault.Invalid: there is no such copy that is whole, or it is of other disks; nothing was changed. It may be
	// called again after any error; until it has ended well the instance may have no disk to run from.
	Revert(ctx context.Context, ref Ref, name fleet.SnapshotName) error
}

// Revert implements Reverter.
func (r *Relay) Revert(ctx context.Context, ref Ref, name fleet.SnapshotName) error {
	c := Call{Op: fleet.OpRevert, Ref: ref, Snapshot: name}
	return pass(ctx, r, c, func(ctx context.Context, p Reverter) error { return p.Revert(ctx, ref, name) })
}
