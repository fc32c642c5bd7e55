package engine_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/gauge"
	"hale/internal/gauge/memory"
	"hale/internal/provider/simulated"
)

// yard are the sources of a story's metrics.
type yard struct {
	mu     sync.Mutex
	by     map[fleet.MetricName]*memory.Source
	opened map[fleet.MetricName]int
}

// open implements gauge.Open.
func (y *yard) open(_ fleet.Name, m policy.Metric) gauge.Reader {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.opened[m.Name]++
	if s := y.by[m.Name]; s != nil {
		return s
	}
	return nil
}

// sized is the story's fleet with these metrics, each read every 15 seconds from a source of its own.
func (s *story) sized(names ...fleet.MetricName) *yard {
	y := &yard{by: map[fleet.MetricName]*memory.Source{}, opened: map[fleet.MetricName]int{}}
	s.spec.Sizing = &policy.Sizing{Min: 1, Max: 9, Desired: s.spec.Size, Mode: policy.ModeAct, TellAfter: time.Hour,
		Down: policy.Pace{Stabilise: 5 * time.Minute}}
	for _, name := range names {
		y.by[name] = &memory.Source{}
		y.by[name].Say(gauge.Reading{Whole: []float64{1}})
		s.spec.Sizing.Metrics = append(s.spec.Sizing.Metrics, policy.Metric{
			Name: name, Kind: policy.MetricPrometheus, Every: 15 * time.Second, Late: time.Minute,
			Of: policy.CombineSum,
		})
	}
	s.gauges = y.open
	return y
}

// gauge is what the engine shows of the metric.
func (s *story) gauge(name fleet.MetricName) fleet.Gauge {
	s.t.Helper()
	for _, g := range s.hale.engine.Status()[0].Gauges {
		if g.Metric == name {
			return g
		}
	}
	s.t.Fatalf("nothing is known of metric %s", name)
	return fleet.Gauge{}
}

func TestMetricsAreReadOnTheirBeats(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(2), func(s *story) {
		y := s.sized("load")
		s.grown()
		before := y.by["load"].Asked()
		y.by["load"].Say(gauge.Reading{Whole: []float64{7}})
		s.pass(time.Minute)
		if n := y.by["load"].Asked() - before; n != 4 || y.opened["load"] != 1 {
			t.Errorf("in a minute it is asked %d times, by %d readers", n, y.opened["load"])
		}
		g := s.gauge("load")
		if p := g.Points[len(g.Points)-1]; p.Value != 7 || p.Serving != 2 || p.Size != 2 || g.Trouble != "" {
			t.Errorf("%+v", g)
		}
	})
}

// A source that hangs is silent, and nothing but its own opinions has to wait for it: neither the other metrics, nor
// the owner, nor the end of hale.
func TestASourceThatHangsDelaysNothing(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(2), func(s *story) {
		y := s.sized("a", "b")
		y.by["a"].Hang()
		s.grown()
		s.pass(5 * time.Minute)
		if g := s.gauge("a"); g.Trouble != fleet.ReasonMetricSilent || len(g.Points) > 0 || g.Detail == "" {
			t.Errorf("it hangs: %+v", g)
		}
		if g := s.gauge("b"); len(g.Points) < 19 {
			t.Errorf("beside it %d points were read in five minutes", len(g.Points))
		}
		before := y.by["a"].Asked()
		s.pass(time.Minute)
		if n := y.by["a"].Asked() - before; n < 3 || n > 4 {
			t.Errorf("it is asked %d times in a minute", n)
		}
		y.by["a"].Wake()
		s.pass(time.Minute)
		if g := s.gauge("a"); g.Trouble != "" || len(g.Points) == 0 {
			t.Errorf("it answers again: %+v", g)
		}
		y.by["a"].Hang()
		s.pass(15 * time.Second)
		s.kill()
		synctest.Wait()
		stacks := make([]byte, 1<<20)
		if strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "memory.(*Source).Read") {
			t.Error("a reading lives on after the end of its term")
		}
	})
}

// rash is a source with a defect.
type rash struct{}

func (rash) Read(context.Context, []gauge.Machine) (gauge.Reading, error) { panic("boom") }

func TestAMetricThatPanicsOrHasNoSourceIsSilent(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(2), func(s *story) {
		y := s.sized("a", "b")
		delete(y.by, "b")
		s.gauges = func(of fleet.Name, m policy.Metric) gauge.Reader {
			if m.Name == "a" {
				return rash{}
			}
			return y.open(of, m)
		}
		s.grown()
		s.pass(time.Minute)
		for _, name := range []fleet.MetricName{"a", "b"} {
			if g := s.gauge(name); g.Trouble != fleet.ReasonMetricSilent {
				t.Errorf("%+v", g)
			}
		}
		if n := s.count(because(record.Paged, fleet.ReasonMetricPanicked)); n != 1 {
			t.Errorf("people are told %d times of the one that panics", n)
		}
	})
}

func TestL09ANewTermReadsAfresh(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(2), func(s *story) {
		y := s.sized("load")
		s.grown()
		s.pass(2 * time.Minute)
		s.kill()
		y.by["load"].Fail(fault.New(fault.Transient, "x", "", errors.New("it is away")))
		s.grown()
		s.pass(time.Minute)
		if g := s.gauge("load"); len(g.Points) > 0 || g.Trouble == "" {
			t.Errorf("%+v", g)
		}
	})
}

// An edit takes metrics in and out, and leaves alone what is as it was.
func TestAnEditedMetricIsReadByItsNewSource(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(2), func(s *story) {
		y := s.sized("a", "b")
		s.grown()
		s.pass(time.Minute)
		s.reload(func(spec *policy.Spec) {
			sizing := *spec.Sizing
			sizing.Metrics = slices.Clone(sizing.Metrics)
			sizing.Metrics[1].Every = 5 * time.Second
			spec.Sizing = &sizing
		})
		s.pass(time.Minute)
		if y.opened["a"] != 1 || y.opened["b"] != 2 || len(s.gauge("b").Points) < 11 {
			t.Errorf("opened %v; %d points", y.opened, len(s.gauge("b").Points))
		}
	})
}

// What hale has at hand needs no source outside: what its own checks measure, and what the provider counts.
func TestChecksAndProvidersAreSourcesOfMetrics(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.sized()
		for _, m := range []policy.Metric{
			{Name: "busy", Kind: policy.MetricProvider, Usage: policy.UsageCPU},
			{Name: "page", Kind: policy.MetricCheck, Check: policy.CheckNumber{Check: "page", Body: `(\d+)`}},
			{Name: "slow", Kind: policy.MetricCheck, Check: policy.CheckNumber{Check: "page"}},
		} {
			m.Every, m.Late, m.Of, m.Most = 15*time.Second, time.Minute, policy.CombineMean, 100
			s.spec.Sizing.Metrics = append(s.spec.Sizing.Metrics, m)
		}
		s.grown()
		if g := s.gauge("busy"); len(g.Points) == 0 || g.Points[0].Value != 10 || len(g.Each) != 3 || g.Trouble != "" {
			t.Errorf("of the provider: %+v", g)
		}
		if g := s.gauge("slow"); len(g.Points) == 0 || g.Each[2].Machine != "web-3" || g.Points[0].Missing != 0 {
			t.Errorf("of a check: %+v", g)
		}
		if g := s.gauge("page"); len(g.Points) == 0 || g.Each[2].Value != 3 { // each page names its machine
			t.Errorf("of a page: %+v", g)
		}
	})
}
