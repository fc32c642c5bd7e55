package world

import (
	"cmp"
	"maps"
	"slices"
)

// Copy is one of an instance's disks: it belongs to no instance.
type Copy struct {
	copyName
	Instance string
	// Boots is how often the disk had been booted from.
	Boots int
}

type copyName struct{ Host, Machine, ID string }

func (c *Call) copyName() copyName { return copyName{c.Host, c.Mark.Machine, c.Snapshot} }

// copyDisks copies the instance's disks, unless there is a copy of that name already.
func (w *World) copyDisks(vm *VM, call *Call) (bool, End) {
	if _, there := w.diskCopies[call.copyName()]; there {
		return false, Done
	}
	w.diskCopies[call.copyName()] = Copy{call.copyName(), vm.ID, vm.DiskBoots}
	return true, Done
}

// revert gives the instance, which is off, the disk of the copy.
func (w *World) revert(vm *VM, call *Call) (bool, End) {
	c, there := w.diskCopies[call.copyName()]
	if !there {
		return false, Invalid
	}
	return w.rebuild(vm, c.Boots)
}

func (w *World) dropCopy(call *Call) (bool, End) {
	_, there := w.diskCopies[call.copyName()]
	delete(w.diskCopies, call.copyName())
	return there, Done
}

// DiskCopies returns the copies of disks that there are, by machine and name.
func (w *World) DiskCopies() []Copy {
	return slices.SortedFunc(maps.Values(w.diskCopies), func(a, b Copy) int {
		return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.ID, b.ID))
	})
}
