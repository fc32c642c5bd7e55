package sim

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
)

// act makes the event happen now, and returns what ends it, if anything does.
type act func(s *stage, e script.Event) (lift func(), err error)

// ways is how each verb happens: the world's happen there, those of hale and of who looks after it here.
func ways() map[script.Verb]act {
	out := map[script.Verb]act{
		script.IsFull:         fills,
		script.LosesLast:      rollsBack(powerLoss),
		script.IsRolledBack:   rollsBack(restoration),
		script.StartedTwice:   startsTwice,
		script.InstalledTwice: installsTwice,
		script.Dies:           onServer(dies),
		script.DiesWriting:    onServer(diesWriting),
		script.Freezes:        stands(func(c *server, span time.Duration) { c.freeze(span) }),
		script.FreezesCall:    stands(func(c *server, span time.Duration) { c.pauseFor = span }),
		script.ClockSteps:     onServer(clockSteps),
		script.LosesStore:     onServer(losesStore),
		script.LosesLease:     onServer(losesLease),
		script.Resizes:        resizes,
		script.Retemplates:    retemplates,
		script.Remembers:      retemplates,
		script.Labels:         retemplates,
		script.Confirms:       confirms,
		script.Mistypes:       mistypes,
		script.ServesNot:      precedes(true),
		script.IsUnheard:      precedes(false),
	}
	for _, r := range verbs.Rows() {
		out[r.Verb] = befalls(r.Of)
	}
	for _, v := range script.Orders() {
		out[v] = orders
	}
	maps.Copy(out, poolTroubles())
	out[verbs.TakesHale] = takesHale
	return out
}

// befalls lets the world play the event, and the judge and the servers know of it.
func befalls(kind verbs.Kind) act {
	return func(s *stage, e script.Event) (func(), error) {
		after := s.judge.Strikes(e, kind)
		var hale []string
		for _, c := range s.servers {
			hale = append(hale, c.name)
		}
		lift, err := verbs.Play(s.w, e.Subject, e.Verb, e.Arg, hale...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e, err)
		}
		if after != nil {
			lift = after(lift)
		}
		if ends := lift; ends != nil {
			lift = func() {
				ends()
				s.judge.Over(e)
				if e.Verb == verbs.IsDisabled {
					s.pollSoon()
				}
			}
		}
		if kind == verbs.OfDomain || kind == verbs.OfProvider {
			s.pollSoon()
		}
		return lift, nil
	}
}

// takesHale lets a domain fail together with the server that stands in it.
func takesHale(s *stage, e script.Event) (func(), error) {
	back, err := befalls(verbs.OfDomain)(s, e)
	if err != nil {
		return nil, err
	}
	e.Subject = e.Arg
	revive, err := onServer(dies)(s, e)
	return func() {
		back()
		if revive != nil { // a rival has no server
			revive()
		}
	}, err
}

// pollSoon lets every owner notice with its next listing what no news tell.
func (s *stage) pollSoon() {
	for _, c := range s.everybody() {
		if c.term != 0 {
			c.pollSoon()
		}
	}
}

// fills has the store take nothing.
func fills(s *stage, _ script.Event) (func(), error) {
	s.store.full++
	return func() { s.store.full-- }, nil
}

// stands is a server that stands still for the event's time.
func stands(still func(*server, time.Duration)) act {
	return onServer(func(_ *stage, c *server, e script.Event) (func(), error) {
		still(c, e.For)
		return nil, nil
	})
}

func onServer(do func(s *stage, c *server, e script.Event) (func(), error)) act {
	return func(s *stage, e script.Event) (func(), error) {
		if s.rival != nil {
			return nil, nil // it has no server that could die
		}
		for _, c := range s.servers {
			if c.name == e.Subject {
				return do(s, c, e)
			}
		}
		return nil, fmt.Errorf("%q is no hale server of this run", e.Subject)
	}
}

func dies(_ *stage, c *server, _ script.Event) (func(), error) {
	c.crash()
	return func() {
		if !c.alive {
			c.start()
		}
	}, nil
}

func diesWriting(_ *stage, c *server, e script.Event) (func(), error) {
	n, err := strconv.Atoi(e.Arg)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("dies at write %q: write which of its next writes, from 1", e.Arg)
	}
	c.crashIn = n
	return nil, nil
}

func clockSteps(_ *stage, c *server, e script.Event) (func(), error) {
	by, err := time.ParseDuration(e.Arg)
	if err != nil {
		return nil, err
	}
	if c.alive {
		c.stepClock(by)
	}
	return nil, nil
}

func losesStore(s *stage, c *server, _ script.Event) (func(), error) {
	s.store.cut[c]++
	c.rest()
	c.soon(c.lease.length, c.heat)
	return func() {
		s.store.cut[c]--
		c.renew()
	}, nil
}

func losesLease(s *stage, c *server, _ script.Event) (func(), error) {
	if s.store.owner != c {
		return nil, nil
	}
	s.store.owner = nil
	c.soon(c.lease.length/renewals, func() {
		if c.term != 0 && s.store.owner != c {
			c.lose()
		}
	})
	return nil, nil
}

// schedule puts an event on the calendar.
func (s *stage) schedule(e script.Event) {
	do := s.ways[e.Verb]
	s.remembers(&e)
	s.w.At(e.At, func() {
		if d, err := verbs.ParseDomain(e.Subject); err == nil && s.w.Members(d, s.judge.IsOfFleet) < e.Least {
			return
		}
		s.trace.Event(s.w.Now(), &e)
		s.judge.Fault(e)
		over := s.options.History.Strike(&e)
		lift, err := do(s, e)
		over()
		if err != nil {
			s.judge.Broken("plan", e.Subject, err.Error())
			return
		}
		if lift != nil && e.For > 0 {
			s.w.After(e.For, func() {
				s.trace.Over(s.w.Now(), &e)
				over := s.options.History.Strike(&e)
				lift()
				over()
			})
		}
	})
}
