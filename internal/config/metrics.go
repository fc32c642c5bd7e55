package config

import "hale/internal/keys"

// Metrics is what monitoring is told. The zero value: what does not grow with the machines.
type Metrics struct {
	// Machines gives each machine series of its own.
	Machines bool
}

type metricsDraft struct {
	machines keys.At[bool]
}

func metricsShape() keys.Object[metricsDraft] {
	return keys.Object[metricsDraft]{Fields: []keys.Field[metricsDraft]{
		keys.Or("machines", false, "Give each machine series of its own: its verdict, and why nothing is done to it. "+
			"That is one or two for each machine, where all other metrics count by fleet, provider and target; some "+
			"thousand machines are no trouble to a Prometheus.", keys.Boolean(),
			func(m *metricsDraft) *keys.At[bool] { return &m.machines }),
	}}
}
