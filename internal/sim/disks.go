package sim

import (
	"fmt"

	"hale/internal/fleet"
	"hale/internal/sim/world"
)

// heldDisk names a kept disk of a machine.
type heldDisk struct{ machine, name string }

// isOrdered reports whether a person's order has the call in it: a confirmed plan, or the old instance that is wanted back.
func (j *judge) isOrdered(c *world.Call) bool {
	return j.isNamed(c.Mark.Machine, c.ID) && (c.Op == world.PowerOff || c.Op == world.Delete) ||
		j.swaps(c.Mark.Machine, c.ID) && c.Op == world.PowerOff
}

// disksOf checks the disks of an instance that just got them.
func (j *judge) disksOf(c *world.Call) {
	if c.Op == world.Create || c.Op == world.Restore {
		j.equipped(j.s.w.VM(c.ID))
	}
}

// equipped checks that an instance has every disk that its machine is to keep, with what was ever written to it.
func (j *judge) equipped(vm *world.VM) {
	if vm == nil || len(j.s.disks) == 0 {
		return
	}
	machine := vm.Mark.Machine
	found := map[string]uint64{}
	for _, d := range vm.Disks() {
		found[d.Name] = d.Content
	}
	for _, name := range j.s.disks {
		k := heldDisk{machine, name}
		switch content := found[name]; {
		case content == 0:
			j.broken("disk", machine, "it was built without its disk "+name)
		case j.contents[k] == 0:
			j.contents[k] = content
		case j.contents[k] != content:
			j.broken("disk", machine, fmt.Sprintf("its disk %s is another one, without the data", name))
		default:
			j.s.score.Reattached++
		}
	}
}

// shares checks that no two instances that are powered on have the same disk.
func (j *judge) shares(machine string) {
	for _, vm := range j.s.w.All(machine) {
		for _, d := range vm.Disks() {
			if d.Writers > 1 {
				j.broken("disk", machine, fmt.Sprintf("%d instances write to its disk %s", d.Writers, d.Name))
				return
			}
		}
	}
}

// swaps reports whether the instance gives way to an older one, as the operator ordered.
func (j *judge) swaps(machine, id string) bool {
	n, ok := fleet.MachineName(machine).Ordinal()
	if !ok || n > len(j.s.store.beliefs) {
		return false
	}
	r := j.s.store.beliefs[n-1].Repair
	return r != nil && r.Kind == fleet.RepairUndo && string(r.Target.ID) == id && j.wishes.posted[r.Order].Kind == fleet.OrderUndo
}

// shelved checks that an instance that was put aside stays so for its whole time, unless the operator wants it back.
func (j *judge) shelved(c *world.Call) {
	at, kept := j.shelf[c.ID]
	switch {
	case c.Op == world.Keep:
		j.shelf[c.ID] = j.s.w.Now()
	case !kept:
	case c.Op == world.Restore:
		delete(j.shelf, c.ID)
		if !j.undoing(c.Mark.Machine) {
			j.broken("L3", c.Mark.Machine, fmt.Sprintf("%s is brought back, which nobody ordered", j.called(c.ID)))
		}
	case c.Op == world.Delete:
		delete(j.shelf, c.ID)
		if lasted := j.s.w.Now() - at; lasted < j.s.spec.Repair.KeepTime()-j.s.servers.apart() {
			j.broken("L15", c.Mark.Machine, fmt.Sprintf("%s was to be kept for %s, and is deleted after %s", j.called(c.ID), j.s.spec.Repair.KeepTime(), lasted))
		}
	default:
		j.broken("L2", c.Mark.Machine, fmt.Sprintf("%s of %s, which was put aside", c.Op, j.called(c.ID)))
	}
}

// undoing reports whether the operator ever ordered an undo of the machine.
func (j *judge) undoing(machine string) bool {
	for _, o := range j.wishes.posted {
		if o.Kind == fleet.OrderUndo && string(o.Machine) == machine {
			return true
		}
	}
	return false
}
