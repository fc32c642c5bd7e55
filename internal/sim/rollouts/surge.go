package rollouts

import (
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// Surged are the machines that hale has beyond the size, each with the order for which it came.
type Surged map[string]fleet.OrderID

// Comes notes that a machine comes beyond the size: no more do than the policy allows.
func (s Surged) Comes(c Court, machine string, by fleet.OrderID) {
	s[machine] = by
	if u, _ := c.Update(); len(s) > u.Surge {
		c.Broken("L13", machine, fmt.Sprintf("it is the %d. beyond the size, and there may be %d", len(s), u.Surge))
	}
}

// Goes notes that a machine is to go since it was beyond the size: one of the size does not.
func (s Surged) Goes(c Court, machine string) {
	if s[machine] == "" {
		c.Broken("L13", machine, "it is to go as one beyond the size, and is of the size")
	}
}

// Takes judges a wanted change of a machine: an update's, and, where one beyond the size is to serve for it, any that
// takes the machine away; one that a person orders away by its name goes at once.
func (s Surged) Takes(c Court, was, is *belief.Machine, by fleet.OrderKind) {
	u, _ := c.Update()
	kind := is.Repair.Kind
	if kind == belief.RepairUpdate {
		s.changed(c, is)
	}
	surges := kind == belief.RepairReplace || s[string(is.Name)] != ""
	if by != fleet.OrderDelete && (kind == belief.RepairUpdate || u.Surge > 0 && surges) {
		s.serves(c, was, is)
	}
}

// changed checks that work by an update on a machine beyond the size is its own update's, and that it builds no other
// machine for the first time (S39).
func (s Surged) changed(c Court, is *belief.Machine) {
	switch by := s[string(is.Name)]; {
	case by != "" && by != is.Repair.Order && !is.Repair.Removed:
		c.Broken("S39", string(is.Name), "it is beyond the size for another order, and is changed by an update")
	case by == "" && is.Repair.Target.None():
		c.Broken("L13", string(is.Name), "it is built by an update, and is not beyond the size for it")
	}
}

// Kept takes in which machines are beyond the size, as hale stored it, and returns those that are of it from now on.
func (s Surged) Kept(l *belief.Ledger) []string {
	var settled []string
	for machine := range s {
		if l.Surging(fleet.MachineName(machine)) == "" {
			settled = append(settled, machine)
			delete(s, machine)
		}
	}
	return settled
}
