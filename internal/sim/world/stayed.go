package world

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/sim/guest"
)

// Definition returns that of the instance on the host, or nil.
func (w *World) Definition(id, host string) *VM {
	if vm := w.vms[id]; vm == nil || vm.Host == host {
		return vm
	}
	for _, vm := range w.stayed[id] {
		if vm.Host == host {
			return vm
		}
	}
	return nil
}

// victim returns what a call to the instance on the host is about, or nil.
func (w *World) victim(id, host string) *VM {
	if vm := w.Definition(id, host); vm != nil {
		return vm
	}
	return w.vms[id]
}

// definitions returns all of the instance, in no order that means anything.
func (w *World) definitions(id string) []*VM {
	if w.vms[id] == nil {
		return nil
	}
	return append([]*VM{w.vms[id]}, w.stayed[id]...)
}

// StayBehind has a person move the instance while it runs, away from the host if that is where it is, and leave its
// definition there. It reports whether that could be; the returned function is the person who removes the definition,
// if it was not started meanwhile.
func (w *World) StayBehind(vm *VM, host string) (lift func(), ok bool) {
	if !vm.on() || w.hosts[host] == nil || vm.Host == host && !w.leave(vm) {
		return func() {}, false
	}
	return w.Redefine(vm, host)
}

// Redefine leaves the instance's definition on the host, off, where its name is free; the returned function is as
// StayBehind's.
func (w *World) Redefine(vm *VM, host string) (lift func(), ok bool) {
	if w.hosts[host] == nil || w.names[place{host, vm.Name}] != nil {
		return func() {}, false
	}
	left := w.define(Status{ID: vm.ID, Name: vm.Name, Host: host, Mark: vm.Mark, Network: vm.Network,
		Metadata: vm.Metadata, Tags: vm.Tags})
	left.stayed, left.Stop = true, StopMoved
	if left.Storage != "" && left.Storage == vm.Storage {
		left.disks = slices.Clone(vm.disks) // it names the same files
	}
	w.stayed[vm.ID] = append(w.stayed[vm.ID], left)
	for _, c := range w.clients {
		c.twins[vm.ID] = append(c.twins[vm.ID], vm, left)
	}
	w.refresh(left)
	w.Watch.Power(left)
	return func() {
		if left.Power == Off && left.stayed {
			w.remove(left)
		}
	}, true
}

// leave moves the instance to another host that takes it.
func (w *World) leave(vm *VM) bool {
	to := w.other(vm)
	return to != nil && w.Migrate(vm, to.Name)
}

// forgetDefinition takes a definition off the books. Where others of the instance are left, the first of them is what
// it is from now on.
func (w *World) forgetDefinition(vm *VM) {
	others := w.stayed[vm.ID]
	switch {
	case w.vms[vm.ID] != vm:
		others = slices.DeleteFunc(others, func(o *VM) bool { return o == vm })
	case len(others) == 0:
		delete(w.vms, vm.ID)
		return
	default:
		w.vms[vm.ID], others = others[0], others[1:]
		w.vms[vm.ID].stayed = false
	}
	if w.stayed[vm.ID] = others; len(others) == 0 {
		delete(w.stayed, vm.ID)
	}
}

// deleteDefinition removes the instance that is off with its disk, also where another host runs it from that.
func (w *World) deleteDefinition(vm *VM, call *Call) (bool, End) {
	if vm.on() || vm.Power == Crashed {
		return false, Conflict
	}
	w.remove(vm)
	for _, o := range w.definitions(vm.ID) {
		if o.on() && o.Storage != "" && o.Storage == vm.Storage {
			call.Robbed = true
			w.Sicken(o, guest.Ailment{Symptom: guest.NoBoot, Cure: guest.ByRecreate})
			w.Sicken(o, guest.Ailment{Symptom: guest.Hung})
		}
	}
	return true, Done
}

// elsewhere asks the other hosts for the instance, as the caller's side does before it orders something of one that is
// off, or a new one: one that another host shows is left alone (Conflict), and so is one that a host may have which
// does not answer (Transient).
func (w *World) elsewhere(c *Client, call *Call) End {
	vm := w.Definition(call.ID, call.Host)
	if c.down() || !call.claims() || vm == nil && call.Op != Create && call.Op != Delete || vm != nil &&
		vm.Power == Running {
		return Done
	}
	end := Done
	for _, h := range w.order {
		switch {
		case h.Name == call.Host, h.supplanted > 0:
		case h.silentTo(c.Name):
			// what is paused has its process here
			if (vm == nil || vm.Power == Off) && !slices.Contains(call.Excused, h.Name) {
				end = Transient
			}
		case w.Definition(call.ID, h.Name) != nil, (call.Op == Create || call.Op == Restore) && w.holdsName(h, call):
			return Conflict
		}
	}
	return end
}

// claims reports whether the call is one that must not be made of an instance that another host has, too.
func (c *Call) claims() bool {
	return slices.Contains([]Op{Create, Start, Resume, Reboot, PowerOff, Delete, Keep, Restore, Rebuild}, c.Op)
}

// holdsName reports whether the host has something of the name, but for an earlier instance of the machine that is off:
// it gave way.
func (w *World) holdsName(h *host, call *Call) bool {
	vm := w.names[place{h.Name, call.Name}]
	return vm != nil && (vm.Power != Off || vm.Mark.Installation != call.Mark.Installation ||
		vm.Machine() != call.Mark.Machine ||
		vm.Mark.Generation >= call.Mark.Generation)
}

// CopyDefinition has a person copy the instance, mark and all, under a name and an id of its own, and start the copy.
// The returned function removes it.
func (w *World) CopyDefinition(vm *VM) (lift func()) {
	s := vm.Status
	for s.Name = ""; s.Name == "" || w.names[place{s.Host, s.Name}] != nil; {
		w.made++
		n := strconv.Itoa(w.made)
		s.ID, s.Name = "copy-"+n+"-of-"+vm.ID, vm.Name+"-copy-"+n
	}
	c := w.add(s)
	w.setPower(c, Running, StopUnknown)
	return func() { w.Vanish(c) }
}

// Contested reports whether a listing may tell of several definitions of an instance.
func (c *Client) Contested() bool { return len(c.twins) > 0 }

// mention has the listing tell of every definition of an instance that has several, or had, as of then.
func (c *Client) mention(l *Listing, as time.Duration) {
	for _, id := range slices.Sorted(maps.Keys(c.twins)) {
		l.Changed = slices.DeleteFunc(l.Changed, func(s Status) bool { return s.ID == id })
		l.Removed = slices.DeleteFunc(l.Removed, func(o string) bool { return o == id })
		shown, hidden := 0, 0
		for _, h := range c.w.order {
			switch s, there := onHost(c.twins[id], h.Name, as); {
			case !there:
			case l.Dark[h.Name]:
				hidden++
			default:
				shown++
				l.Changed = append(l.Changed, s)
			}
		}
		if shown+hidden == 0 {
			l.Removed = append(l.Removed, id)
		}
		if shown+hidden < 2 && !c.w.recently(c.twins[id]) {
			delete(c.twins, id)
		}
	}
}

// onHost returns what the host said at the time of one of the definitions, and whether it had one.
func onHost(definitions []*VM, host string, then time.Duration) (Status, bool) {
	for _, vm := range definitions {
		if s, there := vm.asOf(then); there && s.Host == host {
			return s, true
		}
	}
	return Status{}, false
}

// recently reports whether something changed about the definitions that a stale listing may not show yet.
func (w *World) recently(definitions []*VM) bool {
	return slices.ContainsFunc(definitions,
		func(vm *VM) bool { return w.Now()-vm.history[len(vm.history)-1].at <= memory })
}

// Contested reports whether several hosts have a definition of the instance.
func (w *World) Contested(id string) bool { return len(w.stayed[id]) > 0 }

// ShownBy names the hosts that show the instance, in the order of their names.
func (w *World) ShownBy(id string) string {
	var hosts []string
	for _, vm := range w.definitions(id) {
		hosts = append(hosts, vm.Host)
	}
	slices.Sort(hosts)
	return strings.Join(hosts, ", ")
}

// Undefine has a person remove what stayed behind of the instance and is off, and reports whether there was any.
func (w *World) Undefine(id string) bool {
	was := len(w.stayed[id])
	for _, vm := range slices.Clone(w.stayed[id]) {
		if vm.Power == Off {
			w.remove(vm)
		}
	}
	return len(w.stayed[id]) < was
}
