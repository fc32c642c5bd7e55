package sim

import (
	"cmp"
	"fmt"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/sim/script"
)

// watchPause is the time after which a watch of the store that broke is tried again.
const watchPause = time.Second

// orders posts an operator's order, as a command does.
func orders(s *stage, e script.Event) (func(), error) {
	o, err := e.Order(s.spec.Name, s.options.Hosts)
	if err != nil || s.rival != nil {
		return nil, err // a rival has no inbox
	}
	if o.Kind == fleet.OrderCancel {
		o.After = s.store.last[string(o.After)]
	}
	s.Post(o)
	return nil, nil
}

// Post implements judge.Run: it puts the order into the inbox, and returns its id.
func (s *stage) Post(o fleet.Order) fleet.OrderID {
	s.store.posted++
	o.ID = fleet.OrderID(fmt.Sprintf("%012d", s.store.posted))
	o.At = s.wall(s.w.Now()).Add(s.servers[0].skew) // by the clock of the server that takes it
	if s.store.owner != nil {
		o.At = s.store.owner.now().Wall
	}
	if o.Kind.PermitsHarm() {
		o.Expires = o.At.Add(fleet.OrderLife)
	}
	if o.Kind != fleet.OrderCancel {
		s.store.last[string(cmp.Or(fleet.Name(o.Machine), o.Fleet))] = o.ID
	}
	s.judge.Ordered(&o)
	s.store.Inbox = append(s.store.Inbox, o)
	for _, c := range s.servers {
		c.learn(o)
	}
	return o.ID
}

// learn tells the fleet's owner of an order, as soon as it can hear of it.
func (c *server) learn(o fleet.Order) {
	if c.term == 0 {
		return // the next owner reads the inbox
	}
	c.enter(c.life, func() {
		switch {
		case c.term == 0:
		case c.s.store.cut[c] > 0:
			c.soon(watchPause, func() { c.learn(o) })
		case c.s.store.Waits(o.ID):
			c.own.TellOrder(o)
			c.heat()
			c.soon(watchPause, func() { c.own.TellOrder(o) }) // a watch may tell of it once more
		}
	})
}
