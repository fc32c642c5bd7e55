package engine

import (
	"context"

	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/gauge"
)

// readMetrics has the metrics read that are due. Each reading has a goroutine of its own, which ends with its time and
// with the term: one that hangs delays no other.
func (t *term) readMetrics(ctx context.Context, now fleet.Now) {
	due := t.own.Metrics(now)
	if len(due) == 0 {
		return
	}
	machines := t.own.Measured()
	for _, m := range due {
		reader := t.sources.Of(m)
		told := func(r gauge.Reading, err error) news {
			return func(t *term) { t.own.TellMetric(m.Name, now.Mono, r, err, t.clock.Now()) }
		}
		t.apart(ctx, "metric", func() news {
			ctx, cancel := context.WithTimeout(ctx, m.Patience())
			defer cancel()
			return told(reader.Read(ctx, machines))
		}, func(p *defect.Panic) news { return told(gauge.Reading{}, p) })
	}
}
