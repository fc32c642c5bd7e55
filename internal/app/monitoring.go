package app

import (
	"context"
	"time"

	"hale/internal/api/server"
	"hale/internal/metrics"
	"hale/internal/probe/bulkprobe"
	"hale/internal/ready"
	"hale/internal/state"
)

// monitoring is what answers those who watch hale.
func (a *App) monitoring(ctx context.Context, store state.Store, s *site, d *desk) server.Monitoring {
	started := time.Now()
	is := ready.Options{
		Version: a.opts.Version, Started: started, Fleets: s.engine.Status, Stored: s.engine.StoreStatus,
		Reloaded: d.Reloaded, Stuck: s.engine.Stuck,
	}
	return server.Monitoring{
		Metrics: metrics.Handler(metrics.Options{
			Version: a.opts.Version, Started: started, Counts: s.how.counts, Fleets: s.engine.Status,
			Stored: s.engine.StoreStatus, Defects: s.defects, Logger: a.opts.Logger, Machines: s.machines.Load,
			Room: roomOf(store), Probes: func() (bulkprobe.Stats, bool) { return s.shards(ctx) },
			Troubles: s.troubles.All, Unowned: s.engine.Unowned, Reloaded: d.Reloaded, Fences: s.fencing.Fences,
			Streams: s.streams.Metrics,
		}),
		Ready: ready.Ready(is),
		Alive: ready.Alive(is),
	}
}
