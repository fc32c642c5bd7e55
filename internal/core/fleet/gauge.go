package fleet

// Gauge is what one metric of a fleet's sizing was read to be since its owner's term began. It is not stored: a new
// owner has no opinion until it has read for as long as the rule needs (L9).
type Gauge struct {
	Metric MetricName
	// Points are the readings within the longest time that the rule looks back, oldest first.
	Points []Point
	// Each are the values of single machines in the newest reading, sorted by machine, where it tells them apart.
	Each []MachineValue
	// Trouble says why the newest attempt brought no point (ReasonMetricSilent, ReasonMetricAbsurd, ReasonMetricMany);
	// empty: it did. Detail is what the source said.
	Trouble Reason
	Detail  string
	// Since is when the metric last said something; before the first point, when it was asked first.
	Since Instant
}

// Gauged returns what was read of the metric, or nil.
func Gauged(all []Gauge, name MetricName) *Gauge {
	for i := range all {
		if all[i].Metric == name {
			return &all[i]
		}
	}
	return nil
}

// Point is one reading of a metric.
type Point struct {
	At    Instant // when it was asked for
	Value float64
	// Serving is how many machines were healthy then, and Size is how many there were to be.
	Serving, Size int
	// Missing are those of Serving without a value, where the metric tells machines apart: what is left of it may be
	// too little, so that nothing is scaled in by it.
	Missing int
}

// MachineValue is a metric's value at one machine.
type MachineValue struct {
	Machine MachineName
	Value   float64
}
