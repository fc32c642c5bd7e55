package provider

import (
	"context"
)

// GuestPinger is a provider that can ask the agent inside a guest whether it is there, without the guest's network.
type GuestPinger interface {
	// PingGuest returns nil once the agent of the instance has answered. It changes nothing and may be asked of any
	// instance, hale's or not. fault.Conflict: the provider says that the agent did not answer in time, that no agent
	// listens, or that the instance does not run: the instance fails. fault.Unsupported: it has no way to be asked;
	// fault.NotFound: it is not on ref.Host. These and every other error say nothing about the guest: where the
	// provider itself is not heard in time, it is fault.Transient.
	PingGuest(ctx context.Context, ref Ref) error
}

// PingGuest implements GuestPinger.
func (r *Relay) PingGuest(ctx context.Context, ref Ref) error {
	return onRef(ctx, r, OpPingGuest, ref, GuestPinger.PingGuest)
}
