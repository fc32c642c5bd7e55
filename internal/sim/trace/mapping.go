package trace

import (
	"errors"
	"fmt"
	"slices"
)

// Shape is the fleet that a trace is mapped on. Its machines stand rack by rack and its racks room by room; the last
// rack and the last room may be smaller. A trace lists only what failed, so most of its racks show one node: the sizes
// given here say how many healthy machines stand around it.
type Shape struct {
	Machines     int // at least 1
	PerRack      int // machines of a rack, at least 1
	RacksPerRoom int // at least 1

	// Seed chooses what is taken where the trace is larger than the fleet. 0: the rooms, racks and nodes with the most
	// outages, which is the worst that the trace can do to a fleet of this size, not the average. Else: any, by chance.
	Seed uint64
}

func (s Shape) check() error {
	if s.Machines < 1 || s.PerRack < 1 || s.RacksPerRoom < 1 {
		return errors.New("a trace is mapped on at least one machine, in racks of at least one, in rooms of at least " +
			"one rack")
	}
	return nil
}

// racks is how many racks the fleet has.
func (s Shape) racks() int { return (s.Machines-1)/s.PerRack + 1 }

// rooms is how many rooms the fleet has.
func (s Shape) rooms() int { return (s.racks()-1)/s.RacksPerRoom + 1 }

// Place is where a machine stands. Racks are numbered through the whole fleet. Both count from 0.
type Place struct{ Rack, Room int }

// place returns where a machine stands.
func (s Shape) place(machine int) Place {
	rack := machine / s.PerRack
	return Place{Rack: rack, Room: rack / s.RacksPerRoom}
}

// Placed is an outage that happens to a machine.
type Placed struct {
	Outage  int // its index in the trace
	Machine int // from 0
}

// Reason says why an outage has no machine.
type Reason string

// The reasons.
const (
	NoRoom    Reason = "the fleet has no room left for its room"
	NoRack    Reason = "its room of the fleet has no rack left for its rack"
	NoMachine Reason = "its rack or room of the fleet has no machine left for its node"
)

// Unplaced is an outage that happens to no machine.
type Unplaced struct {
	Outage int // its index in the trace
	Reason Reason
}

// Mapping is a trace on a fleet. Every outage of the trace is in exactly one of Outages and Unmapped, both in the
// trace's order.
type Mapping struct {
	Outages  []Placed
	Layout   []Place  // of each machine
	Nodes    []string // the node that each machine plays; empty for one that pads its rack and never fails
	Unmapped []Unplaced
	Moved    int // nodes that the trace shows at several places; each plays where it failed most
}

// Lost is how much of the trace did not fit, for one reason.
type Lost struct {
	Reason  Reason
	Outages int
	Nodes   int
}

// Lost sums up what is in Unmapped; reasons that did not occur are left out. The trace is the one that was mapped.
func (m Mapping) Lost(t Trace) []Lost {
	var all []Lost
	for _, reason := range []Reason{NoRoom, NoRack, NoMachine} {
		l := Lost{Reason: reason}
		nodes := map[string]bool{}
		for _, u := range m.Unmapped {
			if u.Reason == reason {
				l.Outages++
				nodes[t[u.Outage].Node] = true
			}
		}
		if l.Nodes = len(nodes); l.Outages > 0 {
			all = append(all, l)
		}
	}
	return all
}

// Map places the nodes of a trace on machines: one node on one machine, one rack in one rack, one room in one room, so
// that what failed together in the trace fails together in the fleet, and what did not share a place shares none. What
// the fleet has no place for is reported; nothing is split or folded.
//
// Rooms are given out first, then the racks inside each room, then the machines inside each rack, in each case the one
// with the most outages first (see [Shape]), equals by name. What the trace does not say is not made up: a rack without
// a room takes any rack that is still empty, and a node without a rack any machine that is still free, in its room
// where it has one, spread over the racks. Nodes are known by their name alone.
//
// The same trace and shape give the same mapping. An error means that the shape is impossible or the trace not sorted.
func Map(t Trace, s Shape) (Mapping, error) {
	if err := s.check(); err != nil {
		return Mapping{}, err
	}
	if err := t.Check(); err != nil {
		return Mapping{}, fmt.Errorf("mapping a trace: %w", err)
	}
	m := Mapping{Layout: make([]Place, s.Machines), Nodes: make([]string, s.Machines)}
	for i := range m.Layout {
		m.Layout[i] = s.place(i)
	}
	homes, moved := homesOf(t)
	m.Moved = moved
	plan := seating{Shape: s, taken: make([]*home, s.Machines)}
	plan.seat(homes)
	byNode := make(map[string]*home, len(homes))
	for _, h := range homes {
		byNode[h.node] = h
		if h.reason == "" {
			m.Nodes[h.machine] = h.node
		}
	}
	for i, o := range t {
		if h := byNode[o.Node]; h.reason == "" {
			m.Outages = append(m.Outages, Placed{Outage: i, Machine: h.machine})
		} else {
			m.Unmapped = append(m.Unmapped, Unplaced{Outage: i, Reason: h.reason})
		}
	}
	return m, nil
}

// home is a node at its place in the trace, and what it was given in the fleet.
type home struct {
	node, rack, room string
	outages          int // of the node, wherever they are
	machine          int
	reason           Reason // why there is no machine; empty when there is one
}

// homesOf lists the nodes of a trace by their first outage, and how many were seen at several places.
func homesOf(t Trace) (homes []*home, moved int) {
	type spot struct{ node, rack, room string }
	count := map[spot]int{}
	for _, o := range t {
		count[spot{o.Node, o.Rack, o.Room}]++
	}
	at := map[string]*home{}
	wandered := map[string]bool{}
	for _, o := range t {
		h, known := at[o.Node]
		if !known {
			h = &home{node: o.Node, rack: o.Rack, room: o.Room}
			at[o.Node] = h
			homes = append(homes, h)
		}
		h.outages++
		if o.Rack != h.rack || o.Room != h.room {
			wandered[o.Node] = true
			if count[spot{o.Node, o.Rack, o.Room}] > count[spot{h.node, h.rack, h.room}] {
				h.rack, h.room = o.Rack, o.Room
			}
		}
	}
	return slices.Clip(homes), len(wandered)
}
