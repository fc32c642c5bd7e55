package engine

import (
	"context"
	"slices"
	"time"

	"hale/internal/defect"
	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
)

// Where nothing near a silent machine bears witness, its provider may count what the machine's processors do. They are
// read on demand, again and again while the machine is held.

const (
	// metersAtOnce bounds the readings of one owner that are under way.
	metersAtOnce = 8
	// meterAgain is when a reading that failed is tried again, and meterNever when one that the provider cannot do is.
	meterAgain = time.Minute
	meterNever = time.Hour
)

// metered is what is known of one instance's processors.
type metered struct {
	first  provider.Meter // as read first, and ever since
	since  fleet.Instant  // when that was asked for
	next   fleet.Instant  // when to read again
	asking bool
	still  bool
}

// readMeters reads what is due of the instances, and forgets the others.
func (t *term) readMeters(ctx context.Context, now fleet.Now, mute []fleet.Instance) {
	all := t.beside.meters
	for id := range all {
		if !slices.ContainsFunc(mute, func(i fleet.Instance) bool { return i.ID == id }) {
			delete(all, id)
		}
	}
	asking := 0
	for _, m := range all {
		if m.asking {
			asking++
		}
	}
	for _, i := range mute {
		m := all[i.ID]
		switch {
		case m != nil && (m.asking || !now.Due(m.next)):
			continue
		case asking >= metersAtOnce:
			return
		case m == nil:
			m = &metered{}
			if t.beside.meters == nil {
				t.beside.meters = map[fleet.InstanceID]*metered{}
			}
			t.beside.meters[i.ID], all = m, t.beside.meters
		}
		m.asking = true
		asking++
		t.readMeter(ctx, i, m)
	}
}

func (t *term) readMeter(ctx context.Context, of fleet.Instance, m *metered) {
	asked := t.clock.now().Mono
	told := func(read provider.Meter, err error) news {
		return func(t *term) {
			if t.beside.meters[of.ID] == m { // else it was forgotten meanwhile
				m.take(read, err, asked, t.clock.now().Mono)
				t.tellStill()
			}
		}
	}
	t.apart(ctx, "meter", func() news { return told(t.sentinel.meter(ctx, of)) },
		func(p *defect.Panic) news { return told("", p) })
}

// take takes in a reading that was asked for at the time.
func (m *metered) take(read provider.Meter, err error, asked, now fleet.Instant) {
	m.asking, m.next = false, now.Add(provider.StillAfter)
	switch {
	case err != nil:
		m.still, m.since, m.next = false, 0, now.Add(meterAgain)
		if fault.Is(err, fault.Unsupported) {
			m.next = now.Add(meterNever)
		}
	case m.since == 0 || read != m.first:
		m.still, m.first, m.since = false, read, asked
	default:
		m.still = asked.Sub(m.since) >= provider.StillAfter
	}
}

// tellStill tells the owner which instances stand still.
func (t *term) tellStill() {
	var still []fleet.InstanceID
	for id, m := range t.beside.meters {
		if m.still {
			still = append(still, id)
		}
	}
	slices.Sort(still)
	t.own.SetStill(still)
}

// stood returns how the processors of an instance that stands still were read; nil: it does not, as far as is known.
func (t *term) stood(id fleet.InstanceID) *provider.Meter {
	if m := t.beside.meters[id]; m != nil && m.still {
		return &m.first
	}
	return nil
}

// moves reports whether the processors do something again since they were read so, or cannot be read.
func (t *term) moves(ctx context.Context, of subject, since *provider.Meter) bool {
	if since == nil {
		return false
	}
	read, err := t.sentinel.meter(ctx, fleet.Instance{ID: of.id, Host: of.host})
	return err != nil || read != *since
}

// meter reads the counters of one instance.
func (s *sentinel) meter(ctx context.Context, of fleet.Instance) (provider.Meter, error) {
	able, ok := s.src.Adapter.(provider.MeterReader)
	if !ok {
		return "", fault.New(fault.Unsupported, "engine.meter", string(of.ID), nil)
	}
	ctx, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	return able.Meter(ctx, provider.Ref{ID: of.ID, Host: of.Host})
}
