package world

import (
	"cmp"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"time"

	"hale/internal/sim/guest"
)

// Crash ends the machine's instance as a killed process does, or as a guest's own shutdown, or as a person's order. The
// returned function starts it again, unless anything was done with it since.
func (w *World) Crash(vm *VM, why Stop) (lift func()) {
	if vm.Power == Gone {
		return func() {}
	}
	w.setPower(vm, Off, why)
	return w.comeback(vm)
}

// Panic ends the guest and leaves its remains in place. The returned function is as Crash's.
func (w *World) Panic(vm *VM) (lift func()) {
	if !vm.on() {
		return func() {}
	}
	w.setPower(vm, Crashed, StopCrash)
	return w.comeback(vm)
}

// comeback starts what went down, if it is as it was left.
func (w *World) comeback(vm *VM) func() {
	boots := vm.boots
	return func() {
		if vm.boots == boots && (vm.Power == Off || vm.Power == Crashed) {
			w.setPower(vm, Running, StopUnknown)
		}
	}
}

// Reset boots the instance anew, as a guest does that falls over and is set up so.
func (w *World) Reset(vm *VM) { w.reset(vm) }

// Bear writes other metadata on the instance, as a person does.
func (w *World) Bear(vm *VM, metadata string) {
	vm.Metadata = metadata
	w.refresh(vm)
}

// Forsake removes the instance's definition while it runs: it is gone once it is off.
func (w *World) Forsake(vm *VM) {
	vm.Transient = true
	w.refresh(vm)
	w.Watch.Power(vm)
}

// Revive boots an instance that is powered on and could not come up, if it can now.
func (w *World) Revive(vm *VM) {
	if vm.Power == Running && !vm.guest.Booted && !vm.guest.Ails(guest.NoBoot) {
		w.boot(vm)
		w.refresh(vm)
	}
}

// Vanish removes the instance behind everybody's back.
func (w *World) Vanish(vm *VM) {
	if vm.Power != Gone {
		w.remove(vm)
	}
}

// Suspend pauses the instance, as a person, the guest or the provider does; the returned function lets it go on.
func (w *World) Suspend(vm *VM, by Stop) (lift func()) {
	if !vm.on() {
		return func() {}
	}
	w.setPower(vm, Paused, by)
	return func() {
		if vm.Power == Paused {
			w.setPower(vm, Running, StopUnknown)
		}
	}
}

// PowerOn starts the instance as a person does, and heals what only a person can heal.
func (w *World) PowerOn(vm *VM) {
	if vm.Power == Gone {
		return
	}
	vm.guest.Heal()
	if h := w.hosts[vm.Host]; h != nil {
		h.cut = false // it does not run without power
	}
	if vm.Power == Running {
		w.boot(vm)
		w.refresh(vm)
		return
	}
	w.setPower(vm, Running, StopUnknown)
}

// Readdress gives the machine another address.
func (w *World) Readdress(vm *VM) {
	if vm.Power == Gone {
		return
	}
	w.newLease(vm)
	w.refresh(vm)
}

// TakeAddress gives the machine the address that another one has and keeps, as where networks of two hosts overlap:
// who asks there hears the other one.
func (w *World) TakeAddress(vm, of *VM) {
	if vm.Power == Gone || of.Power == Gone || vm.lease == of.lease {
		return
	}
	old := vm.lease
	w.release(vm)
	vm.lease = of.lease
	w.sharers[vm.lease] = append(w.sharers[vm.lease], vm)
	w.refresh(vm)
	w.tellAddress(old)
}

// Migrate moves the instance to another host, if its name is free there.
func (w *World) Migrate(vm *VM, to string) bool {
	h := w.hosts[to]
	if there := w.names[place{to, vm.Name}]; there != nil && there.stayed && there.ID == vm.ID && !there.on() {
		w.remove(there) // it is its own definition, which it takes over
	}
	if h == nil || vm.Power == Gone || w.names[place{to, vm.Name}] != nil {
		return false
	}
	old := w.hosts[vm.Host]
	old.guests = slices.DeleteFunc(old.guests, func(g *VM) bool { return g == vm })
	delete(w.names, place{vm.Host, vm.Name})
	vm.Host, vm.Network, vm.Storage = to, cmp.Or(h.Network, vm.Network), h.Storage
	h.guests = append(h.guests, vm)
	w.names[place{to, vm.Name}] = vm
	w.carry(vm)
	w.count(vm)
	w.refresh(vm)
	return true
}

// Sicken gives the machine an ailment; the returned function ends it, if nothing else did.
func (w *World) Sicken(vm *VM, a guest.Ailment) (lift func()) {
	cure := vm.guest.Sicken(a)
	w.refresh(vm)
	return func() {
		if cure() {
			w.refresh(vm)
		}
	}
}

// badBuilds makes new instances ill from birth.
type badBuilds struct {
	Builds
	ailment guest.Ailment
	left    int
}

// Builds are those of a machine, from an image or on a host, all where these are empty, and so many of them; 0: no end.
type Builds struct {
	Machine, Image, Host string
	Times                int
}

// SpoilBuilds makes instances that are built from now on ail, as a bad template does.
func (w *World) SpoilBuilds(of Builds, a guest.Ailment) (lift func()) {
	b := &badBuilds{of, a, of.Times}
	w.builds = append(w.builds, b)
	return func() { w.builds = slices.DeleteFunc(w.builds, func(o *badBuilds) bool { return o == b }) }
}

// PowerFailure takes the power from the domain's hosts together with their control planes. When it is lifted the hosts
// are back and their machines are off.
func (w *World) PowerFailure(d Domain) (lift func()) {
	dark, dead := w.Darkness(d), w.DeadController(d)
	lift = func() {
		dead()
		dark()
	}
	for _, vm := range w.within(d) {
		if vm.on() || vm.Power == Off {
			w.setPower(vm, Off, StopUnknown) // a host that boots has forgotten what became of its machines, and why
		}
	}
	return lift
}

// ShutDown shuts the machines of the domain's hosts down in order, as hosts do before they go off.
func (w *World) ShutDown(d Domain) {
	for _, vm := range w.within(d) {
		if vm.on() {
			w.setPower(vm, Off, StopShutdown)
		}
	}
}

// DarknessTo cuts one client from the control planes of the domain's hosts, everybody if it is empty.
func (w *World) DarknessTo(client string, d Domain) (lift func()) {
	if client == "" {
		return w.Darkness(d)
	}
	return w.controllers(d, func(h *host, by int) {
		if h.darkTo == nil {
			h.darkTo = map[string]int{}
		}
		if h.darkTo[client] += by; by < 0 {
			w.Watch.Host(h.Name, client)
		}
	})
}

// silentTo reports whether the host's control plane does not answer the client.
func (h *host) silentTo(client string) bool { return h.dark > 0 || h.darkTo[client] > 0 }

// Reaches reports whether what the client sends gets to the host's control plane.
func (w *World) Reaches(client, host string) bool {
	h := w.hosts[host]
	return h != nil && !h.silentTo(client) && !w.Cut(client)
}

// Supplant puts another, empty provider behind the addresses of the domain's hosts: it knows no instance, and what it
// is told to build appears nowhere in this world.
func (w *World) Supplant(d Domain) (lift func()) {
	return w.controllers(d, func(h *host, by int) { h.supplanted += by })
}

// Supplanted reports whether another provider answers in the host's place.
func (w *World) Supplanted(host string) bool {
	return w.hosts[host] != nil && w.hosts[host].supplanted > 0
}

// Darkness cuts everybody from the control planes of the domain's hosts. Their machines run on.
func (w *World) Darkness(d Domain) (lift func()) {
	var hit []*host
	for _, h := range w.order {
		if h.in(d) {
			hit = append(hit, h)
			h.dark++
		}
	}
	w.tellGuests()
	return func() {
		for _, h := range hit {
			if h.dark--; h.dark == 0 {
				h.cut = false // its repair turns it on
			}
			w.newsOf(h)
			w.Watch.Host(h.Name, "")
		}
		w.tellGuests()
	}
}

// newsOf makes the next listing tell all about the host: what was missed is not known.
func (w *World) newsOf(h *host) {
	for _, c := range w.clients {
		for _, vm := range h.guests {
			c.note(vm)
		}
		if c.Noted != nil && len(w.notes) > 0 {
			c.Noted()
		}
	}
}

// cut is a broken way between two of vantage, machines and peers.
type cut struct {
	vantage string // empty: from everybody, peers too
	domain  Domain
}

// Part breaks the network between a vantage and the machines of a domain. With an empty vantage they are reached from
// nowhere, not even their peers: then they do not serve.
func (w *World) Part(vantage string, d Domain) (lift func()) {
	c := &cut{vantage, d}
	w.cuts = append(w.cuts, c)
	w.retell(d)
	return func() {
		w.cuts = slices.DeleteFunc(w.cuts, func(o *cut) bool { return o == c })
		w.retell(d)
	}
}

func (w *World) retell(d Domain) {
	for _, vm := range w.within(d) {
		w.refresh(vm)
	}
}

func (w *World) severed(vm *VM) bool { return w.cutFrom("", vm) }

// cutFrom reports whether the way from the vantage to the machine is broken; an empty vantage asks for its peers.
func (w *World) cutFrom(vantage string, vm *VM) bool {
	if w.hosts[vm.Host].apart {
		return true
	}
	for _, c := range w.cuts {
		if (c.vantage == "" || c.vantage == vantage) && (w.hosts[vm.Host].in(c.domain) || c.domain.Kind == "machine" &&
			c.domain.Name == vm.Mark.Machine) {
			return true
		}
	}
	return false
}

// Cutoff keeps the client from the provider, everybody if it is empty, also one that connects anew meanwhile.
func (w *World) Cutoff(client string) (lift func()) {
	o := &cutoff{client}
	w.cutoffs = append(w.cutoffs, o)
	w.tellGuests()
	return func() {
		w.cutoffs = slices.DeleteFunc(w.cutoffs, func(other *cutoff) bool { return other == o })
		w.tellGuests()
		w.Watch.Host("", client)
	}
}

// cutoff is a client that does not reach the provider.
type cutoff struct{ client string }

// down reports whether the client does not reach the provider.
func (c *Client) down() bool { return c.w.Cut(c.Name) }

// Cut reports whether the client does not reach the provider at all.
func (w *World) Cut(client string) bool {
	return slices.ContainsFunc(w.cutoffs, func(o *cutoff) bool { return o.client == "" || o.client == client })
}

// Answering returns the instance that has the address, of several the one that is heard there, or nil.
func (w *World) Answering(a netip.Addr) *VM { return w.leases[a] }

// Addresses are all that instances have, in no order.
func (w *World) Addresses() iter.Seq[netip.Addr] { return maps.Keys(w.leases) }

// Heard is what is heard of the instance's own troubles, whatever way it is asked.
func (vm *VM) Heard() guest.Hears { return vm.guest.Heard() }

// Hear tells what probes hear. It changes only when Watcher.Address says so.
func (w *World) Hear(vantage string, a netip.Addr) guest.Hears {
	vm := w.leases[a]
	if vm == nil || !vm.pings() || w.cutFrom(vantage, vm) || w.cutFrom("", vm) {
		return guest.Hears{Ping: guest.Silence, TCP: guest.Silence, HTTP: guest.Silence}
	}
	return vm.guest.Hear()
}

// HearHost reports whether the host answers at its own address.
func (w *World) HearHost(vantage, name string) bool {
	h := w.hosts[name]
	if h == nil || h.silentTo(vantage) || h.apart {
		return false
	}
	return !slices.ContainsFunc(w.cuts, func(c *cut) bool {
		return (c.vantage == "" || c.vantage == vantage) && h.in(c.domain)
	})
}

// Chance draws true with the probability.
func (w *World) Chance(p float64) bool { return p > 0 && w.random.Float64() < p }

// Random returns a number below n.
func (w *World) Random(n int) int { return w.random.IntN(n) }

// Between returns a time drawn between the two.
func (w *World) Between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.Random(int(most-least)))
}

// Trouble makes provider calls go wrong, each with its chance, while it lasts.
type Trouble struct {
	Client  string // empty: everybody's
	Op      Op     // empty: all that change something
	Host    string // empty: all
	ID      string // of the instance; empty: all
	Machine string // by the caller's word; empty: all
	Reads   bool   // reads fail, too, with the chance of Fails, Slow, Hangs and Unheard
	First   bool   // it comes before the trouble that there is

	Fails   float64 // ends with How and does nothing
	How     End     // default Transient
	Slow    float64 // takes Delay longer
	Hangs   float64 // does not get through until the trouble is over
	Unheard float64 // takes effect, and is answered when the trouble is over
	Dropped float64 // takes effect, and the caller is told at once that the outcome is unknown
	Vain    float64 // succeeds, and nothing follows
	Drops   float64 // a move ends half way
	Lost    float64 // takes effect, the answer is lost
	Twice   float64 // takes effect, and again after Delay; default: within a minute
	Late    float64 // takes effect after Delay, whatever the caller does; default: within two minutes
	Delay   time.Duration
	Empty   bool // listings are complete, successful and empty
	Stale   time.Duration
	Times   int // how many calls are hit; 0: all while it lasts
}

type troubled struct {
	Trouble
	left  int
	over  bool
	holds []func() // what goes on when it is over
}

// when lets it happen once the trouble is over; now, where there is none.
func (t *troubled) when(do func()) {
	if t == nil || t.over {
		do()
		return
	}
	t.holds = append(t.holds, do)
}

// Upset puts trouble between the callers and the provider.
func (w *World) Upset(t Trouble) (lift func()) {
	if t.How == Done {
		t.How = Transient
	}
	in := &troubled{Trouble: t, left: t.Times}
	if t.First {
		w.trouble = slices.Insert(w.trouble, 0, in)
	} else {
		w.trouble = append(w.trouble, in)
	}
	w.tellGuests()
	return func() {
		w.trouble = slices.DeleteFunc(w.trouble, func(o *troubled) bool { return o == in })
		in.over = true
		for _, do := range in.holds {
			do()
		}
		in.holds = nil
		w.tellGuests()
		for _, h := range w.order {
			w.newsOf(h)
		}
	}
}

// fate is what becomes of one call.
type fate struct {
	fails        End
	mute, twice  bool
	delay, again time.Duration
	halfway      bool          // it ends there
	vain         bool          // it is said to be done, and is not
	dropped      bool          // the caller is told at once that the outcome is unknown
	later        time.Duration // by which it arrives later
	before       *troubled     // after which it arrives
	after        *troubled     // after which it is answered
}

func (w *World) fate(c *Client, call Call) fate {
	if c.down() {
		return fate{fails: Transient}
	}
	reading := call.reads()
	for _, t := range w.trouble {
		if !t.hits(c, &call, reading) {
			continue
		}
		if f, hit := w.draw(t, reading); hit {
			t.left--
			return f
		}
	}
	return fate{}
}

// hits reports whether the call is one that the trouble selects.
func (t *troubled) hits(c *Client, call *Call, reading bool) bool {
	return (t.Client == "" || t.Client == c.Name) && (t.Host == "" || t.Host == call.Host) && (t.Times == 0 ||
		t.left > 0) &&
		(t.Op == "" || t.Op == call.Op) && (t.Reads || !reading) && (t.ID == "" || t.ID == call.ID) &&
		(t.Machine == "" || t.Machine == call.Mark.Machine)
}

func (w *World) draw(t *troubled, reading bool) (fate, bool) {
	switch {
	case w.Chance(t.Fails):
		return fate{fails: t.How}, true
	case w.Chance(t.Slow):
		return fate{later: t.Delay}, true
	case w.Chance(t.Hangs):
		return fate{before: t}, true
	case w.Chance(t.Unheard):
		return fate{after: t}, true
	case reading:
	case w.Chance(t.Drops):
		return fate{halfway: true}, true
	case w.Chance(t.Dropped):
		return fate{dropped: true}, true
	case w.Chance(t.Vain):
		return fate{vain: true}, true
	case t.Delay > 0 && w.Chance(t.Twice):
		return fate{twice: true, again: t.Delay}, true
	case t.Delay > 0 && w.Chance(t.Late):
		return fate{mute: true, later: t.Delay}, true
	case w.Chance(t.Lost):
		return fate{mute: true}, true
	case w.Chance(t.Twice):
		return fate{twice: true, again: w.between(0, time.Minute)}, true
	case w.Chance(t.Late):
		return fate{mute: true, delay: w.between(time.Second, 2*time.Minute)}, true
	}
	return fate{}, false
}

// Moody reports whether one listing may succeed and the next one fail, although nothing changed.
func (w *World) Moody() bool {
	return slices.ContainsFunc(w.trouble, func(t *troubled) bool { return t.Reads && t.Fails > 0 })
}

func (w *World) emptied() bool {
	return slices.ContainsFunc(w.trouble, func(t *troubled) bool { return t.Empty })
}

func (w *World) staleness() time.Duration {
	var most time.Duration
	for _, t := range w.trouble {
		most = max(most, t.Stale)
	}
	return min(most, memory)
}
