package world

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
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
}

// VM is one instance as it truly is.
type VM struct {
	Status
	Born  time.Duration
	Image string // what it was built from, where the caller said so
	// Boots counts how often it began to boot, and DiskBoots how often from its present disk.
	Boots, DiskBoots int
	boots            uint64 // counts power-ons, so that an old boot's end is not taken for the new one's
	booted           bool
	ills             []*illness
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

// illness is one thing that keeps a machine from serving.
type illness struct {
	Ailment
	inborn bool // and its first boot is still to come
}

// Ailment is what can be wrong inside a machine that its provider calls running.
type Ailment struct {
	Symptom Symptom
	Cure    Cure          // default: ByReboot; of SlowBoot ByRecreate
	Share   float64       // of Lossy: how many of the probes are lost, 0 to 1
	Check   string        // of CheckFails: the one
	Status  int           // of AppError: the code; default 503
	Delay   time.Duration // of SlowBoot: by how much
}

// Cure is what makes a machine well again.
type Cure string

// The cures. A new instance is well, unless builds are spoilt.
const (
	ByReboot   Cure = "reboot"   // the next boot
	ByRecreate Cure = "recreate" // nothing but a new instance, or a new disk
	ByCommand  Cure = "command"  // a command that applies its configuration again, or a new instance
)

// lasting reports whether the ailment survives a reset.
func (a *Ailment) lasting() bool {
	return a.Cure != ByReboot && (a.Cure != "" || a.Symptom == SlowBoot)
}

// Symptom is how an ailing machine looks from outside.
type Symptom string

// The symptoms.
const (
	Hung       Symptom = "hung"        // answers nothing
	Halted     Symptom = "halts"       // answers nothing, and its processors stand still
	Unplugged  Symptom = "no-network"  // lives, and cannot be reached
	AppDead    Symptom = "app-dead"    // answers pings, refuses connections
	AppError   Symptom = "app-error"   // answers requests with a status, Ailment.Status
	AppHangs   Symptom = "app-hangs"   // takes requests, and answers none
	Slow       Symptom = "slow"        // answers everything too late
	NoBoot     Symptom = "no-boot"     // comes up no more once it is down or reset
	NoAddress  Symptom = "no-address"  // has none, so that nothing reaches it
	SlowBoot   Symptom = "slow-boot"   // its boots, and its addresses, take Ailment.Delay longer
	BadPage    Symptom = "bad-page"    // answers requests with a page that says something else
	CheckFails Symptom = "check-fails" // one of its checks fails, Ailment.Check
	AgentMute  Symptom = "agent-mute"  // its agent answers nothing, and all else is well
	AgentLies  Symptom = "agent-lies"  // its agent answers as long as the machine is on, whatever else is wrong
	Lossy      Symptom = "lossy"       // loses some of the probes and serves its users all the same
)

// Copied reports whether the instance is a copy of the one that its mark was written on.
func (vm *VM) Copied() bool { return vm.Mark.Instance != "" && vm.Mark.Instance != vm.ID }

// Lease is the address that the instance uses, whatever its provider knows.
func (vm *VM) Lease() netip.Addr { return vm.lease }

// Ills are what ails it, in the order in which it came.
func (vm *VM) Ills() []Ailment {
	out := make([]Ailment, len(vm.ills))
	for i, ill := range vm.ills {
		out[i] = ill.Ailment
	}
	return out
}

// Lives reports whether the guest's system runs, reachable or not.
func (vm *VM) Lives() bool { return vm.Power == Running && vm.listens() }

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

func (vm *VM) ails(s Symptom) bool {
	return slices.ContainsFunc(vm.ills, func(i *illness) bool { return i.Symptom == s })
}

func (vm *VM) loss() float64 {
	var most float64
	for _, i := range vm.ills {
		if i.Symptom == Lossy {
			most = max(most, i.Share)
		}
	}
	return most
}

// status is the code that it answers requests with.
func (vm *VM) status() int {
	for _, i := range vm.ills {
		if i.Symptom == AppError && i.Status != 0 {
			return i.Status
		}
	}
	return 503
}

// pings reports whether it would answer a ping from next door.
func (vm *VM) pings() bool {
	return vm.Power == Running && vm.booted && !vm.hangs() && !vm.ails(Unplugged) && !vm.ails(Slow) &&
		!vm.ails(NoAddress)
}

// AnswersAgent reports whether the agent inside answers: as long as the guest lives, whatever its network does.
func (vm *VM) AnswersAgent() bool {
	lives := vm.listens() && !vm.ails(Slow) || vm.ails(AgentLies)
	return lives && vm.Power == Running && !vm.ails(AgentMute)
}

// Halted returns since when the instance is paused, if it is.
func (vm *VM) Halted() (since time.Duration, is bool) { return vm.halted, vm.Power == Paused }

// listens reports whether the guest does what its power button says.
func (vm *VM) listens() bool { return vm.booted && !vm.hangs() && !vm.ails(NoBoot) }

// StandsStill reports whether it is said to run, and its processors do nothing.
func (vm *VM) StandsStill() bool { return vm.Power == Running && vm.ails(Halted) }

// Busy is how much of its processors it uses, in percent, as its provider counts.
func (vm *VM) Busy() float64 {
	const idle, spinning = 10, 100
	switch {
	case vm.Power != Running || vm.StandsStill():
		return 0
	case vm.hangs():
		return spinning
	}
	return idle
}

// hangs reports whether the guest does nothing any more, spinning or not.
func (vm *VM) hangs() bool { return vm.ails(Hung) || vm.ails(Halted) }

func (vm *VM) works() bool {
	return vm.pings() && !vm.ails(AppDead) && !vm.ails(AppError) && !vm.ails(AppHangs) && !vm.ails(BadPage) &&
		!vm.ails(CheckFails)
}

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
	vm.booted, vm.learnt = true, true
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
		vm.booted, vm.learnt = false, false
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
	vm.ills = slices.DeleteFunc(vm.ills, func(i *illness) bool {
		cured := !i.inborn && !i.lasting()
		i.inborn = false
		return cured
	})
	vm.booted, vm.learnt = false, false
	vm.boots++
	vm.Boots++
	vm.DiskBoots++
	w.Watch.Power(vm)
	if vm.ails(NoBoot) {
		return
	}
	boot, took := vm.boots, w.between(w.options.Boot, w.options.BootMost)
	addressed := cmp.Or(w.options.AddressAfter, took/2)
	for _, i := range vm.ills {
		took, addressed = took+i.Delay, addressed+i.Delay
	}
	w.After(addressed, func() {
		if vm.boots == boot {
			vm.learnt = true
			w.refresh(vm)
		}
	})
	w.After(took, func() {
		if vm.boots == boot {
			vm.booted = true
			w.refresh(vm)
		}
	})
}

// refresh lets the world notice that something about the instance changed.
func (w *World) refresh(vm *VM) {
	vm.Status.Address = netip.Addr{}
	if vm.learnt && !vm.ails(NoAddress) {
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
