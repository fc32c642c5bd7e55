package server

import (
	"context"
	"time"

	"hale/internal/state/once"
)

// sweepEvery is how often the notes of calls are swept.
const sweepEvery = 10 * time.Minute

// sweep keeps the notes of calls from growing, until ctx ends.
func (s *Server) sweep(ctx context.Context) {
	again := time.NewTicker(sweepEvery)
	defer again.Stop()
	for {
		if err := once.Sweep(ctx, s.opts.Store, time.Now()); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn("the notes of calls are not swept", "err", err)
		}
		if err := s.named.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn("named holds that are over are not swept", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}
