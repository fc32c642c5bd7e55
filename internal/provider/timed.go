package provider

import (
	"context"
	"time"

	"hale/internal/core/fault"
)

// Timed returns the provider as one that tells how each call went. What it does not have is no call.
func Timed(p Provider, told func(c Call, took time.Duration, err error)) Provider {
	return NewRelay(p, func(ctx context.Context, c Call, do func(context.Context, Provider) error) error {
		began := time.Now()
		err := do(ctx, p)
		if !fault.Is(err, fault.Unsupported) {
			told(c, time.Since(began), err)
		}
		return err
	})
}
