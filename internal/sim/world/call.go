package world

import (
	"math"
	"slices"
	"time"

	"hale/internal/sim/errand"
)

// Op is a changing call's operation.
type Op string

// The operations.
const (
	Create   Op = "create"
	Start    Op = "start"
	Reboot   Op = "reboot"
	PowerOff Op = "power-off"
	Delete   Op = "delete"
	Certify  Op = "certify"
	Resume   Op = "resume"
	// Keep puts an instance that is off aside, under another name and without its kept disks; Restore gives both back.
	Keep    Op = "keep"
	Restore Op = "restore"
	// SoftReboot asks the guest to reboot.
	SoftReboot Op = "soft-reboot"
	// Rebuild gives an instance that is off a new disk and starts it.
	Rebuild Op = "rebuild"
	// Run executes a command at the caller's, which applies the instance's configuration again.
	Run Op = "run"
	// Configure is the same of a caller that executes the command by itself: what comes of it when it is through.
	Configure Op = "configure"
	// Hook does what people want done around the work on an instance, at the caller's: it is done whatever becomes of
	// the instance, and applies the configuration of one that it gets to.
	Hook Op = "hook"
	// Snapshot copies an instance's disks, DropSnapshot removes a copy, and Revert puts one back.
	Snapshot     Op = "snapshot"
	DropSnapshot Op = "drop-snapshot"
	Revert       Op = "revert"
	// Evacuate starts an instance on another host when its own is silent; Migrate moves one that runs.
	Evacuate Op = "evacuate"
	Migrate  Op = "migrate"
	// Rescue starts another system in an instance's place.
	Rescue Op = "rescue"
	// Adjust changes what an instance has: its size while it is off, its metadata and tags in any state.
	Adjust Op = "adjust"
	// Fence cuts the power of the instance's whole host.
	Fence Op = "fence"
)

// Disruptive reports whether the operation can interrupt or destroy a running machine.
func (o Op) Disruptive() bool {
	return o == Reboot || o == SoftReboot || o == PowerOff || o == Delete || o == Rebuild || o == Evacuate ||
		o == Fence || o == Rescue
}

// End is how a call ended for the caller.
type End string

// The ends.
const (
	Done         End = ""
	Lost         End = "unknown-outcome" // the answer did not come in time, or not at all
	Transient    End = "transient"
	Throttled    End = "throttled"
	Quota        End = "quota"
	Unauthorised End = "unauthorised"
	Conflict     End = "conflict"
	Locked       End = "locked" // the provider's people keep everybody from the instance
	NotFound     End = "not-found"
	Permanent    End = "permanent"
	Invalid      End = "invalid"
	AlreadyOff   End = "already-off" // the host, before anybody ordered it
	IsCut        End = "cut"         // the host: it has its power, and no access to anything
	AlreadyCut   End = "already-cut" // and had none before anybody ordered it
)

// Call is one changing call.
type Call struct {
	Client string
	Op     Op
	// ID and Host name the instance; Name and Mark are what it is called, or what it must bear.
	ID, Host, Name string
	Mark           Mark
	// Disks are the kept ones that a created instance is to have; Made are those that there must be already.
	Disks, Made []string
	// Metadata and Tags are what a created instance is to bear, or one that is adjusted besides what it bears; Network,
	// Image and Size are its template's.
	Metadata, Tags, Network, Image string
	Size                           Size
	// Snapshot names the copy of disks.
	Snapshot string
	// Try counts those of a host that is to be fenced, from 1.
	Try int
	// Adopted says that the caller knows that the instance bears no mark.
	Adopted bool
	// Asks says that the caller asks the other hosts first. It excuses some from answering.
	Asks    bool
	Excused []string
	// Hook is the one that it runs, named with its moment; Repair is the work that it is part of, and Once says that it
	// must not be run twice.
	Hook, Repair string
	Once         bool
	// ForGood says of a delete that the machine is given up with its instance.
	ForGood bool
	// Swift says that it takes no time.
	Swift    bool
	question bool // it changes nothing
	// Sent is when it left the caller, At when it reached the provider.
	Sent, At time.Duration
	// Healthy says that the instance was healthy, and Serving that it served, when the call was sent. Both may be
	// untrue by the time it arrives.
	Healthy, Serving bool
	// Served is for how long it had served then, and Unseen says that the caller's probes could not reach it.
	Served time.Duration
	Unseen bool
	// Works says that it served when the call arrived, and Power is what it was then; empty: there was none.
	Works bool
	Power Power
	// Stranger says that the instance bears no mark, or another's, and Copied that the mark is a copy.
	Stranger, Copied bool
	// Certified is the instance's mark as it truly was.
	Certified bool
	Effect    bool // it changed the truth
	Robbed    bool // and took the disk from an instance that another host runs
	Again     bool // the provider did it twice
	Late      bool // it reached the provider much later than it was sent
	Dropped   bool // a move that ends half way
	End       End
}

// Client is one caller's connection with the provider.
type Client struct {
	Name string
	w    *World
	// news are the instances that changed since this client last heard of them all, in the order of change.
	news  []*VM
	noted map[*VM]bool
	// twins are the definitions of each id that has several, or had: a listing tells of all of them.
	twins map[string][]*VM
	// News is called when there is some after there was none; nil: none is wanted.
	News func()
	// Noted is called when another caller left a note, or a host shows its notes again that did not; nil: as above.
	Noted func()
}

// Patient is the limit of a caller that gives up by itself.
const Patient time.Duration = math.MaxInt64

// Caller returns a connection for a caller who is told no news.
func (w *World) Caller(name string) *Client { return &Client{Name: name, w: w} }

// Client opens a connection for the caller.
func (w *World) Client(name string) *Client {
	c := &Client{Name: name, w: w, noted: map[*VM]bool{}, twins: map[string][]*VM{}}
	for _, h := range w.order {
		for _, vm := range h.guests {
			c.note(vm)
		}
	}
	for id := range w.stayed {
		c.twins[id] = w.definitions(id)
	}
	w.clients = append(w.clients, c)
	return c
}

// Close ends the connection. Calls under way go on without anybody to answer.
func (c *Client) Close() {
	c.w.clients = slices.DeleteFunc(c.w.clients, func(o *Client) bool { return o == c })
}

func (c *Client) note(vm *VM) {
	if c.noted[vm] {
		return
	}
	c.noted[vm] = true
	c.news = append(c.news, vm)
	if c.News != nil && len(c.news) == 1 {
		c.News()
	}
}

// Behind reports whether something changed since this client last heard of everything.
func (c *Client) Behind() bool { return len(c.news) > 0 }

// Send sends a changing call that the caller waits for at most limit; answer is called once. Who gives up before takes
// a call back that did not arrive yet, unless it is one that is carried out late.
func (c *Client) Send(call Call, limit time.Duration, answer func(End)) (giveUp func()) {
	w := c.w
	call.Client, call.Sent = c.Name, w.Now()
	if vm := w.victim(call.ID, call.Host); vm != nil {
		if call.Unseen = w.cutFrom(c.Name, vm) && !w.severed(vm); vm.serving {
			call.Served = w.Now() - vm.since
		}
		call.Healthy, call.Serving = w.Healthy(vm), vm.serving
		call.Stranger, call.Copied = vm.Machine() == "" || !vm.knows(&call), vm.Copied()
		call.Certified = vm.Mark.Certified
	}
	if call.Op == Fence {
		call.Healthy = call.Healthy || w.healthyOn(call.Host) // everybody there is hit
	}
	w.Watch.Sent(&call)
	switch call.Op {
	case Run, Hook:
		w.command(c, call, limit, answer)
		return func() {}
	case Fence:
		w.cutPower(&call, limit, answer)
		return func() {}
	default:
	}
	return c.order(&call, limit, answer)
}

// order sends a call that goes by the provider.
func (c *Client) order(call *Call, limit time.Duration, answer func(End)) (giveUp func()) {
	w := c.w
	once := func(e End) {
		if answer != nil {
			answer(e)
			answer = nil
		}
	}
	if limit != Patient {
		w.After(limit, func() { once(Lost) })
	}
	takenBack := false
	giveUp = func() { answer, takenBack = nil, true }
	fate := w.fate(c, *call)
	call.Late, call.Dropped = fate.delay > 0, fate.halfway
	took := w.between(w.options.Latency, w.options.LatencyMost) + fate.delay
	if fate.fails != Done {
		w.After(took, func() { once(fate.fails) })
		return giveUp
	}
	var refused End
	if call.Asks && call.Late { // what is carried out late was asked for in time
		w.After((took-fate.delay)/2, func() { refused = w.elsewhere(c, call) })
	}
	arrive := func() {
		if takenBack && !fate.mute {
			return
		}
		if call.Asks && !call.Late {
			refused = w.elsewhere(c, call)
		}
		end := Done
		if !fate.vain {
			end = w.carryOut(c, call, refused)
		}
		if fate.twice {
			again := *call
			again.Again = true
			w.After(fate.again, func() { w.carryOut(c, &again, refused) })
		}
		switch {
		case fate.dropped:
			once(Lost)
		case !fate.mute:
			fate.after.when(func() { w.After(took-took/2, func() { once(end) }) })
		}
	}
	w.After(took/2+fate.later, func() { fate.before.when(arrive) })
	return giveUp
}

// carryOut lets the call reach the provider, unless its sender was refused before.
func (w *World) carryOut(c *Client, call *Call, refused End) End {
	call.At = w.Now()
	if vm := w.victim(call.ID, call.Host); vm != nil {
		call.Works, call.Power = vm.serving, vm.Power
	}
	switch h := w.hosts[call.Host]; {
	case refused != Done:
		call.End = refused
	case c.down() || h == nil || h.silentTo(c.Name) && call.Op != Evacuate:
		call.End = Transient
	case h.supplanted > 0:
		if call.Op != Create && call.Op != Delete {
			call.End = NotFound
		}
	default:
		call.Effect, call.End = w.do(call)
	}
	w.Watch.Acted(call)
	return call.End
}

// do executes the call and says whether it changed anything.
func (w *World) do(call *Call) (bool, End) {
	if call.Op == Create {
		return w.create(call)
	}
	if call.Op == DropSnapshot {
		return w.dropCopy(call)
	}
	if call.Op == Configure {
		return w.mend(call.ID), Done
	}
	vm := w.Definition(call.ID, call.Host)
	if vm == nil && w.vms[call.ID] != nil && (call.Op == Evacuate || call.Op == Migrate) {
		return false, Done // it has left
	}
	if vm == nil {
		if call.Op == Delete {
			return false, Done
		}
		return false, NotFound
	}
	if !vm.knows(call) || !vm.unmarked() && (vm.Mark.Machine != call.Mark.Machine ||
		vm.Mark.Generation != call.Mark.Generation) {
		return false, Conflict
	}
	return w.orderOn(vm, call)
}

// orderOn executes what may be ordered of an instance, unless that is locked.
func (w *World) orderOn(vm *VM, call *Call) (bool, End) {
	if vm.Locked() {
		return false, Locked
	}
	switch call.Op {
	case Snapshot:
		return w.copyDisks(vm, call)
	case Evacuate:
		return w.evacuate(vm, call)
	case Migrate:
		return w.migrate(vm, call)
	case Rescue:
		return w.rescue(vm)
	case Adjust:
		return w.adjust(vm, call)
	case Delete:
		return w.deleteDefinition(vm, call)
	default:
	}
	return w.actOn(vm, call)
}

// knows reports whether the caller is one who may touch the instance: of the installation that marked it, or the one
// that adopted an instance without a mark.
func (vm *VM) knows(call *Call) bool {
	if vm.unmarked() {
		return call.Adopted && call.Op != Certify
	}
	return !call.Adopted && vm.Mark.Installation == call.Mark.Installation
}

// unmarked reports whether no mark counts on the instance.
func (vm *VM) unmarked() bool { return vm.Mark.Unmarked || vm.Copied() }

// actOn executes an operation on an instance.
func (w *World) actOn(vm *VM, call *Call) (bool, End) {
	switch call.Op {
	case Start:
		switch {
		case vm.Mark.Kept, vm.Power == Crashed, vm.Power == Paused && vm.Stop == StopRescue:
			return false, Conflict
		case vm.Power == Running:
			return false, Done
		}
		w.setPower(vm, Running, StopUnknown)
	case Reboot:
		if !vm.on() && vm.Power != Crashed {
			return false, Conflict
		}
		w.reset(vm)
	case Resume:
		return w.resume(vm)
	case SoftReboot:
		return w.resetSoftly(vm)
	case PowerOff:
		if vm.Power == Off {
			return false, Done
		}
		w.setPower(vm, Off, StopExternal)
	case Rebuild:
		return w.rebuild(vm, 0)
	case Revert:
		return w.revert(vm, call)
	case Certify:
		if vm.Mark.Certified && vm.Mark.Instance == vm.ID {
			return false, Done
		}
		vm.Mark.Certified, vm.Mark.Instance = true, vm.ID
		w.refresh(vm)
	case Keep, Restore:
		return w.putAside(vm, call)
	// made elsewhere
	case Create, Delete, Run, Configure, Hook, Snapshot, DropSnapshot, Evacuate, Migrate, Rescue, Adjust, Fence, Get,
		List, Notes:
	}
	return true, Done
}

// command lets the caller execute a command for an instance. It goes over the network and not by the provider; one that
// takes longer than limit is killed. It goes on when the caller dies, and its answer is lost.
func (w *World) command(c *Client, call Call, limit time.Duration, answer func(End)) {
	took, fate := w.between(commandLeast, commandMost), w.Errands.Of(call.Hook)
	end := func() {
		call.At = w.Now()
		w.Watch.Acted(&call)
		answer(call.End)
	}
	if took > limit || fate == errand.Hangs {
		call.End = Permanent
		w.After(limit, end)
		return
	}
	w.After(took, func() {
		if fate == errand.Done || fate == errand.Unheard {
			call.Effect, call.End = w.apply(c, call.ID)
		}
		if call.Op == Hook { // whatever becomes of the instance
			call.End = End(fate)
		}
		end()
	})
}

// apply applies an instance's configuration again, where its caller gets to it.
func (w *World) apply(c *Client, id string) (bool, End) {
	vm := w.vms[id]
	if vm == nil || w.cutFrom(c.Name, vm) {
		return false, Permanent
	}
	return w.configure(vm)
}

// mend applies an instance's configuration again, if there is one, and reports whether that cured anything.
func (w *World) mend(id string) bool {
	vm := w.vms[id]
	if vm == nil {
		return false
	}
	effect, _ := w.configure(vm)
	return effect
}

// configure applies the instance's configuration again, where the network gets to it.
func (w *World) configure(vm *VM) (bool, End) {
	if !vm.pings() || w.severed(vm) {
		return false, Permanent
	}
	cured := vm.guest.Configure()
	w.refresh(vm)
	return cured, Done
}

// How long a command takes.
const (
	commandLeast = time.Second
	commandMost  = 20 * time.Second
)

// rebuild starts the instance with a mind as new as its disk, which was booted from so often.
func (w *World) rebuild(vm *VM, boots int) (bool, End) {
	if vm.Power != Off || vm.Mark.Kept {
		return false, Conflict
	}
	vm.guest.Heal()
	vm.DiskBoots = boots
	w.spoil(vm)
	w.setPower(vm, Running, StopUnknown)
	return true, Done
}

// spoil makes a new instance, or one with a new disk, as ill as its template is bad.
func (w *World) spoil(vm *VM) {
	for _, b := range w.builds {
		if (b.Machine == "" || b.Machine == vm.Mark.Machine) && (b.Image == "" || b.Image == vm.Image) &&
			(b.Host == "" || b.Host == vm.Host) && (b.Times == 0 || b.left > 0) {
			b.left--
			vm.guest.Spoil(b.ailment)
		}
	}
}

// resume lets a paused instance go on, unless a write to its disk would fail again.
func (w *World) resume(vm *VM) (bool, End) {
	switch {
	case vm.Power == Running:
		return false, Done
	case vm.Power != Paused || vm.Stop == StopIOError || vm.Stop == StopRescue:
		return false, Conflict
	}
	w.setPower(vm, Running, StopUnknown)
	return true, Done
}

// resetSoftly lets the guest reboot, if it listens.
func (w *World) resetSoftly(vm *VM) (bool, End) {
	switch {
	case vm.Power != Running:
		return false, Conflict
	case !vm.guest.Listens():
		return false, Done
	}
	w.reset(vm)
	return true, Done
}

// reset boots the instance anew without a moment of being off.
func (w *World) reset(vm *VM) {
	if vm.Power != Running {
		w.setPower(vm, Running, StopUnknown)
		if vm.guest.Booted { // it was only paused
			w.boot(vm)
			w.refresh(vm)
		}
		return
	}
	w.boot(vm)
	w.refresh(vm)
}

func (w *World) create(call *Call) (bool, End) {
	if w.vms[call.ID] != nil || w.names[place{call.Host, call.Name}] != nil {
		return false, Conflict
	}
	if w.missing(call) {
		return false, Invalid
	}
	vm := w.add(Status{ID: call.ID, Name: call.Name, Host: call.Host, Mark: call.Mark, Metadata: call.Metadata,
		Tags: call.Tags, Network: call.Network, Size: call.Size})
	vm.Image = call.Image
	w.attach(vm, call.Disks)
	w.spoil(vm)
	w.setPower(vm, Running, StopUnknown)
	return true, Done
}
