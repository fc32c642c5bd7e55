package sim

import (
	"fmt"
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/owner/picture"
	"hale/internal/sim/prober"
	"hale/internal/sim/world"
)

// neighbours are machines of other fleets on the same hosts. What their owners show to this one is worked out from what
// the same checks hear of them, and that is all: they are not healed here. Owners that decide beside one another
// play in the bubble's world, in the stories of the engine.
type neighbours struct {
	vms    []*world.VM
	probes *prober.Prober
}

// plantNeighbours puts them on their hosts. They bear no mark of this hale's.
func (s *stage) plantNeighbours() {
	for _, h := range s.options.Hosts {
		for n := range h.Beside {
			name := fmt.Sprintf("beside-%s-%d", h.Name, n+1)
			s.beside = append(s.beside, s.w.Plant(world.Status{ID: name, Name: name, Host: h.Name}))
		}
	}
}

// watch begins to ask the neighbours from where the server stands, once for all of its lives.
func (b *neighbours) watch(c *server) {
	if b.vms = c.s.beside; b.probes != nil || len(b.vms) == 0 {
		return
	}
	b.probes = prober.New(c.s.w, c.name, prober.WithoutTells(c.s.spec), len(b.vms), func(int, prober.Row) { c.heat() })
	for i, vm := range b.vms {
		b.probes.Aim(i, picture.Aim{Epoch: 1, Instance: fleet.InstanceID(vm.ID), Address: vm.Address})
	}
}

// show tells the server's owner what the neighbours' owners show: how they fare, and what is heard where it is silent.
func (b *neighbours) show(c *server, silenced []fleet.Neighbourhood) {
	if b.probes == nil {
		return
	}
	delay, _ := c.s.spec.HearsWithin()
	byHost := map[fleet.HostName]*fleet.Lot{}
	for i, vm := range b.vms {
		host := fleet.HostName(vm.Host)
		l := byHost[host]
		if l == nil {
			l = &fleet.Lot{Host: host}
			byHost[host] = l
		}
		l.Members++
		switch b.probes.Standing(i) {
		case fleet.StandingDown:
			l.Failing++
		case fleet.StandingFailing, fleet.StandingUnknown:
			l.Suspect++
		case fleet.StandingUp:
		}
	}
	var lots []fleet.Lot
	for _, l := range byHost {
		lots = append(lots, *l)
	}
	slices.SortFunc(lots, fleet.Lot.Compare)
	c.own.SetLots(lots)
	var heard []fleet.Hearing
	for _, n := range silenced {
		if l := byHost[n.Host]; l != nil {
			heard = append(heard, fleet.Hearing{Neighbourhood: n, Expected: l.Members,
				Heard: l.Members - l.Failing - l.Suspect, Delay: delay + besideEvery})
		}
	}
	c.own.SetOthers(heard)
}
