package world

import (
	"cmp"
	"slices"
	"strconv"
)

// Disk is a kept disk of a machine: it belongs to no instance, and outlives them all.
type Disk struct {
	Machine, Name string
	// Content is what was first written to it, another for each disk that there ever was.
	Content uint64
	// Writers counts the instances that are powered on and have it; Most is the greatest number that it ever was.
	Writers, Most int
}

// volume is where a kept disk is found: on its host, or on what hosts share.
type volume struct{ host, storage, machine, name string }

func (w *World) volume(host, machine, name string) volume {
	if s := w.hosts[host].Storage; s != "" {
		return volume{storage: s, machine: machine, name: name}
	}
	return volume{host: host, machine: machine, name: name}
}

// missing reports whether a disk is not there that the call takes for granted.
func (w *World) missing(call *Call) bool {
	return slices.ContainsFunc(call.Made, func(name string) bool {
		return slices.Contains(call.Disks, name) && w.disks[w.volume(call.Host, call.Mark.Machine, name)] == nil
	})
}

// attach gives the instance, which is off, the machine's disks; those that are not there are made empty.
func (w *World) attach(vm *VM, names []string) {
	for _, name := range names {
		at := w.volume(vm.Host, vm.Mark.Machine, name)
		if w.disks[at] == nil {
			w.written++
			w.disks[at] = &Disk{Machine: vm.Mark.Machine, Name: name, Content: w.written}
		}
		vm.disks = append(vm.disks, w.disks[at])
	}
}

// putAside puts an instance that is off aside, or takes it back.
func (w *World) putAside(vm *VM, call *Call) (bool, End) {
	kept := call.Op == Keep
	name := cmp.Or(call.Name, vm.Mark.Machine)
	if kept {
		name += "-kept-g" + strconv.FormatUint(vm.Mark.Generation, 10)
	}
	switch {
	case vm.Mark.Kept == kept:
		return false, Done
	case vm.Power != Off, w.names[place{vm.Host, name}] != nil:
		return false, Conflict
	}
	delete(w.names, place{vm.Host, vm.Name})
	vm.Name, vm.Mark.Kept, vm.Mark.Instance = name, kept, vm.ID
	w.names[place{vm.Host, name}] = vm
	vm.disks, vm.shelf = vm.shelf, vm.disks
	w.refresh(vm)
	return true, Done
}

// carry moves the disks with an instance that moved.
func (w *World) carry(vm *VM) {
	for at, d := range w.disks {
		if slices.Contains(vm.disks, d) {
			delete(w.disks, at)
			w.disks[w.volume(vm.Host, vm.Mark.Machine, d.Name)] = d
		}
	}
}

// Equip gives an instance that was planted the machine's kept disks.
func (w *World) Equip(vm *VM, names []string) {
	w.attach(vm, names)
	for _, d := range vm.disks {
		d.Writers++
	}
}

// All returns the machine's instances, in the order of hosts and birth.
func (w *World) All(machine string) []*VM { return w.within(Domain{Kind: "machine", Name: machine}) }

// Disks returns the kept disks that the instance has.
func (vm *VM) Disks() []*Disk { return vm.disks }

// KeptDisks returns the kept disks that there are, by machine and name.
func (w *World) KeptDisks() []Disk {
	var out []Disk
	for _, d := range w.disks {
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b Disk) int {
		return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.Name,
			b.Name))
	})
	return out
}

// DestroyDisks removes the machine's kept disks behind everybody's back. Who has one open writes into nothing.
func (w *World) DestroyDisks(machine string) {
	for at := range w.disks {
		if at.machine == machine {
			delete(w.disks, at)
		}
	}
}
