package provider

import (
	"context"

	"hale/internal/core/fleet"
)

// Rescuer is a provider that can let a person at the disk of an instance that does not come up.
type Rescuer interface {
	// Rescue stops the instance and starts another system in its place, which the provider chooses, with the instance's
	// disk beside: nothing on it is changed. It is fleet.PowerPaused by fleet.StopRescue then, until a person ends that
	// at the provider; Start and Resume are a fault.Conflict meanwhile. One that is rescued already is success.
	// fault.Conflict: it bears another mark, or is paused; nothing was changed. It may be called again after any error.
	Rescue(ctx context.Context, ref Ref) error
}

// Rescue implements Rescuer.
func (r *Relay) Rescue(ctx context.Context, ref Ref) error {
	return onRef(ctx, r, fleet.OpRescue, ref, Rescuer.Rescue)
}
