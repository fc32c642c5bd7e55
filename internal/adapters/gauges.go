package adapters

import (
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/gauge/command"
	"hale/internal/gauge/prometheus"
)

// Gauges are the sources of metrics outside hale. What is asked of one server goes one way, whichever fleet asks.
type Gauges struct{ servers prometheus.Servers }

// NewGauges makes the sources, for hale of the version. They ask nothing yet.
func NewGauges(version string) *Gauges {
	return &Gauges{prometheus.Servers{Version: version}}
}

// Open implements gauge.Open.
func (g *Gauges) Open(of fleet.Name, m policy.Metric) gauge.Reader {
	switch m.Kind {
	case policy.MetricPrometheus:
		return g.servers.Reader(m)
	case policy.MetricCommand:
		return command.New(of, m)
	case policy.MetricCheck, policy.MetricProvider: // they are at hand inside
	}
	return nil
}

// Close lets go of connections.
func (g *Gauges) Close() { g.servers.Close() }
