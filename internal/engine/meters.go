package engine

import (
	"context"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/provider"
)

// readMeters has the counters read that are due.
func (t *term) readMeters(ctx context.Context, now fleet.Now) {
	for _, i := range t.own.Meters(now) {
		told := func(read provider.Meter, err error) news {
			return func(t *term) { t.own.TellMeter(i.ID, now.Mono, read, err, t.clock.Now()) }
		}
		t.apart(ctx, "meter", func() news { return told(t.poller.meter(ctx, i)) },
			func(p *defect.Panic) news { return told("", p) })
	}
}

// moves reports whether the processors do something again since they were read so, or cannot be read.
func (t *term) moves(ctx context.Context, of subject, since *provider.Meter) bool {
	if since == nil {
		return false
	}
	read, err := t.poller.meter(ctx, fleet.Instance{ID: of.id, Host: of.host})
	return err != nil || read != *since
}

// meter reads the counters of one instance.
func (s *poller) meter(ctx context.Context, of fleet.Instance) (provider.Meter, error) {
	able, ok := s.src.Adapter.(provider.MeterReader)
	if !ok {
		return "", fault.New(fault.Unsupported, "engine.meter", string(of.ID), nil)
	}
	ctx, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	return able.Meter(ctx, provider.Ref{ID: of.ID, Host: of.Host})
}
