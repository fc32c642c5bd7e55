package policy

import (
	"math"
	"slices"
	"time"

	"hale/internal/core/fleet"
)

// Believable reports whether a value is a number within the metric's bounds. Without bounds (both 0) each number is.
func (m *Metric) Believable(value float64) bool {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return false
	}
	return m.Least == 0 && m.Most == 0 || value >= m.Least && value <= m.Most
}

// DefaultMetricTimeout is how long a source of metrics has to answer.
const DefaultMetricTimeout = 10 * time.Second

// Patience is how long one reading may take: it ends before the next one begins.
func (m *Metric) Patience() time.Duration {
	limit := DefaultMetricTimeout
	if m.Kind == MetricPrometheus && m.Prometheus.Timeout > 0 {
		limit = m.Prometheus.Timeout
	}
	return min(limit, m.Every*9/10)
}

// One makes one value of several; there is one at least. Without a way to, it is the first.
func (c Combine) One(values []float64) float64 {
	total, most := 0.0, values[0]
	for _, v := range values {
		total, most = total+v, max(most, v)
	}
	switch c {
	case CombineSum:
		return total
	case CombineMax:
		return most
	case CombineMean:
		return total / float64(len(values))
	}
	return values[0]
}

// smoothed is how many time constants a reading still counts in a weighted mean: beyond that it weighs less than 1 %.
const smoothed = 5

// ReadsPage reports whether a metric is a number in the answer to the check.
func (s *Spec) ReadsPage(c fleet.CheckName) bool {
	return slices.ContainsFunc(s.Metrics(), func(m Metric) bool {
		return m.Kind == MetricCheck && m.Check.Check == c && m.Check.Body != ""
	})
}

// Lookback is how far back the rule looks at a metric: as long as the longest window, with what each moment of that
// looks back on in turn, and one reading more.
func (s *Sizing) Lookback(m *Metric) time.Duration {
	if s == nil {
		return 0
	}
	steps := time.Duration(0)
	for _, o := range s.Opinions {
		for _, step := range o.Steps {
			if o.Metric == m.Name {
				steps = max(steps, step.For, time.Duration(step.Readings)*m.Every)
			}
		}
	}
	return max(s.Up.Stabilise, s.Down.Stabilise) + max(steps, smoothed*m.Smooth) + m.Late + m.Every
}
