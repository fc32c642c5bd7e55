package world

import (
	"slices"
	"time"
)

// Disable has the provider's people want the domain's hosts to be empty. What is there runs on.
func (w *World) Disable(d Domain) (lift func()) {
	return w.controllers(d, func(h *host, by int) {
		was := h.disabled
		if h.disabled += by; h.disabled == 0 {
			h.used = w.Now()
		} else if was == 0 {
			h.emptied = w.Now()
		}
		w.Watch.Host(h.Name, "")
	})
}

// Disabled reports whether the host is to be empty.
func (w *World) Disabled(name string) bool { return w.hosts[name] != nil && w.hosts[name].disabled > 0 }

// Emptied reports whether the host is to be empty, or was, until less than that ago, for longer than a blink.
func (w *World) Emptied(name string, ago, blink time.Duration) bool {
	h := w.hosts[name]
	return w.Disabled(name) || h != nil && h.used > 0 && w.Now()-h.used < ago && h.used-h.emptied > blink
}

// EmptiedAt is when the host was last wanted to be empty, and was not before; 0: never.
func (w *World) EmptiedAt(name string) time.Duration { return w.hosts[name].emptied }

// UsedAt is when the host was last in use again; 0: never.
func (w *World) UsedAt(name string) time.Duration { return w.hosts[name].used }

// AnyDisabled reports whether any host is.
func (w *World) AnyDisabled() bool {
	return slices.ContainsFunc(w.order, func(h *host) bool { return h.disabled > 0 })
}

// other returns the emptiest host that takes the instance, but for its own; nil: none does.
func (w *World) other(vm *VM) *host {
	var best *host
	for _, h := range w.order {
		if h.Name != vm.Host && h.dark == 0 && h.disabled == 0 && w.names[place{h.Name, vm.Name}] == nil &&
			(best == nil || len(h.guests) < len(best.guests)) {
			best = h
		}
	}
	return best
}

// evacuate starts the instance on another host. The provider only sees that its own is silent: where it runs there all
// the same, it runs twice.
func (w *World) evacuate(vm *VM, call *Call) (bool, End) {
	to := w.other(vm)
	switch {
	case w.hosts[vm.Host].dark == 0:
		return false, Conflict
	case to == nil:
		return false, Permanent
	}
	if vm.on() {
		w.Watch.Copies(vm.Mark.Machine, w.copies[vm.Mark.Machine]+1)
	}
	w.Migrate(vm, to.Name)
	vm.guest.Heal()
	vm.DiskBoots = 0
	w.spoil(vm)
	if call.Dropped {
		return w.drop(vm)
	}
	w.setPower(vm, Running, StopUnknown)
	return true, Done
}

// migrate moves the instance while it runs.
func (w *World) migrate(vm *VM, call *Call) (bool, End) {
	to := w.other(vm)
	switch {
	case vm.Power != Running:
		return false, Conflict
	case to == nil:
		return false, Permanent
	}
	if moved := w.Migrate(vm, to.Name); !moved || !call.Dropped {
		return moved, Done
	}
	return w.drop(vm)
}
