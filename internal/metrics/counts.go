package metrics

import (
	"strings"
	"sync/atomic"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/provider"

	"github.com/prometheus/client_golang/prometheus"
)

// Counts is what is counted as it happens. It is safe for concurrent use, and begins at 0.
type Counts struct {
	stories *stories

	calls, commits *prometheus.CounterVec
	callTook       *prometheus.HistogramVec
	commitTook     prometheus.Histogram
	listed         *prometheus.GaugeVec
	beat           atomic.Int64 // wall time of the last heartbeat; 0: there was none
}

// The bounds of histograms, in seconds.
var (
	callBounds   = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	commitBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
)

// NewCounts returns one that has counted nothing.
func NewCounts() *Counts {
	return &Counts{
		stories: newStories(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hale_provider_calls_total",
			Help: "Calls to the provider, by how they ended: ok, or the kind of error."},
			[]string{"provider", "call", "result"}),
		callTook: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "hale_provider_call_duration_seconds",
			Help: "How long calls to the provider took, however they ended.", Buckets: callBounds},
			[]string{"provider", "call"}),
		listed: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "hale_provider_last_listing_timestamp_seconds",
			Help: "When the provider last listed its instances."}, []string{"provider"}),
		commits: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hale_store_transactions_total",
			Help: "Writes to the store, by how they ended: ok, or the kind of error."}, []string{"result"}),
		commitTook: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "hale_store_transaction_duration_seconds",
			Help: "How long writes to the store took, however they ended.", Buckets: commitBounds}),
	}
}

func (c *Counts) collectors() []prometheus.Collector {
	return append(c.stories.collectors(), c.calls, c.callTook, c.listed, c.commits, c.commitTook)
}

// result is how something ended, as a label says it.
func result(err error) string {
	if err == nil {
		return "ok"
	}
	return strings.ReplaceAll(string(fault.KindOf(err)), " ", "-")
}

// Called counts a call to a provider.
func (c *Counts) Called(of fleet.ProviderName, call provider.Call, took time.Duration, err error) {
	c.calls.WithLabelValues(string(of), string(call.Op), result(err)).Inc()
	c.callTook.WithLabelValues(string(of), string(call.Op)).Observe(took.Seconds())
	if call.Op == provider.OpList && err == nil {
		c.listed.WithLabelValues(string(of)).SetToCurrentTime()
	}
}

// Committed counts a write to the store.
func (c *Counts) Committed(took time.Duration, err error) {
	c.commits.WithLabelValues(result(err)).Inc()
	c.commitTook.Observe(took.Seconds())
}

// Take counts what a record of the journal says. Each is to be handed over once, in their order.
func (c *Counts) Take(r record.Record) { c.stories.take(r) }

// Beat notes that hale acted in every fleet at the time.
func (c *Counts) Beat(at time.Time) { c.beat.Store(at.UnixNano()) }
