// Package rig is what the benchmarks that measure whole programs share: the programs that they measure, and waiting for
// them.
package rig

import (
	"context"
	"time"
)

// Pass lets time pass.
func Pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
