package judge

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// swaps reports whether the instance gives way to an older one, as the operator ordered.
func (j *Judge) swaps(machine, id string) bool {
	m := j.belief(machine)
	return m != nil && m.Repair != nil && m.Repair.Kind == belief.RepairUndo && string(m.Repair.Target.ID) == id &&
		j.wishes.posted[m.Repair.Order].Kind == fleet.OrderUndo
}

// undoing reports whether the operator ever ordered an undo of the machine.
func (j *Judge) undoing(machine string) bool { return j.wishes.ever(fleet.OrderUndo, machine) }

// ever reports whether the operator ever gave an order of the kind about the machine, or about the whole fleet.
func (w *wishes) ever(kind fleet.OrderKind, machine string) bool {
	for _, o := range w.posted {
		if o.Kind == kind && string(o.Machine) == machine {
			return true
		}
	}
	return false
}
