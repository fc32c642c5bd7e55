package sim

import (
	"fmt"
	"slices"

	"hale/internal/core/fleet"
)

// beginSlots makes the book of slots agree with what the server believes. There is no other fleet in the simulator:
// what several owners do at once is the bubble's, and the engine's stories tell it. False: the store does not take it.
func (c *server) beginSlots(book fleet.Slots) bool {
	c.own.SetSlots(book)
	claims := c.own.Claims()
	if slices.Equal(claims, book) {
		return true
	}
	c.own.SetSlots(claims)
	return c.commit(func() { c.s.store.overall.Slots = claims }) == nil
}

// sharedBudgets checks the budgets of provider, hosts and what hosts stand in (L5), by the instances that are being
// repaired.
func (j *judge) sharedBudgets(is *fleet.Machine) {
	spec := j.s.spec
	if len(spec.Limits.Shared) == 0 {
		return
	}
	places := map[fleet.HostName]map[fleet.ScopeKind]string{}
	for _, h := range j.s.w.Hosts() {
		places[fleet.HostName(h.Name)] = map[fleet.ScopeKind]string{
			fleet.ScopeHost: h.Name, fleet.ScopeRack: h.Rack, fleet.ScopeRoom: h.Room, fleet.ScopeZone: h.Zone,
			fleet.ScopeProvider: "one", fleet.ScopeInstallation: "one",
		}
	}
	for _, limit := range spec.Limits.Shared {
		name, n := places[is.Repair.Target.Host][limit.Scope], 1
		for i := range j.s.store.beliefs {
			m := &j.s.store.beliefs[i]
			if m.Name != is.Name && m.Repair != nil && !m.Repair.Revives && (m.Repair.Kind == fleet.RepairHeal ||
				m.Repair.Wanted()) && name != "" && places[m.Repair.Target.Host][limit.Scope] == name {
				n++
			}
		}
		if name != "" && n > limit.InRepair {
			j.broken("L5", string(is.Name), fmt.Sprintf("%d machines of %s %s are in repair, and %d may be", n,
				limit.Scope, name, limit.InRepair))
		}
	}
}
