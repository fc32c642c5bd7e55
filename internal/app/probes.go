package app

import (
	"context"
	"time"

	"hale/api"
	"hale/internal/probe/bulkprobe"
)

// statsLimit is how long is waited for what the shards have to say of themselves.
const statsLimit = time.Second

// shards says how the large probe engine does, where there is one, and it says so in time.
func (s *site) shards(ctx context.Context) (bulkprobe.Stats, bool) {
	if s.pool == nil {
		return bulkprobe.Stats{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, statsLimit)
	defer cancel()
	is, err := s.pool.Stats(ctx)
	return is, err == nil
}

// probes is shards for the API.
func (s *site) probes(ctx context.Context) *api.Probes {
	is, known := s.shards(ctx)
	if !known {
		return nil
	}
	return &api.Probes{
		Targets: is.Targets, Started: is.Started, Answered: is.Answered, Skipped: is.Skipped, Local: is.Local,
		Stalls: is.Stalls, LateP50: is.Lateness.Quantile(0.5).Seconds(), LateP99: is.Lateness.Quantile(0.99).Seconds(),
		Stalest: is.Stalest.Seconds(),
	}
}
