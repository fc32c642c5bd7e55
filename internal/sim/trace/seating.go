package trace

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
)

// seating gives machines to homes.
type seating struct {
	Shape
	taken []*home // per machine
}

// seat gives every home a machine or a reason. What is most tied to its place comes first.
func (s *seating) seat(homes []*home) {
	var roomed, racked, loose []*home
	for _, h := range homes {
		switch {
		case h.room != "":
			roomed = append(roomed, h)
		case h.rack != "":
			racked = append(racked, h)
		default:
			loose = append(loose, h)
		}
	}
	for i, room := range s.ranked(roomed, func(h *home) string { return h.room }) {
		if i >= s.rooms() {
			refuse(room, NoRoom)
			continue
		}
		s.seatRoom(room, i)
	}
	s.seatRacks(racked, s.emptyRacks())
	s.spread(loose, 0, s.Machines)
}

// seatRoom gives machines of one room to the homes of one room of the trace.
func (s *seating) seatRoom(homes []*home, room int) {
	var racked, loose []*home
	for _, h := range homes {
		if h.rack != "" {
			racked = append(racked, h)
		} else {
			loose = append(loose, h)
		}
	}
	first, after := room*s.RacksPerRoom, min((room+1)*s.RacksPerRoom, s.racks())
	free := make([]int, 0, after-first)
	for rack := first; rack < after; rack++ {
		free = append(free, rack)
	}
	s.seatRacks(racked, free)
	s.spread(loose, first*s.PerRack, min(after*s.PerRack, s.Machines))
}

// seatRacks gives each rack of the trace one of the free racks.
func (s *seating) seatRacks(homes []*home, free []int) {
	for i, rack := range s.ranked(homes, func(h *home) string { return h.rack }) {
		if i >= len(free) {
			refuse(rack, NoRack)
			continue
		}
		first, after := free[i]*s.PerRack, min((free[i]+1)*s.PerRack, s.Machines)
		for k, node := range s.ranked(rack, func(h *home) string { return h.node }) {
			if first+k >= after {
				refuse(node, NoMachine)
				continue
			}
			s.give(node[0], first+k)
		}
	}
}

// emptyRacks are the racks with no machine taken.
func (s *seating) emptyRacks() []int {
	var empty []int
	for rack := range s.racks() {
		machines := s.taken[rack*s.PerRack : min((rack+1)*s.PerRack, s.Machines)]
		if !slices.ContainsFunc(machines, func(h *home) bool { return h != nil }) {
			empty = append(empty, rack)
		}
	}
	return empty
}

// spread gives the homes free machines from first to before after: one in each rack, then a second one in each, so that
// nodes without a known rack seem to share as little as they can.
func (s *seating) spread(homes []*home, first, after int) {
	var free []int
	for machine := first; machine < after; machine++ {
		if s.taken[machine] == nil {
			free = append(free, machine)
		}
	}
	slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare(a%s.PerRack, b%s.PerRack) })
	for i, node := range s.ranked(homes, func(h *home) string { return h.node }) {
		if i >= len(free) {
			refuse(node, NoMachine)
			continue
		}
		s.give(node[0], free[i])
	}
}

func (s *seating) give(h *home, machine int) {
	h.machine = machine
	s.taken[machine] = h
}

func refuse(homes []*home, why Reason) {
	for _, h := range homes {
		h.reason = why
	}
}

// ranked groups homes by a name, and orders the groups: the one with the most outages first, or by chance from the
// seed.
func (s *seating) ranked(homes []*home, name func(*home) string) [][]*home {
	type group struct {
		name    string
		outages int
		chance  uint64
		homes   []*home
	}
	var groups []*group
	known := map[string]*group{}
	for _, h := range homes {
		g := known[name(h)]
		if g == nil {
			g = &group{name: name(h), chance: s.chance(name(h))}
			known[g.name] = g
			groups = append(groups, g)
		}
		g.outages += h.outages
		g.homes = append(g.homes, h)
	}
	slices.SortFunc(groups, func(a, b *group) int {
		if s.Seed != 0 {
			return cmp.Or(cmp.Compare(a.chance, b.chance), strings.Compare(a.name, b.name))
		}
		return cmp.Or(cmp.Compare(b.outages, a.outages), strings.Compare(a.name, b.name))
	})
	ordered := make([][]*home, len(groups))
	for i, g := range groups {
		ordered[i] = g.homes
	}
	return ordered
}

// chance is a number that looks random and depends on the name and the seed alone.
func (s *seating) chance(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash's Write never fails
	x := h.Sum64() ^ s.Seed*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // the finalizer of SplitMix64: neighbouring inputs, distant outputs
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
