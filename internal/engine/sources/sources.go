// Package sources opens what reads the metrics of one fleet in a term: its own checks and its provider are at hand, the
// rest lies outside.
//
// It promises that what a metric is read by goes on until the metric is another one, and does not panic. It is not safe
// for concurrent use; what it returns is.
package sources

import (
	"context"
	"errors"
	"reflect"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/gauge"
	"hale/internal/gauge/checks"
	"hale/internal/gauge/usage"
	"hale/internal/probe"
	"hale/internal/provider"
)

// Sources are where one fleet's metrics are read.
type Sources struct {
	fleet   fleet.Name
	probes  probe.Engine
	usage   *usage.Source
	outside gauge.Open // nil: there is nothing
	told    defect.Witness
	open    map[fleet.MetricName]source
}

type source struct {
	metric policy.Metric
	gauge.Reader
}

// New makes the fleet's sources. Nothing is read yet.
func New(of fleet.Name, probes probe.Engine, p provider.Provider, outside gauge.Open, told defect.Witness) *Sources {
	return &Sources{of, probes, usage.New(p), outside, told, map[fleet.MetricName]source{}}
}

// Of returns what reads the metric.
func (s *Sources) Of(m policy.Metric) gauge.Reader {
	if is, known := s.open[m.Name]; known && reflect.DeepEqual(is.metric, m) {
		return is.Reader
	}
	r := s.reader(m)
	if r == nil {
		r = nowhere{m.Name}
	}
	s.open[m.Name] = source{m, gauge.Guarded(r, m.Name, s.told)}
	return s.open[m.Name].Reader
}

func (s *Sources) reader(m policy.Metric) gauge.Reader {
	switch m.Kind {
	case policy.MetricCheck:
		return checks.New(s.probes, m)
	case policy.MetricProvider:
		return s.usage.Reader(m)
	case policy.MetricPrometheus, policy.MetricCommand:
	}
	if s.outside == nil {
		return nil
	}
	return s.outside(s.fleet, m)
}

// nowhere is where a metric is read that this hale has no source for.
type nowhere struct{ metric fleet.MetricName }

var errNowhere = errors.New("this hale has no source of such metrics")

// Read implements gauge.Reader.
func (n nowhere) Read(context.Context, []gauge.Machine) (gauge.Reading, error) {
	return gauge.Reading{}, fault.New(fault.Unsupported, "sources.read", string(n.metric), errNowhere)
}
