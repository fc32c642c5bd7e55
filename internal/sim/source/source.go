// Package source reads metrics of the load in a simulated world, as the adapters read those of a real one.
//
// It promises that what it says is the truth of that moment, unless the world has the metric's source say something
// else. It keeps nothing, and takes no time.
package source

import (
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/sim/load"
	"hale/internal/sim/world"
)

// Source is what can be measured of a fleet in a world.
type Source struct {
	World *world.World
	Fleet fleet.Name
	Most  int // machines that the fleet ever has
	// Measures are the quantities that metrics are, beside those that are as Usual says.
	Measures map[fleet.MetricName]load.Quantity
}

// Usual returns which quantity a metric is where nothing says it: what the provider counts of machines, and what stands
// for one machine, is its use or its share of the load; a metric that is the size is how many machines the load needs;
// all others are the whole load.
func Usual(p *policy.Sizing, m *policy.Metric) load.Quantity {
	if m.Kind == policy.MetricProvider {
		return load.Busy
	}
	if p == nil {
		return load.TotalLoad
	}
	for i := range p.Opinions {
		switch o := &p.Opinions[i]; {
		case o.Metric != m.Name:
		case o.PerMachine && m.Least == 0 && m.Most == percent:
			return load.Busy
		case o.PerMachine:
			return load.LoadOfEach
		case o.Kind == policy.OpinionSize:
			return load.NeedsSo
		case o.Kind == policy.OpinionSteps && m.Least == 0 && m.Most == percent:
			return load.Busy
		}
	}
	return load.TotalLoad
}

const percent = 100

// apart reports whether the metric's source says which machine a value is of.
func apart(m *policy.Metric) bool {
	return m.Kind == policy.MetricProvider || m.Kind == policy.MetricCheck ||
		m.Kind == policy.MetricPrometheus && m.Prometheus.Label != ""
}

const op = "source.read"

// Read reads the metric now.
func (s Source) Read(p *policy.Sizing, m *policy.Metric) (gauge.Reading, error) {
	q, chosen := s.Measures[m.Name]
	if !chosen {
		q = Usual(p, m)
	}
	serving := s.World.Members(world.Domain{Kind: "all"}, s.isOf)
	truth, there := s.World.Demand.Value(q, s.World.Now(), serving)
	value, lie := s.World.Demand.Read(string(m.Name), truth)
	switch {
	case lie == load.SaysNothing:
		return gauge.Reading{}, fault.New(fault.Transient, op, string(m.Name), nil)
	case lie == load.SaysMany:
		return gauge.Reading{Whole: make([]float64, 1000)}, nil
	case lie != "":
		return gauge.Reading{Whole: []float64{value}}, nil
	case !there:
		return gauge.Reading{}, nil
	case apart(m) && (q == load.Busy || q == load.LoadOfEach):
		var r gauge.Reading
		for n := 1; n <= s.Most; n++ {
			name := s.Fleet.Machine(n)
			if vm := s.World.Current(string(name)); vm != nil && vm.Serving() {
				r.Each = append(r.Each, fleet.MachineValue{Machine: name, Value: value})
			}
		}
		return r, nil
	}
	return gauge.Reading{Whole: []float64{value}}, nil
}

// isOf reports whether the machine is one of the fleet's.
func (s Source) isOf(machine string) bool {
	name := fleet.MachineName(machine)
	n, ok := name.Ordinal()
	return ok && n <= s.Most && name.Fleet() == s.Fleet
}
