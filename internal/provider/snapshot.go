package provider

import (
	"context"

	"hale/internal/core/fleet"
)

// Snapshotter is a provider that can copy the disks of an instance so that the copy outlives it.
type Snapshotter interface {
	// Snapshot copies the disks that would go with the instance, whether it runs or not, as they are at one moment; the
	// machine's kept disks are not among them. The copy is named before it is made. A whole copy under that name is
	// success, and is returned. What an earlier call left of it is taken up, or made anew. Nothing is done to the
	// instance. When it returns nil the copy is whole.
	//
	// fault.Unsupported: there is nothing to copy, or it cannot be copied. fault.NoSpace: there is no room.
	// fault.Conflict: it bears another mark than ref.Mark. fault.Transient: not now; it may be under way. After any
	// error part of it may be there, until DropSnapshot.
	Snapshot(ctx context.Context, ref Ref, name fleet.SnapshotName) (fleet.Copy, error)
	// DropSnapshot removes a copy, whole or not. No such copy is success. fault.Transient: it is being made.
	DropSnapshot(ctx context.Context, name fleet.SnapshotName) error
}

// Snapshot implements Snapshotter.
func (r *Relay) Snapshot(ctx context.Context, ref Ref, name fleet.SnapshotName) (fleet.Copy, error) {
	c := Call{Op: fleet.OpSnapshot, Ref: ref, Snapshot: name}
	return ask(ctx, r, c, func(ctx context.Context, p Snapshotter) (fleet.Copy, error) {
		return p.Snapshot(ctx, ref, name)
	})
}

// DropSnapshot implements Snapshotter.
func (r *Relay) DropSnapshot(ctx context.Context, name fleet.SnapshotName) error {
	c := Call{Op: fleet.OpDropSnapshot, Ref: Ref{ID: fleet.InstanceID(name.ID)}, Snapshot: name}
	return pass(ctx, r, c, func(ctx context.Context, p Snapshotter) error { return p.DropSnapshot(ctx, name) })
}
