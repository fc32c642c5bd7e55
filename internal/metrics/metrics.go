package metrics

import (
	"log/slog"
	"net/http"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/owner/published"
	"hale/internal/probe/bulkprobe"
	"hale/internal/state"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options are what metrics are read from. All are needed, unless it says otherwise.
type Options struct {
	Version string
	Started time.Time
	Counts  *Counts
	Fleets  func() []published.Fleet
	Stored  func() published.Store
	Defects *defect.Register
	Logger  *slog.Logger
	// Machines says whether each machine has series of its own; nil: it has not.
	Machines func() bool
	// Room tells how much room the store has; nil: it does not say.
	Room func() (state.Space, error)
	// Probes says how the shards that probe do, if they say it in time; nil: there are none.
	Probes func() (bulkprobe.Stats, bool)
	// Streams says how the streams out of hale stand; nil: there are none.
	Streams func() []Stream
	// Troubles is what hale lacks on its own server, Unowned what bears its mark and no fleet owns; nil: not known.
	Troubles func() []api.Trouble
	Unowned  func() []published.Unowned
	// Fences are the ways to cut the power of hosts, with how their last tests ended; nil: there are none.
	Fences func() []api.FencedHost
	// Reloaded says when the configuration was last taken over, and why a later one was not; nil: not known.
	Reloaded func() (time.Time, error)
}

// Handler answers with the metrics that the caller may see: those of their fleets, and what belongs to none only to
// those who may see all.
func Handler(o Options) http.Handler {
	if o.Machines == nil {
		o.Machines = func() bool { return false }
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), partCollector{o},
		fleetCollector{o.Fleets, o.Machines})
	registry.MustRegister(o.Counts.collectors()...)
	how := promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError,
		EnableOpenMetrics: true,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		may := access.Of(r.Context())
		if !may.MayAnywhere(access.Viewer) {
			http.Error(w, "you may not see this", http.StatusForbidden)
			return
		}
		o.Counts.stories.begin(specsOf(o.Fleets()))
		sees := scope{registry, func(f fleet.Name) bool { return may.May(access.Viewer, f) }}
		promhttp.HandlerFor(sees, how).ServeHTTP(w, r)
	})
}

func specsOf(all []published.Fleet) []*policy.Spec {
	out := make([]*policy.Spec, 0, len(all))
	for i := range all {
		out = append(out, &all[i].Spec)
	}
	return out
}
