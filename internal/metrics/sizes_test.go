package metrics_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/resized"
	"hale/internal/core/sizing"
	"hale/internal/metrics"
	"hale/internal/owner/published"
)

// bounded gives the fleet of ten machines bounds, and opinions: the processors want 20, a queue's metric has said
// nothing for an hour, and the office is closed.
func bounded(f *published.Fleet) {
	z := &policy.Sizing{Min: 4, Max: 12, Mode: policy.ModeAct,
		Metrics: []policy.Metric{{Name: "load", Late: time.Minute, Most: 100}, {Name: "queue", Late: time.Minute}},
		Opinions: []policy.Opinion{
			{Name: "backlog", Kind: policy.OpinionTarget, Metric: "queue", Target: 100},
			{Name: "busy", Kind: policy.OpinionTarget, Metric: "load", Target: 40, PerMachine: true},
			{Name: "office", Kind: policy.OpinionSchedule, Size: 8},
		}}
	f.Wanted.Sizing, f.Spec.Sizing = z, z
	f.Now = fleet.Now{Wall: dawn, Mono: fleet.Instant(2 * time.Hour)}
	f.Gauges = []fleet.Gauge{{Metric: "load", Points: []fleet.Point{{At: f.Now.Mono.Add(-10 * time.Second), Value: 80,
		Serving: 10}}}, {Metric: "queue", Trouble: fleet.ReasonMetricSilent}}
	f.Whole.Ledger = belief.OpenLedger(&f.Wanted, f.Spec.Size)
	f.Whole.Sizing = &resized.State{Silent: []resized.Silent{{Metric: "queue", Since: dawn.Add(-time.Hour)}}}
}

func TestHowASizeWithBoundsStandsIsTold(t *testing.T) {
	t.Parallel()
	fleets := nFleets(2, 10)
	bounded(&fleets[0])
	o := options(fleets)
	text := scrape(t, o, everyone)
	has(t, text, `hale_fleet_size{fleet="fleet-0"} 10`,
		`hale_fleet_size_min{fleet="fleet-0"} 4`, `hale_fleet_size_max{fleet="fleet-0"} 12`,
		`hale_fleet_size_wanted{fleet="fleet-0"} 20`, `hale_fleet_size_held{fleet="fleet-0",reason="bounds"} 1`,
		`hale_opinion_size{fleet="fleet-0",opinion="busy"} 20`,
		`hale_opinion_none{fleet="fleet-0",opinion="backlog",reason="metric-silent"} 1`,
		`hale_opinion_none{fleet="fleet-0",opinion="office",reason="closed"} 1`,
		`hale_size_metric_value{fleet="fleet-0",metric="load"} 80`,
		fmt.Sprintf(`hale_size_metric_timestamp_seconds{fleet="fleet-0",metric="load"} %v`, float64(dawn.Unix()-10)),
		fmt.Sprintf(`hale_size_metric_silent_timestamp_seconds{fleet="fleet-0",metric="queue"} %v`,
			float64(dawn.Unix()-3600)),
		`hale_size_moves_total{direction="up",fleet="fleet-0",opinion="busy"} 0`,
		`hale_size_signals_refused_total{fleet="fleet-0",reason="pinned"} 0`)
	lacks(t, text, `hale_fleet_size_max{fleet="fleet-1"}`, `hale_opinion_size{fleet="fleet-0",opinion="office"}`,
		`hale_size_metric_silent_timestamp_seconds{fleet="fleet-0",metric="load"}`,
		`hale_size_moves_total{direction="up",fleet="fleet-1",opinion="busy"}`)

	// Another server has the readings of a fleet that it holds: this one knows its bounds alone.
	fleets[0].Lease = 0
	text = scrape(t, o, everyone)
	has(t, text, `hale_fleet_size_max{fleet="fleet-0"} 12`)
	lacks(t, text, `hale_fleet_size_wanted`, `hale_opinion_none`, `hale_size_metric_value`)
}

// What a metric was read to be is told also where it is absurd: that is what a person looks for.
func TestAnAbsurdReadingIsTold(t *testing.T) {
	t.Parallel()
	fleets := nFleets(1, 10)
	bounded(&fleets[0])
	fleets[0].Gauges[0].Points[0].Value = math.NaN()
	has(t, scrape(t, options(fleets), everyone), `hale_size_metric_value{fleet="fleet-0",metric="load"} NaN`,
		`hale_opinion_none{fleet="fleet-0",opinion="busy",reason="metric-absurd"} 1`,
		`hale_fleet_size_wanted{fleet="fleet-0"} 10`)
}

func TestMovesOfSizesAndRefusedSignalsAreCounted(t *testing.T) {
	t.Parallel()
	fleets := nFleets(1, 10)
	bounded(&fleets[0])
	o := options(fleets)
	for _, r := range []record.Record{
		{Kind: record.Size, Reason: fleet.ReasonOpinion, Opinion: "busy", Size: 12, Limit: 10},
		{Kind: record.Size, Reason: fleet.ReasonOpinion, Opinion: "busy", Size: 11, Limit: 12},
		{Kind: record.Size, Reason: fleet.ReasonOpinion, Opinion: "busy", Size: 10, Limit: 11},
		{Kind: record.Size, Reason: fleet.ReasonObserve, Opinion: "busy", Size: 9, Limit: 10}, // it did not move
		{Kind: record.Size, Reason: fleet.ReasonBounds, Opinion: "busy", Size: 20, Limit: 12},
		{Kind: record.Order, Command: fleet.OrderScale},
		{Kind: record.Change, Reason: fleet.ReasonSizeOrdered, Size: 11, Limit: 10},
		{Kind: record.Change, Reason: fleet.ReasonSizeOrdered, Size: 11, Limit: 11}, // it was pinned
		{Kind: record.Order, Command: fleet.OrderScale, Reason: fleet.ReasonCooldown},
		{Kind: record.Order, Command: fleet.OrderScale, Reason: fleet.ReasonPinned},
		{Kind: record.Order, Command: fleet.OrderScale, Reason: fleet.ReasonBounds}, // no signal's alone
	} {
		r.Fleet = "fleet-0"
		o.Counts.Take(r)
	}
	has(t, scrape(t, o, everyone),
		`hale_size_moves_total{direction="up",fleet="fleet-0",opinion="busy"} 1`,
		`hale_size_moves_total{direction="down",fleet="fleet-0",opinion="busy"} 2`,
		`hale_size_moves_total{direction="up",fleet="fleet-0",opinion="none"} 1`,
		`hale_size_moves_total{direction="down",fleet="fleet-0",opinion="none"} 0`,
		`hale_size_signals_refused_total{fleet="fleet-0",reason="cooldown"} 1`,
		`hale_size_signals_refused_total{fleet="fleet-0",reason="pinned"} 1`,
		`hale_orders_total{command="scale",fleet="fleet-0",result="refused"} 3`)
}

// A thousand fleets with ten opinions each are judged at each scrape, as their owners judge them.
func BenchmarkScrapeOfAThousandSizes(b *testing.B) {
	fleets := nFleets(1000, 4)
	for i := range fleets {
		f := &fleets[i]
		bounded(f)
		z := *f.Wanted.Sizing
		for n := range 7 {
			z.Opinions = append(z.Opinions, policy.Opinion{Name: fleet.OpinionName(fmt.Sprint("n", n)),
				Kind: policy.OpinionTarget, Metric: "load", Target: 40, PerMachine: true})
		}
		z.Down.Stabilise = 5 * time.Minute
		f.Wanted.Sizing, f.Spec.Sizing = &z, &z
		f.Gauges[0].Points = nil
		for k := range 20 {
			f.Gauges[0].Points = append(f.Gauges[0].Points, fleet.Point{Value: 80, Serving: 4,
				At: f.Now.Mono.Add(time.Duration(k-20) * sizing.Beat)})
		}
	}
	o := options(fleets)
	busy(o)
	h := metrics.Handler(o)
	for b.Loop() {
		b.SetBytes(int64(len(served(b, h, everyone))))
	}
}
