package policy

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
)

// Update says how another template goes through the fleet.
type Update struct {
	// Pilots is how many machines are built from it first; at least one.
	Pilots int `json:"Canary"` // as it was stored first
	// Soak is how long these must all be healthy before the others follow.
	Soak time.Duration
	// Batch is how many machines follow before it is looked whether all of them are well. The zero value: one follows
	// as soon as another is done.
	Batch Portion `json:",omitzero"`
	// Pause is the time between the moment at which a batch is well and the next one.
	Pause time.Duration `json:",omitempty"`
	// InService is how many machines serve at least whenever one is taken away. The zero value: that does not matter.
	InService Portion `json:",omitzero"`
	// Surge is how many machines there may be beyond the size, to serve while others are changed: then never fewer
	// serve than the size says. 0: none.
	Surge int `json:",omitempty"`
	// Query is a metric that says whether the template is good; nil: only health does.
	Query *UpdateQuery `json:",omitempty"`
	// OnFailure says what becomes of the machines that were changed when the update fails; empty: they stay.
	OnFailure OnUpdateFailure `json:",omitempty"`
	// UndoWithin is how long it may take to undo it before a person is told.
	UndoWithin time.Duration `json:",omitempty"`
	// Order says which machines are built from it first; empty: those with the highest numbers.
	Order UpdateOrder `json:",omitempty"`
}

// UpdateQuery is a metric that says whether another template is good: beyond the bound it is not.
type UpdateQuery struct {
	// Metric is the name of one of the size's metrics, or of Own.
	Metric fleet.MetricName
	// Own is a metric that is read for the update alone; nil: none is.
	Own *Metric `json:",omitempty"`
	// Above and Below are the bound; one of them is set. The value itself is not beyond it.
	Above, Below *float64 `json:",omitempty"`
	// For is for how long every reading must be beyond it before the update fails.
	For time.Duration
}

// OwnMetric is the name of a metric that an update's query reads for itself. No name in a configuration has a dot.
const OwnMetric fleet.MetricName = "update.query"

// Bound is the one value that the query is about.
func (q *UpdateQuery) Bound() float64 {
	if q.Above != nil {
		return *q.Above
	}
	return *q.Below
}

// Beyond reports whether the value is beyond the bound.
func (q *UpdateQuery) Beyond(value float64) bool {
	return q.Above != nil && value > *q.Above || q.Below != nil && value < *q.Below
}

// OnUpdateFailure says what becomes of the machines that were changed when an update fails.
type OnUpdateFailure string

// What becomes of them.
const (
	UpdateStop OnUpdateFailure = "stop" // they stay, and the others keep their template
	UpdateUndo OnUpdateFailure = "undo" // they are built from the template again that the others have
)

// UpdateOrder says which machines are built from another template first.
type UpdateOrder string

// Which go first.
const (
	UpdateHighest UpdateOrder = "highest-number"
	UpdateLowest  UpdateOrder = "lowest-number"
	UpdateOldest  UpdateOrder = "oldest" // by the generation of its instance, the least first
)

// Portion is a number of machines, or a part of a fleet's. The zero value is none.
type Portion struct {
	Number  int `json:",omitempty"`
	Percent int `json:",omitempty"` // 1 to 100; 0: Number says it
}

// Of returns how many machines that are of a fleet of the size: one at least, unless it is none. A part is rounded
// down.
func (p Portion) Of(size int) int {
	if p.Percent > 0 {
		return max(1, p.Percent*size/100)
	}
	return p.Number
}

// Metrics are all metrics of the fleet that are read: for its size, and for its updates.
func (s *Spec) Metrics() []Metric {
	var all []Metric
	if s.Sizing != nil {
		all = s.Sizing.Metrics
	}
	if q := s.Update.Query; q != nil && q.Own != nil {
		all = append(slices.Clone(all), *q.Own)
	}
	return all
}

// Metric returns the metric of the name, or nil.
func (s *Spec) Metric(name fleet.MetricName) *Metric {
	all := s.Metrics()
	i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// QueryMetric returns the metric that the query goes by, or nil.
func (s *Spec) QueryMetric() *Metric {
	switch q := s.Update.Query; {
	case q == nil:
		return nil
	case q.Own != nil:
		return q.Own
	default:
		return s.Sizing.Metric(q.Metric)
	}
}

// Lookback is how far back a fleet looks at a metric.
func (s *Spec) Lookback(m *Metric) time.Duration {
	back := s.Sizing.Lookback(m)
	if q := s.Update.Query; q != nil && q.Metric == m.Name {
		back = max(back, q.For+m.Late+m.Every)
	}
	return back
}
