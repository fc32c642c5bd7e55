package provider

import (
	"context"
	"time"
)

// MeterReader is a provider that counts what its instances' processors do.
type MeterReader interface {
	// Meter reads the counters of an instance. They move whenever one of its processors does anything at all, even at a
	// tick of the kernel's timer. If they read the same StillAfter later, the instance has stood still, whatever its
	// network does. What spins moves them, too, so that moving proves nothing. It changes nothing and may be asked of
	// any instance. fault.Conflict: it does not run. fault.Unsupported: they are not counted, or so coarsely that one
	// which idles may seem to stand still. An error says nothing about the guest.
	Meter(ctx context.Context, ref Ref) (Meter, error)
}

// Meter is what counters read. Two of one instance are compared, and nothing else is done with them.
type Meter string

// StillAfter is how far apart two readings lie at least that say that an instance stands still.
const StillAfter = 20 * time.Second

// Meter implements MeterReader.
func (r *Relay) Meter(ctx context.Context, ref Ref) (Meter, error) {
	return ask(ctx, r, Call{Op: OpMeter, Ref: ref}, func(ctx context.Context, p MeterReader) (Meter, error) {
		return p.Meter(ctx, ref)
	})
}
