package sim

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/sim/load"
	"hale/internal/sim/scaler"
	"hale/internal/sim/source"
	"hale/internal/sim/world"
)

// Burden is what is asked of a fleet in a run.
type Burden struct {
	Load load.Trace
	// Capacity is how much of it a machine takes; zero: there is no load.
	Capacity float64
	// Measures are the quantities that metrics are, where that does not follow from the policy (source.Usual).
	Measures map[fleet.MetricName]load.Quantity
	// Scaler is another system's rule that orders the size, and Target the use of machines that it is to keep; empty:
	// none does.
	Scaler scaler.Kind
	Target float64
}

// bear puts the load on the world.
func (s *stage) bear() {
	b := &s.options.Burden
	if b.Capacity == 0 {
		return
	}
	s.w.Demand = load.Demand{Course: b.Load.At, Capacity: b.Capacity, Before: s.judge.Bear}
	s.judge.Bear() // the machines that stand already bear it from the start
	if rule := scaler.New(b.Scaler, b.Target); rule != nil {
		// not at whole minutes, when loads jump
		offset := time.Duration(s.options.Seed%3600)*time.Second%rule.Every() + time.Second/2
		s.w.After(offset, func() { s.scale(rule) })
	}
}

// source is where the fleet's metrics are read.
func (s *stage) source() source.Source {
	return source.Source{World: s.w, Fleet: s.spec.Name, Most: len(s.store.Beliefs),
		Measures: s.options.Burden.Measures}
}

// scale has another system's rule look at the fleet, and order the size that it wants.
func (s *stage) scale(rule scaler.Scaler) {
	s.w.After(rule.Every(), func() { s.scale(rule) })
	serving := s.w.Members(world.Domain{Kind: "all"}, s.judge.IsOfFleet)
	truth, there := s.w.Demand.Value(load.Busy, s.w.Now(), serving)
	value, lie := s.w.Demand.Read(string(s.options.Burden.Scaler), truth)
	size := s.judge.Asked()
	want := s.wanted.Sizing.Bound(rule.Next(scaler.Reading{
		At: s.w.Now(), Busy: value, OK: there && lie == "", Serving: serving, Size: size,
	}))
	if want != size {
		s.Post(fleet.Order{Kind: fleet.OrderScale, Fleet: s.spec.Name, By: string(s.options.Burden.Scaler), Size: want})
	}
}

// measure reads the metrics that are due, and plans the next reading.
func (c *server) measure() {
	if c.term == 0 || len(c.s.wanted.Metrics()) == 0 {
		return
	}
	now, from := c.now(), c.s.source()
	for _, m := range c.own.Metrics(now) {
		r, err := from.Read(c.s.wanted.Sizing, &m)
		c.own.TellMetric(m.Name, now.Mono, r, err, now)
	}
	c.own.Metrics(now) // nothing is due any more: what was read is there to be decided on
	if c.own.Dirty() {
		c.heat()
	}
	if next := c.own.NextMetric(); next != 0 {
		c.measureIn(max(next.Sub(now.Mono), time.Millisecond))
	}
}

// measureIn plans the next reading.
func (c *server) measureIn(d time.Duration) {
	at := c.s.w.Now() + d
	if c.measureAt == at {
		return
	}
	c.measureAt = at
	term := c.term
	c.soon(d, func() {
		if c.measureAt == at && c.term == term {
			c.measureAt = 0
			c.measure()
		}
	})
}
