package world

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"hale/internal/sim/guest"
	"hale/internal/sim/load"
)

// Power is an instance's power state.
type Power string

// The power states.
const (
	Running Power = "running"
	Off     Power = "off"
	Paused  Power = "paused"
	Crashed Power = "crashed" // the guest died and its remains are in place
	Gone    Power = "gone"
)

// Stop is who turned an instance off, in the provider's word.
type Stop string

// Who stopped it.
const (
	StopUnknown  Stop = ""
	StopGuest    Stop = "guest"
	StopExternal Stop = "external"
	StopShutdown Stop = "shutdown" // in order, and the provider does not know who wanted it
	StopCrash    Stop = "crash"
	StopMoved    Stop = "moved"    // it went on at another host
	StopRescue   Stop = "rescue"   // paused: another system runs in its place
	StopIOError  Stop = "io-error" // paused, since a write to its disk failed
)

// Mark is what the builder of an instance wrote on it.
type Mark struct {
	Installation, Fleet, Machine string
	Generation                   uint64
	Certified                    bool
	// Unmarked says that it was not written: it says what the instance stands for, which no provider knows.
	Unmarked bool
	Kept     bool // it was put aside
	// Instance is the one that it was written on; empty: it does not say. A copy of an instance has its mark, too.
	Instance string
	Built    time.Time // in its builder's word
}

// Status is an instance in the provider's word.
type Status struct {
	ID, Name, Host string
	Network        string
	Storage        string
	Power          Power
	Stop           Stop
	Address        netip.Addr // invalid: not known yet
	Mark           Mark
	Metadata       string // what it bears beside the mark
	Tags           string // what it is tagged with
	Transient      bool   // nothing defines it: it is gone once it is off
	Size           Size
}

// Size is what an instance has of its host; what is zero, nobody said.
type Size struct {
	Memory uint64 // bytes
	CPUs   int
	Flavor string
}

// with returns it with what the other says.
func (s Size) with(o Size) Size {
	return Size{Memory: cmp.Or(o.Memory, s.Memory), CPUs: cmp.Or(o.CPUs, s.CPUs), Flavor: cmp.Or(o.Flavor, s.Flavor)}
}

// VM is one instance as it truly is.
type VM struct {
	Status
	Born  time.Duration
	Image string // what it was built from, where the caller said so
	// Boots counts how often it began to boot, and DiskBoots how often from its present disk.
	Boots, DiskBoots int
	boots            uint64 // counts power-ons, so that an old boot's end is not taken for the new one's
	guest            guest.Guest
	// lease is the address that it uses; Status.Address is what the provider knows of it, which learns it some time
	// after each boot.
	lease   netip.Addr
	learnt  bool
	serving bool
	since   time.Duration // since when it serves, or does not
	history []moment      // oldest first, back to memory before now
	disks   []*Disk       // kept ones that are attached to it
	shelf   []*Disk       // those that it gave up when it was put aside
	listed  bool          // in World.recent
	halted  time.Duration // when it was last paused
	counts  bool          // among those of its machine that can write
	locked  int           // how many locks are on it at its provider
	stayed  bool          // it is a definition that stayed where the instance was: another host runs it
}

// moment is what the provider would have said from that time on.
type moment struct {
	at     time.Duration
	status Status
}

// memory is how far back a stale listing can reach.
const memory = 10 * time.Minute

// Copied reports whether the instance is a copy of the one that its mark was written on.
func (vm *VM) Copied() bool { return vm.Mark.Instance != "" && vm.Mark.Instance != vm.ID }

// Lease is the address that the instance uses, whatever its provider knows.
func (vm *VM) Lease() netip.Addr { return vm.lease }

// Ills are what ails it, in the order in which it came.
func (vm *VM) Ills() []guest.Ailment { return vm.guest.Ills() }

// Lives reports whether the guest's system runs, reachable or not.
func (vm *VM) Lives() bool { return vm.Power == Running && vm.guest.Listens() }

// Machine returns the machine that the instance is one of, by truth; empty: of none, whatever mark was copied with it.
func (vm *VM) Machine() string {
	if vm.Copied() {
		return ""
	}
	return vm.Mark.Machine
}

// on reports whether the instance is powered on.
func (vm *VM) on() bool { return vm.Power == Running || vm.Power == Paused }

// Serving reports whether the machine would answer its checks now.
func (vm *VM) Serving() bool { return vm.serving }

// Since returns since when it serves, or does not.
func (vm *VM) Since() time.Duration { return vm.since }

// pings reports whether it would answer a ping from next door.
func (vm *VM) pings() bool {
	return vm.Power == Running && vm.guest.Pings()
}

// AnswersAgent reports whether the agent inside answers: as long as the guest lives, whatever its network does.
func (vm *VM) AnswersAgent() bool {
	return vm.Power == Running && vm.guest.AnswersAgent()
}

// Halted returns since when the instance is paused, if it is.
func (vm *VM) Halted() (since time.Duration, is bool) { return vm.halted, vm.Power == Paused }

// StandsStill reports whether it is said to run, and its processors do nothing.
func (vm *VM) StandsStill() bool { return vm.Power == Running && vm.guest.Ails(guest.Halted) }

// Busy is how much of its processors the instance uses, in percent, as its provider counts: what it uses without a
// load, or its share of the load, if it serves.
func (w *World) Busy(vm *VM) float64 {
	const idle, spinning = 10, 100
	switch {
	case vm.Power != Running || vm.StandsStill():
		return 0
	case vm.guest.Hangs():
		return spinning
	case !vm.serving || !w.Demand.Loaded():
		return idle
	}
	all := w.Members(Domain{Kind: "all"}, func(string) bool { return true })
	share, _ := w.Demand.Value(load.Busy, w.Now(), all)
	return max(share, idle)
}

func (vm *VM) works() bool { return vm.pings() && vm.guest.Works() }

// Healthy reports whether the instance would pass its own checks now, asked by its peers.
func (w *World) Healthy(vm *VM) bool {
	return vm.serving && w.Now()-vm.since >= w.options.Proven
}

// VM returns the instance, or nil; of several definitions of it the one that did not stay behind.
func (w *World) VM(id string) *VM { return w.vms[id] }

// Current returns the machine's instance of the highest generation, or nil.
func (w *World) Current(machine string) *VM {
	var best *VM
	for _, h := range w.order {
		vm := w.names[place{h.Name, machine}]
		if vm != nil && (best == nil || vm.Mark.Generation > best.Mark.Generation || best.stayed &&
			vm.Mark.Generation == best.Mark.Generation) {
			best = vm
		}
	}
	if best != nil {
		return best
	}
	for _, h := range w.order {
		for _, vm := range h.guests {
			if vm.Mark.Unmarked && vm.Mark.Machine == machine && (best == nil ||
				vm.Mark.Generation > best.Mark.Generation) {
				best = vm
			}
		}
	}
	return best
}

// Running counts the instances that are powered on and can write, per machine that their mark names.
func (w *World) Running() map[string]int {
	n := make(map[string]int, len(w.vms))
	for _, vm := range w.vms {
		if w.Writes(vm) {
			n[vm.Machine()]++
		}
	}
	for _, others := range w.stayed {
		for _, vm := range others {
			if w.Writes(vm) {
				n[vm.Machine()]++
			}
		}
	}
	return n
}

// Plant adds a machine that runs, booted long ago and serves, in the world's beginning.
func (w *World) Plant(s Status) *VM {
	vm := w.add(s)
	w.setPower(vm, Running, StopUnknown)
	vm.guest.Booted, vm.learnt = true, true
	w.refresh(vm)
	vm.since = w.Now() - w.options.Proven - time.Hour
	return vm
}

// Leave makes an instance that is off, behind everybody's back, and reports whether its name was free on its host.
func (w *World) Leave(s Status) bool {
	if w.hosts[s.Host] == nil || w.names[place{s.Host, s.Name}] != nil {
		return false
	}
	vm := w.add(s)
	w.refresh(vm)
	w.Watch.Power(vm)
	return true
}

// add makes an instance that is off. Its place is free.
func (w *World) add(s Status) *VM {
	vm := w.define(s)
	w.vms[s.ID] = vm
	return vm
}

// define makes a definition that is off. Its place is free.
func (w *World) define(s Status) *VM {
	h := w.hosts[s.Host]
	s.Power, s.Stop, s.Network, s.Storage = Off, StopUnknown, cmp.Or(h.Network, s.Network), h.Storage
	vm := &VM{Status: s, Born: w.Now(), since: w.Now()}
	w.names[place{s.Host, s.Name}] = vm
	h.guests = append(h.guests, vm)
	w.newLease(vm)
	return vm
}

func (w *World) newLease(vm *VM) {
	w.release(vm)
	old := vm.lease
	w.last = w.last.Next()
	vm.lease = w.last
	w.leases[vm.lease] = vm
	w.tellAddress(old)
	w.tellAddress(vm.lease)
}

// release takes the machine from its address. Another one that has it, too, is heard there from now on.
func (w *World) release(vm *VM) {
	others := slices.DeleteFunc(w.sharers[vm.lease], func(o *VM) bool { return o == vm })
	if w.leases[vm.lease] == vm {
		delete(w.leases, vm.lease)
		if len(others) > 0 {
			w.leases[vm.lease], others = others[0], others[1:]
		}
	}
	if w.sharers[vm.lease] = others; len(others) == 0 {
		delete(w.sharers, vm.lease)
	}
}

func (w *World) tellAddress(a netip.Addr) {
	if a.IsValid() {
		w.Watch.Address(a)
	}
}

// setPower changes the power state, with all that follows.
func (w *World) setPower(vm *VM, p Power, why Stop) {
	was := vm.on()
	if p == Running && vm.Power == Paused {
		vm.Power, vm.Stop = p, why // it goes on where it was
		w.refresh(vm)
		w.Watch.Power(vm)
		return
	}
	vm.Power, vm.Stop = p, why
	if p == Paused {
		vm.halted = w.Now()
	}
	if p == Running {
		w.boot(vm)
	} else if p != Paused {
		vm.guest.Booted, vm.learnt = false, false
		vm.boots++
	}
	if vm.on() != was {
		w.count(vm)
	}
	w.refresh(vm)
	if p != Running {
		w.Watch.Power(vm)
	}
	if p == Off && vm.Transient {
		w.remove(vm)
	}
}

// Writes reports whether the instance can change anything outside of itself: it is powered on, and not cut from all
// there is.
func (w *World) Writes(vm *VM) bool { return vm.on() && !w.hosts[vm.Host].apart }

func (w *World) count(vm *VM) {
	m := vm.Machine()
	by := -1
	if w.Writes(vm) == vm.counts {
		return
	}
	if vm.counts = !vm.counts; vm.counts {
		by = 1
	}
	w.copies[m] += by
	for _, d := range vm.disks {
		d.Writers += by
		d.Most = max(d.Most, d.Writers)
	}
	if m != "" {
		w.Watch.Copies(m, w.copies[m])
	}
}

// boot lets the instance come up, with a fresh mind: what a reset cures is cured.
func (w *World) boot(vm *VM) {
	vm.guest.Boot()
	vm.learnt = false
	vm.boots++
	vm.Boots++
	vm.DiskBoots++
	w.Watch.Power(vm)
	if vm.guest.Ails(guest.NoBoot) {
		return
	}
	boot, took := vm.boots, w.between(w.options.Boot, w.options.BootMost)
	addressed := cmp.Or(w.options.AddressAfter, took/2) + vm.guest.Delay()
	took += vm.guest.Delay()
	w.After(addressed, func() {
		if vm.boots == boot {
			vm.learnt = true
			w.refresh(vm)
		}
	})
	w.After(took, func() {
		if vm.boots == boot {
			vm.guest.Booted = true
			w.refresh(vm)
		}
	})
}

// refresh lets the world notice that something about the instance changed.
func (w *World) refresh(vm *VM) {
	vm.Status.Address = netip.Addr{}
	if vm.learnt && !vm.guest.Ails(guest.NoAddress) {
		vm.Status.Address = vm.lease
	}
	w.remember(vm)
	serving := vm.works() && !w.severed(vm)
	if serving != vm.serving {
		vm.serving, vm.since = serving, w.Now()
		w.Watch.Serving(vm)
	}
	w.tellAddress(vm.lease)
	w.Watch.Guest(vm.ID)
}

// remember keeps what the provider would say, for listings of now and of the past.
func (w *World) remember(vm *VM) {
	n := len(vm.history)
	if n > 0 && vm.history[n-1].status == vm.Status {
		return
	}
	for len(vm.history) > 1 && w.Now()-vm.history[1].at > memory {
		vm.history = vm.history[1:]
	}
	if n > 0 && vm.history[len(vm.history)-1].at == w.Now() {
		vm.history[len(vm.history)-1].status = vm.Status
	} else {
		vm.history = append(vm.history, moment{w.Now(), vm.Status})
	}
	if !vm.listed {
		vm.listed = true
		w.recent = append(w.recent, vm)
	}
	for _, c := range w.clients {
		c.note(vm)
	}
}

// asOf returns what the provider said of the instance at the time, and whether it knew of it.
func (vm *VM) asOf(t time.Duration) (Status, bool) {
	for _, m := range slices.Backward(vm.history) {
		if m.at <= t {
			return m.status, m.status.Power != Gone
		}
	}
	return Status{}, false
}

// remove takes the instance out of the world.
func (w *World) remove(vm *VM) {
	w.setPower(vm, Gone, StopUnknown)
	w.forgetDefinition(vm)
	delete(w.names, place{vm.Host, vm.Name})
	w.release(vm)
	h := w.hosts[vm.Host]
	h.guests = slices.DeleteFunc(h.guests, func(g *VM) bool { return g == vm })
	w.tellAddress(vm.lease)
}
