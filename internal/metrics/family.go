package metrics

import "github.com/prometheus/client_golang/prometheus"

// family is the description of one metric. Its name is hale_ and what is given.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) family {
	return family{prometheus.NewDesc("hale_"+name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) family {
	return family{prometheus.NewDesc("hale_"+name, help, labels, nil), prometheus.CounterValue}
}

// say is where values of families go.
type say chan<- prometheus.Metric

func (to say) value(f family, v float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(f.desc, f.kind, v, labels...)
}

func (to say) whether(f family, is truth, labels ...string) { to.value(f, is.value(), labels...) }

// truth is 1 or 0 to Prometheus.
type truth bool

func (t truth) value() float64 {
	if t {
		return 1
	}
	return 0
}

// number makes a value of any count.
func number[N int | int64 | uint64](n N) float64 { return float64(n) }
