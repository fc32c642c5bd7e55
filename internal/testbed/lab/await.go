package lab

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// finalError ends an await at once.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

func final(err error) error { return finalError{err} }

// await calls try every 20 ms until it succeeds, fails finally, or ctx ends; then it returns the last error.
func await(ctx context.Context, try func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		var stop finalError
		if err == nil || errors.As(err, &stop) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}
