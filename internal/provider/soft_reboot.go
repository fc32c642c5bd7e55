package provider

import (
	"context"

	"hale/internal/core/fleet"
)

// SoftRebooter is a provider that can ask a guest to reboot.
type SoftRebooter interface {
	// RebootSoft asks the guest of a running instance to reboot. When it returns nil the guest was asked; it may not
	// listen. fault.Conflict: the instance does not run, or bears another mark than ref.Mark; nothing was changed.
	// fault.Unsupported: this instance has no way to be asked.
	RebootSoft(ctx context.Context, ref Ref) error
}

// RebootSoft implements SoftRebooter.
func (r *Relay) RebootSoft(ctx context.Context, ref Ref) error {
	return onRef(ctx, r, fleet.OpSoftReboot, ref, SoftRebooter.RebootSoft)
}
