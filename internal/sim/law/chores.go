package law

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/sim/world"
)

// Has notes that a person has hale do something with the machine: what an order of the kind wants.
func (j *Judge) Has(machine string, done fleet.OrderKind) { j.chores[machine] = done }

// Chore returns the kind of the order by which a person has the machine worked on; empty: no person has.
func (j *Judge) Chore(machine string) fleet.OrderKind { return j.chores[machine] }

// Begun judges work that begins on a machine, beside the orders that were ever given, and what is believed: what a
// person is said to have hale do, one did order, and what hale does with a spare, the fleet allows.
func (j *Judge) Begun(is *belief.Machine, orders map[fleet.OrderID]fleet.Order, l *belief.Ledger,
	all []belief.Machine) {
	r, name := is.Repair, string(is.Name)
	if r.Order.OfSpare() {
		j.standsBy(is, l, all)
		return
	}
	j.Has(name, "")
	o := orders[r.Order]
	switch {
	case r.Kind == belief.RepairHeal && is.Health.Cause == belief.CauseMarked:
		if o = orders[is.Marked.Order]; o.Kind != fleet.OrderMark {
			j.court.Broken("L4", name, "it is healed by a mark that nobody made")
		}
	case !r.Kind.Chore():
		return
	case !o.Kind.Chore() || r.Kind == belief.RepairReplace != (o.Kind == fleet.OrderReplace):
		j.court.Broken("L3", name, string(r.Kind)+", which nobody ordered")
	}
	if o.Machine != is.Name {
		j.court.Broken("L3", name, string(r.Kind)+", which was ordered for another machine")
	}
	j.Has(name, o.Kind)
	delete(j.rests, name) // it is as a person wants it
}

// orderedBy reports whether who has a machine worked on so wants the call. (One that may come late is no other.)
func orderedBy(k fleet.OrderKind, op world.Op) bool {
	switch k {
	case fleet.OrderReplace:
		return op == world.PowerOff || op == world.Delete
	case fleet.OrderStop:
		return op == world.PowerOff
	case fleet.OrderRevert:
		return op == world.PowerOff || op == world.Revert
	case fleet.OrderReboot:
		return op == world.Reboot || op == world.SoftReboot
	case fleet.OrderMark:
		return true // whatever the ladder has for it
	default:
		return false
	}
}
