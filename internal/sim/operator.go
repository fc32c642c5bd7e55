package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/sim/world"
)

// ordered are the verbs of an operator, and the orders that they give.
func ordered() map[Verb]fleet.OrderKind {
	return map[Verb]fleet.OrderKind{
		Holds: fleet.OrderHold, Releases: fleet.OrderRelease, Retries: fleet.OrderRetry, Heals: fleet.OrderHeal,
		Undoes: fleet.OrderUndo, Recovers: fleet.OrderRecover,
		Brakes: fleet.OrderBrakeOn, Unbrakes: fleet.OrderBrakeOff, Scales: fleet.OrderScale, Deletes: fleet.OrderDelete,
		Vouches: fleet.OrderFenced, Believes: fleet.OrderRecover,
	}
}

// watchPause is the time after which a watch of the store that broke is tried again.
const watchPause = time.Second

// operator is who gives the orders in a scenario.
const operator = "operator"

// person is who has a hand in what the provider runs.
const person = "a person"

// Order returns the order that an operator's event gives to the fleet; its id and times are left to the caller that
// posts it.
func (e Event) Order(name fleet.Name, hosts []world.Host) (fleet.Order, error) {
	o := fleet.Order{Kind: ordered()[e.Verb], Fleet: name, By: operator, For: e.For}
	o.Believe = e.Verb == Believes
	if o.Kind == fleet.OrderHold {
		o.Reason = "planned work"
	}
	if o.Kind == fleet.OrderFenced {
		o.Proof, o.For, o.Reason = fleet.ProofWord, cmp.Or(e.For, time.Hour), "seen"
	}
	if o.Kind == fleet.OrderScale {
		size, err := strconv.Atoi(e.Arg)
		o.Size = size
		return o, err // what else is wrong with it is for the owner that takes it
	}
	host, ofHost := strings.CutPrefix(e.Arg, "host ")
	m := fleet.MachineName(e.Arg)
	switch {
	case ofHost:
		if !slices.ContainsFunc(hosts, func(h world.Host) bool { return h.Name == host }) {
			return o, fmt.Errorf("%s: there is no host %s", e, host)
		}
		o.Host = fleet.HostName(host)
	case m.Fleet() == name:
		o.Machine = m
	case e.Arg != string(name) && ways()[e.Verb].arg != "":
		return o, fmt.Errorf("%s: write a machine of fleet %s, host and its name, or the fleet", e, name)
	}
	o.ID = "check"
	err := o.Check()
	if o.ID = ""; err != nil {
		return o, fmt.Errorf("%s: %w", e, err)
	}
	return o, nil
}

// Of returns the event as it befalls another fleet: its machines play those of the same number.
func (e Event) Of(name fleet.Name) Event {
	switch subjectKind(e.Subject) {
	case "machine":
		if n, ok := fleet.MachineName(e.Subject).Ordinal(); ok {
			e.Subject = string(name.Machine(n))
		}
	case "person":
		if n, ok := fleet.MachineName(e.Arg).Ordinal(); ok {
			e.Arg = string(name.Machine(n))
		}
	case operator:
		if _, edit := edits()[e.Verb]; edit || e.Verb == Scales {
			return e
		}
		if n, ok := fleet.MachineName(e.Arg).Ordinal(); ok {
			e.Arg = string(name.Machine(n))
		} else if e.Arg != "" && !strings.Contains(e.Arg, " ") {
			e.Arg = string(name)
		}
	}
	return e
}

// orders posts an operator's order, as a command does.
func orders(s *stage, e Event) (func(), error) {
	o, err := e.Order(s.spec.Name, s.options.Hosts)
	if err != nil || s.rival != nil {
		return nil, err // a rival has no inbox
	}
	s.post(o)
	return nil, nil
}

// post puts the order into the inbox, and returns its id.
func (s *stage) post(o fleet.Order) fleet.OrderID {
	s.store.posted++
	o.ID = fleet.OrderID(fmt.Sprintf("%012d", s.store.posted))
	o.At = s.wall(s.w.Now()).Add(s.servers[0].skew) // by the clock of the server that takes it
	if s.store.owner != nil {
		o.At = s.store.owner.now().Wall
	}
	if o.Kind.PermitsHarm() {
		o.Expires = o.At.Add(fleet.OrderLife)
	}
	s.judge.ordered(&o)
	s.store.inbox = append(s.store.inbox, o)
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
		case c.s.store.waits(o.ID):
			c.own.TellOrder(o)
			c.heat()
			c.soon(watchPause, func() { c.own.TellOrder(o) }) // a watch may tell of it once more
		}
	})
}

// waits reports whether the order lies in the inbox.
func (s *store) waits(id fleet.OrderID) bool {
	return slices.ContainsFunc(s.inbox, func(o fleet.Order) bool { return o.ID == id })
}

// settle takes orders out of the inbox.
func (s *store) settle(rulings []fleet.Ruling) {
	for _, r := range rulings {
		s.inbox = slices.DeleteFunc(s.inbox, func(o fleet.Order) bool { return o.ID == r.Order })
	}
}
