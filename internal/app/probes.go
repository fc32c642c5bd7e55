package app

import (
	"context"
	"time"

	"hale/api"
)

// statsLimit is how long is waited for what the shards have to say of themselves.
const statsLimit = time.Second

// probes says how the large probe engine does; nil where there is none, or where it does not say in time.
func (s *site) probes(ctx context.Context) *api.Probes {
	if s.pool == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, statsLimit)
	defer cancel()
	is, err := s.pool.Stats(ctx)
	if err != nil {
		return nil
	}
	return &api.Probes{
		Targets: is.Targets, Started: is.Started, Answered: is.Answered, Skipped: is.Skipped, Local: is.Local,
		Stalls: is.Stalls, LateP50: is.Lateness.Quantile(0.5).Seconds(), LateP99: is.Lateness.Quantile(0.99).Seconds(),
		Stalest: is.Stalest.Seconds(),
	}
}
