package world

// rescue starts another system in the instance's place: nothing of it runs any more.
func (w *World) rescue(vm *VM) (bool, End) {
	switch {
	case vm.Power == Paused && vm.Stop == StopRescue:
		return false, Done
	case vm.Power == Paused:
		return false, Conflict
	}
	w.Rescue(vm)
	return true, Done
}

// Rescue is the same by a person; the returned function ends it.
func (w *World) Rescue(vm *VM) (lift func()) {
	if vm.Power == Gone {
		return func() {}
	}
	w.setPower(vm, Off, StopRescue)
	w.setPower(vm, Paused, StopRescue)
	return func() { w.Unrescue(vm) }
}

// Unrescue is a person who has repaired the instance, and has it boot from its own disk again.
func (w *World) Unrescue(vm *VM) {
	if vm.Power != Paused || vm.Stop != StopRescue {
		return
	}
	vm.Power = Off
	w.PowerOn(vm)
}
