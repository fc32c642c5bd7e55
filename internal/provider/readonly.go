package provider

import (
	"context"
	"errors"

	"hale/internal/fault"
	"hale/internal/fleet"
)

// ReadOnly returns the provider with its eyes and without its hands: reads pass, every call that changes something is
// fault.Unsupported and never reaches it. Close passes.
func ReadOnly(p Provider) Provider { return readOnly{Reader: p, behind: p} }

type readOnly struct {
	Reader
	behind Provider
}

var errReadOnly = errors.New("this provider is opened for reading only")

func refuse(op string, ref Ref) error {
	return fault.New(fault.Unsupported, "provider."+op, string(ref.ID), errReadOnly)
}

// absent says that the provider behind does not have what was asked for.
func absent(op string, ref Ref) error {
	return fault.New(fault.Unsupported, "provider."+op, string(ref.ID), nil)
}

// Start implements Power.
func (readOnly) Start(_ context.Context, ref Ref) error { return refuse("start", ref) }

// Reboot implements Power.
func (readOnly) Reboot(_ context.Context, ref Ref) error { return refuse("reboot", ref) }

// PowerOff implements Power.
func (readOnly) PowerOff(_ context.Context, ref Ref) error { return refuse("power-off", ref) }

// Create implements Builder.
func (readOnly) Create(_ context.Context, order Order) error { return refuse("create", order.Ref) }

// Delete implements Builder.
func (readOnly) Delete(_ context.Context, ref Ref) error { return refuse("delete", ref) }

// Certify implements Builder.
func (readOnly) Certify(_ context.Context, ref Ref) error { return refuse("certify", ref) }

// Has implements Chooser.
func (r readOnly) Has(ability string) bool {
	c, chooses := r.behind.(Chooser)
	return !chooses || c.Has(ability)
}

// Close implements Provider.
func (r readOnly) Close() error { return r.behind.Close() }

// Meter implements MeterReader.
func (r readOnly) Meter(ctx context.Context, ref Ref) (Meter, error) {
	if able, ok := r.behind.(MeterReader); ok {
		return able.Meter(ctx, ref)
	}
	return "", absent("meter", ref)
}

// PingGuest implements GuestPinger.
func (r readOnly) PingGuest(ctx context.Context, ref Ref) error {
	if able, ok := r.behind.(GuestPinger); ok {
		return able.PingGuest(ctx, ref)
	}
	return absent("ping-guest", ref)
}

// Console implements ConsoleReader.
func (r readOnly) Console(ctx context.Context, ref Ref, limit int) ([]byte, error) {
	if able, ok := r.behind.(ConsoleReader); ok {
		return able.Console(ctx, ref, limit)
	}
	return nil, absent("console", ref)
}

// Rehearse implements Rehearser.
func (r readOnly) Rehearse(ctx context.Context, order Order) error {
	if able, ok := r.behind.(Rehearser); ok {
		return able.Rehearse(ctx, order)
	}
	return absent("rehearse", order.Ref)
}

// Starts implements StartReader.
func (r readOnly) Starts(ctx context.Context, of fleet.Installation) (map[fleet.HostName][]fleet.StartName, error) {
	if able, ok := r.behind.(StartReader); ok {
		return able.Starts(ctx, of)
	}
	return nil, absent("starts", Ref{})
}

// Screenshot implements Screenshooter.
func (r readOnly) Screenshot(ctx context.Context, ref Ref, limit int) (Picture, error) {
	if able, ok := r.behind.(Screenshooter); ok {
		return able.Screenshot(ctx, ref, limit)
	}
	return Picture{}, absent("screenshot", ref)
}
