package metrics

import (
	"slices"

	"hale/internal/core/fleet"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// scope is what a caller may see of what is gathered.
type scope struct {
	all  prometheus.Gatherer
	sees func(fleet.Name) bool // the empty name: what belongs to no fleet
}

// Gather implements prometheus.Gatherer.
func (s scope) Gather() ([]*dto.MetricFamily, error) {
	families, err := s.all.Gather()
	if s.sees("") {
		return families, err
	}
	for _, f := range families {
		f.Metric = slices.DeleteFunc(f.Metric, func(m *dto.Metric) bool { return !s.shows(m) })
	}
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return len(f.Metric) == 0 }), err
}

func (s scope) shows(m *dto.Metric) bool {
	for _, l := range m.GetLabel() {
		if l.GetName() == "fleet" {
			return s.sees(fleet.Name(l.GetValue()))
		}
	}
	return false
}
