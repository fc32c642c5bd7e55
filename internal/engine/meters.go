package engine

import (
	"context"

	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/engine/poller"
	"hale/internal/provider"
)

// readMeters has the counters read that are due.
func (t *term) readMeters(ctx context.Context, now fleet.Now) {
	for _, i := range t.own.Meters(now) {
		told := func(read provider.Meter, err error) news {
			return func(t *term) { t.own.TellMeter(i.ID, now.Mono, read, err, t.clock.Now()) }
		}
		t.apart(ctx, "meter", func() news { return told(t.poller.Meter(ctx, i)) },
			func(p *defect.Panic) news { return told("", p) })
	}
}

// moves reports whether the processors do something again since they were read so, or cannot be read.
func (t *term) moves(ctx context.Context, of poller.Subject, since *provider.Meter) bool {
	if since == nil {
		return false
	}
	read, err := t.poller.Meter(ctx, fleet.Instance{ID: of.ID, Host: of.Host})
	return err != nil || read != *since
}
