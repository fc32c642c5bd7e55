package provider

import (
	"context"

	"hale/internal/core/fleet"
)

// Resumer is a provider that lets instances go on that stand still with their memory intact.
type Resumer interface {
	// Resume lets an instance go on that was paused or that suspended itself. One that runs is success. fault.Conflict:
	// it is off or crashed, or the provider itself stopped it, for want of storage or for a job of its own. Then it
	// goes on only when that cause has ended. Nothing was changed.
	Resume(ctx context.Context, ref Ref) error
}

// Resume implements Resumer.
func (r *Relay) Resume(ctx context.Context, ref Ref) error {
	return onRef(ctx, r, fleet.OpResume, ref, Resumer.Resume)
}
