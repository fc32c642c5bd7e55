package provider

import (
	"context"
)

// ConsoleReader is a provider that keeps what its instances write to their serial consoles.
type ConsoleReader interface {
	// Console returns the end of what the instance wrote, at most limit bytes of it; also of one that is off.
	// fault.Unsupported: it is not kept for this instance.
	Console(ctx context.Context, ref Ref, limit int) ([]byte, error)
}

// Screenshooter is a provider that shows what is on its instances' screens.
type Screenshooter interface {
	// Screenshot returns what is on the instance's screen now. fault.Unsupported: it has none. fault.Conflict: it does
	// not run. fault.Invalid: it takes more than limit bytes.
	Screenshot(ctx context.Context, ref Ref, limit int) (Image, error)
}

// Image is an image file.
type Image struct {
	Format string // its media type, such as image/png
	Data   []byte
}

// Console implements ConsoleReader.
func (r *Relay) Console(ctx context.Context, ref Ref, limit int) ([]byte, error) {
	return ask(ctx, r, Call{Op: OpConsole, Ref: ref}, func(ctx context.Context, p ConsoleReader) ([]byte, error) {
		return p.Console(ctx, ref, limit)
	})
}

// Screenshot implements Screenshooter.
func (r *Relay) Screenshot(ctx context.Context, ref Ref, limit int) (Image, error) {
	return ask(ctx, r, Call{Op: OpScreenshot, Ref: ref}, func(ctx context.Context, p Screenshooter) (Image, error) {
		return p.Screenshot(ctx, ref, limit)
	})
}
