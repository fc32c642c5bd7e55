package judge

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// swaps reports whether the instance gives way to an older one, as the operator ordered.
func (j *Judge) swaps(machine, id string) bool {
	n, ok := fleet.MachineName(machine).Ordinal()
	if !ok || n > len(j.store.Beliefs) {
		return false
	}
	r := j.store.Beliefs[n-1].Repair
	return r != nil && r.Kind == belief.RepairUndo && string(r.Target.ID) == id &&
		j.wishes.posted[r.Order].Kind == fleet.OrderUndo
}

// undoing reports whether the operator ever ordered an undo of the machine.
func (j *Judge) undoing(machine string) bool {
	for _, o := range j.wishes.posted {
		if o.Kind == fleet.OrderUndo && string(o.Machine) == machine {
			return true
		}
	}
	return false
}
