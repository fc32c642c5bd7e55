package picture_test

import (
	"fmt"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/owner/picture"
)

// BenchmarkReadings is what reading ten metrics of each of a thousand fleets costs the pictures: each metric is asked
// for, answered and kept on its beat. One operation is one reading; there are 667 in a second.
func BenchmarkReadings(b *testing.B) {
	const fleets, metrics, machines = 1000, 10, 10
	var all []*picture.Picture
	for f := range fleets {
		spec := policy.Spec{Name: fleet.Name(fmt.Sprint("f", f)), Size: machines,
			Sizing: &policy.Sizing{Min: 1, Max: 20,
				Down: policy.Pace{Stabilise: 5 * time.Minute}}}
		for m := range metrics {
			metric := busy()
			metric.Name = fleet.MetricName(fmt.Sprint("m", m))
			spec.Sizing.Metrics = append(spec.Sizing.Metrics, metric)
		}
		all = append(all, picture.New(picture.Options{
			Spec: spec, Beliefs: []belief.Machine{}, FreshID: func() fleet.InstanceID { return "x" },
		}, noon(0)))
	}
	reading := gauge.Reading{Whole: []float64{40}}
	b.ReportAllocs()
	b.ResetTimer()
	for n, d := 0, time.Duration(0); n < b.N; d += time.Second {
		for _, p := range all {
			now := noon(d)
			due := p.Metrics(now)
			for i := range due {
				p.TellMetric(due[i].Name, now.Mono, reading, nil, now)
				n++
			}
		}
	}
}
