package world

import (
	"slices"
	"time"
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
	// Snapshot copies an instance's disks, and DropSnapshot removes a copy.
	Snapshot     Op = "snapshot"
	DropSnapshot Op = "drop-snapshot"
	// Evacuate starts an instance on another host, whose own is silent; Migrate moves one that runs.
	Evacuate Op = "evacuate"
	Migrate  Op = "migrate"
	// Rescue starts another system in an instance's place.
	Rescue Op = "rescue"
	// Fence cuts the power of the instance's whole host.
	Fence Op = "fence"
)

// Disruptive reports whether the operation can interrupt or destroy a running machine.
func (o Op) Disruptive() bool {
	return o == Reboot || o == SoftReboot || o == PowerOff || o == Delete || o == Rebuild || o == Evacuate || o == Fence || o == Rescue
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
	// Metadata is what a created instance is to bear.
	Metadata string
	// Snapshot names the copy of disks.
	Snapshot string
	// Try counts those of a host that is to be fenced, from 1.
	Try int
	// Adopted says that the caller knows that the instance bears no mark.
	Adopted bool
	// Asks says that the caller asks the other hosts first, of which it excuses some from answering.
	Asks    bool
	Excused []string
	// Sent is when it left the caller, At when it reached the provider.
	Sent, At time.Duration
	// Healthy says that the instance was healthy, and Serving that it served, when the call was sent. Both may be untrue
	// by the time it arrives.
	Healthy, Serving bool
	// Stranger says that the instance bears no mark, or another's, and Copied that the mark is a copy.
	Stranger, Copied bool
	// Certified is the instance's mark as it truly was.
	Certified bool
	Effect    bool // it changed the truth
	Robbed    bool // and took the disk from an instance that another host runs
	Again     bool // the provider did it twice
	Late      bool // it reached the provider much later than it was sent
	End       End
}

// Client is one caller's connection with the provider.
type Client struct {
	Name string
	w    *World
	// news are the instances that changed since this client last heard of them all, in the order of change.
	news  []*VM
	noted map[*VM]bool
	// twins are the definitions of each id of which there are several, or were: a listing tells of all of them.
	twins map[string][]*VM
	// News is called when there is some after there was none; nil: nobody listens.
	News func()
	// Noted is called when another caller left a note, or a host shows its notes again that did not; nil: as above.
	Noted func()
}

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

// Find looks for the instance in a complete listing, and says whether that shows other instances. It ends Transient when a
// host is silent: the instance may be there.
func (c *Client) Find(id string, limit time.Duration, answer func(s Status, shows func(id string) bool, e End)) {
	w := c.w
	shows := func(id string) bool { return w.vms[id] != nil && !w.emptied() }
	question(c, Call{Op: list}, limit, func(s Status, e End) { answer(s, shows, e) }, func() (Status, End) {
		silent := c.down()
		for _, h := range w.order {
			silent = silent || h.dark > 0
		}
		switch vm := w.vms[id]; {
		case silent:
			return Status{}, Transient
		case vm == nil || w.emptied():
			return Status{}, NotFound
		default:
			return vm.Status, Done
		}
	})
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

// Send sends a changing call that the caller waits for at most limit; answer is called once.
func (c *Client) Send(call Call, limit time.Duration, answer func(End)) {
	w := c.w
	call.Client, call.Sent = c.Name, w.now
	if vm := w.victim(call.ID, call.Host); vm != nil {
		call.Healthy, call.Serving = w.Healthy(vm), vm.serving
		call.Stranger, call.Copied = vm.Machine() == "" || !vm.knows(&call), vm.Copied()
		call.Certified = vm.Mark.Certified
	}
	if call.Op == Fence {
		call.Healthy = call.Healthy || w.healthyOn(call.Host) // everybody there is hit
	}
	if w.Watch != nil {
		w.Watch.Sent(&call)
	}
	switch call.Op {
	case Run:
		w.command(c, call, limit, answer)
		return
	case Fence:
		w.cutPower(call, limit, answer)
		return
	default:
	}
	once := func(e End) {
		if answer != nil {
			answer(e)
			answer = nil
		}
	}
	w.After(limit, func() { once(Lost) })
	fate := w.fate(c, call)
	call.Late = fate.delay > 0
	took := w.between(w.options.Latency, w.options.LatencyMost) + fate.delay
	if fate.fails != Done {
		w.After(took, func() { once(fate.fails) })
		return
	}
	var refused End
	if call.Asks && call.Late { // what is carried out late was asked for in time
		w.After((took-fate.delay)/2, func() { refused = w.elsewhere(c, &call) })
	}
	w.After(took/2, func() {
		if call.Asks && !call.Late {
			refused = w.elsewhere(c, &call)
		}
		end := w.carryOut(c, &call, refused)
		if fate.twice {
			again := call
			again.Again = true
			w.After(fate.again, func() { w.carryOut(c, &again, refused) })
		}
		if !fate.mute {
			w.After(took-took/2, func() { once(end) })
		}
	})
}

// carryOut lets the call reach the provider, unless its sender was refused before.
func (w *World) carryOut(c *Client, call *Call, refused End) End {
	call.At = w.now
	switch {
	case refused != Done:
		call.End = refused
	case c.down() || w.hosts[call.Host] == nil || w.hosts[call.Host].dark > 0 && call.Op != Evacuate:
		call.End = Transient
	default:
		call.Effect, call.End = w.do(call)
	}
	if w.Watch != nil {
		w.Watch.Acted(call)
	}
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
	if !vm.knows(call) || !vm.Mark.Unmarked && (vm.Mark.Machine != call.Mark.Machine || vm.Mark.Generation != call.Mark.Generation) {
		return false, Conflict
	}
	switch call.Op {
	case Snapshot:
		return w.copyDisks(vm, call)
	case Evacuate:
		return w.evacuate(vm)
	case Migrate:
		return w.migrate(vm)
	case Rescue:
		return w.rescue(vm)
	case Delete:
		return w.deleteDefinition(vm, call)
	default:
	}
	return w.actOn(vm, call.Op)
}

// knows reports whether the caller is one who may touch the instance: of the installation that marked it, or who adopted what nobody marked.
func (vm *VM) knows(call *Call) bool {
	if vm.Mark.Unmarked {
		return call.Adopted && call.Op != Certify
	}
	return !call.Adopted && vm.Mark.Installation == call.Mark.Installation
}

// actOn executes an operation on an instance.
func (w *World) actOn(vm *VM, op Op) (bool, End) {
	switch op {
	case Start:
		switch {
		case vm.Mark.Kept, vm.Power == Paused && vm.Stop == StopRescue:
			return false, Conflict
		case vm.on():
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
		return w.rebuild(vm)
	case Certify:
		vm.Mark.Certified = true
		w.refresh(vm)
	case Keep, Restore:
		return w.putAside(vm, op == Keep)
	// made elsewhere
	case Create, Delete, Run, Snapshot, DropSnapshot, Evacuate, Migrate, Rescue, Fence, get, list, Notes:
	}
	return true, Done
}

// command lets the caller execute a command for an instance. It goes over the network and not by the provider; one that takes longer
// than limit is killed. It goes on when the caller dies, and answers nobody.
func (w *World) command(c *Client, call Call, limit time.Duration, answer func(End)) {
	took := w.between(commandLeast, commandMost)
	if took > limit {
		w.After(limit, func() { answer(Permanent) })
		return
	}
	w.After(took, func() {
		call.At = w.now
		vm := w.vms[call.ID]
		if vm == nil || !vm.pings() || w.cutFrom(c.Name, vm) || w.severed(vm) {
			call.End = Permanent
		} else {
			n := len(vm.ills)
			vm.ills = slices.DeleteFunc(vm.ills, func(i *illness) bool { return i.Config })
			call.Effect = len(vm.ills) < n
			w.refresh(vm)
		}
		if w.Watch != nil {
			w.Watch.Acted(&call)
		}
		answer(call.End)
	})
}

// How long a command takes.
const (
	commandLeast = time.Second
	commandMost  = 20 * time.Second
)

// rebuild starts the instance with a mind as new as its disk.
func (w *World) rebuild(vm *VM) (bool, End) {
	if vm.Power != Off || vm.Mark.Kept {
		return false, Conflict
	}
	vm.ills = nil
	w.spoil(vm)
	w.setPower(vm, Running, StopUnknown)
	return true, Done
}

// spoil makes a new instance, or one with a new disk, as ill as its template is bad.
func (w *World) spoil(vm *VM) {
	for _, b := range w.builds {
		if b.machine == "" || b.machine == vm.Mark.Machine {
			vm.ills = append(vm.ills, &illness{Ailment: b.ailment})
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
	case !vm.listens():
		return false, Done
	}
	w.reset(vm)
	return true, Done
}

// reset boots the instance anew without a moment of being off.
func (w *World) reset(vm *VM) {
	if vm.Power != Running {
		w.setPower(vm, Running, StopUnknown)
		if vm.booted { // it was only paused
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
	vm := w.add(Status{ID: call.ID, Name: call.Name, Host: call.Host, Mark: call.Mark, Metadata: call.Metadata})
	w.attach(vm, call.Disks)
	w.spoil(vm)
	w.setPower(vm, Running, StopUnknown)
	return true, Done
}

// question is one that changes nothing: find answers it when it reached the provider, unless the caller gave up before. The answer
// comes once; Transient after limit.
func question[T any](c *Client, call Call, limit time.Duration, answer func(T, End), find func() (T, End)) {
	w := c.w
	var none T
	over := false
	once := func(v T, e End) {
		if !over {
			over = true
			answer(v, e)
		}
	}
	w.After(limit, func() { once(none, Transient) })
	fate := w.fate(c, call)
	w.After(w.between(w.options.Latency, w.options.LatencyMost)+fate.delay, func() {
		switch {
		case over:
		case fate.fails != Done:
			once(none, fate.fails)
		default:
			once(find())
		}
	})
}

// Get asks for one instance. It is not found when the host answered and has none.
func (c *Client) Get(id, host string, limit time.Duration, answer func(Status, End)) {
	w := c.w
	question(c, Call{Op: get, ID: id, Host: host}, limit, answer, func() (Status, End) {
		h, vm := w.hosts[host], w.Definition(id, host)
		switch {
		case c.down() || h == nil || h.dark > 0:
			return Status{}, Transient
		case vm == nil:
			return Status{}, NotFound
		default:
			return vm.Status, Done
		}
	})
}

// The reading operations, for faults that select by operation.
const (
	get  Op = "get"
	list Op = "list"
	// Notes is to read the notes on all hosts, or to leave one: faults of what changes machines do not hit it.
	Notes Op = "notes"
)

// Listing is an answer to List: equal to a complete list, told as what changed since the client's last one.
type Listing struct {
	Dark map[string]bool // hosts that did not answer
	// Changed has all mentions of each id that changed, one per host that shows it; Removed the ids that no host shows any more.
	Changed []Status
	Removed []string
}

// List asks for everything.
func (c *Client) List(limit time.Duration, answer func(Listing, End)) {
	question(c, Call{Op: list}, limit, answer, c.listing)
}

// listing composes the answer. What lies on silent hosts, and what a stale answer hides, stays news.
func (c *Client) listing() (Listing, End) {
	w := c.w
	l := Listing{Dark: map[string]bool{}}
	for _, h := range w.order {
		if h.dark > 0 {
			l.Dark[h.Name] = true
		}
	}
	if c.down() || len(l.Dark) == len(w.order) {
		return Listing{}, Transient
	}
	if w.emptied() {
		return c.emptyListing(l), Done
	}
	as := w.now - w.staleness()
	if as < w.now {
		w.forget()
		for _, vm := range w.recent {
			c.note(vm)
		}
	}
	var later []*VM
	for _, vm := range c.news {
		s, there := vm.asOf(as)
		switch {
		case l.Dark[vm.Host]:
			later = append(later, vm)
			continue
		case there:
			l.Changed = append(l.Changed, s)
		default:
			l.Removed = append(l.Removed, vm.ID)
		}
		if as < w.now && vm.history[len(vm.history)-1].at > as {
			later = append(later, vm)
		}
	}
	c.news = later
	clear(c.noted)
	for _, vm := range later {
		c.noted[vm] = true
	}
	if len(c.twins) > 0 {
		c.mention(&l, as)
	}
	return l, Done
}

// emptyListing is a lie in which nothing exists.
func (c *Client) emptyListing(l Listing) Listing {
	for _, h := range c.w.order {
		for _, vm := range h.guests {
			l.Removed = append(l.Removed, vm.ID)
			c.note(vm)
		}
	}
	return l
}

// forget drops from recent what no stale listing can still be wrong about.
func (w *World) forget() {
	w.recent = slices.DeleteFunc(w.recent, func(vm *VM) bool {
		old := w.now-vm.history[len(vm.history)-1].at > memory
		if old {
			vm.listed = false
		}
		return old
	})
}
