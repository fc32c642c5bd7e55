package world

import "hale/internal/sim/guest"

// Lock has the provider refuse whatever changes the instance, as its people ordered, until it is unlocked. They
// themselves may do what they like with it.
func (w *World) Lock(vm *VM) (lift func()) {
	change := func(by int) {
		vm.locked += by
		w.refresh(vm)
	}
	change(1)
	return func() { change(-1) }
}

// Locked reports whether the provider refuses whatever changes the instance.
func (vm *VM) Locked() bool { return vm.locked > 0 }

// RefuseBuilds has the domain's hosts build nothing, each as if it would never build again.
func (w *World) RefuseBuilds(d Domain) (lift func()) {
	return w.onHosts(d, func(host string) func() {
		return w.Upset(Trouble{Fails: 1, How: Permanent, Op: Create, Host: host})
	})
}

// SpoilHosts has nothing come up that is built on the domain's hosts from now on.
func (w *World) SpoilHosts(d Domain) (lift func()) {
	return w.onHosts(d, func(host string) func() {
		return w.SpoilBuilds(Builds{Host: host}, guest.Ailment{Symptom: guest.NoBoot, Cure: guest.ByRecreate})
	})
}

// onHosts lets something happen to each host of the domain; the returned function ends all of it.
func (w *World) onHosts(d Domain, strike func(host string) (lift func())) (lift func()) {
	var lifts []func()
	for _, h := range w.order {
		if h.in(d) {
			lifts = append(lifts, strike(h.Name))
		}
	}
	return func() {
		for _, lift := range lifts {
			lift()
		}
	}
}

// DropMoves has a share of the moves from host to host end half way: the instance is on the other host, off, and the
// provider says that it failed.
func (w *World) DropMoves(share float64) (lift func()) {
	evacuations, migrations := w.Upset(Trouble{Drops: share, Op: Evacuate}), w.Upset(Trouble{Drops: share, Op: Migrate})
	return func() {
		evacuations()
		migrations()
	}
}

// drop ends a move half way.
func (w *World) drop(vm *VM) (bool, End) {
	w.setPower(vm, Off, StopUnknown)
	return true, Permanent
}
