package simulated

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/sim/guest"
	"hale/internal/sim/world"
)

// Life is one instance from creation to removal.
type Life struct {
	ID      fleet.InstanceID
	Host    fleet.HostName
	Name    string
	Mark    fleet.Mark // as it was created
	Image   string     // of the template that it was built from
	Created time.Time
	Removed time.Time // zero: it exists
	Runs    []Run     // oldest first
	Boots   int
	// DiskBoots are those from its present disk.
	DiskBoots int
}

// Run is a time during which an instance was powered on, reboots included.
type Run struct {
	From time.Time
	To   time.Time // zero: it runs
}

// Call is one changing call that reached the provider.
type Call struct {
	At       time.Time
	Sent     time.Time // when it left the client
	Client   string    // who opened the handle
	Op       fleet.Op
	ForGood  bool // of a delete: the machine is given up with it
	Instance fleet.InstanceID
	Host     fleet.HostName
	Machine  fleet.MachineName // that owns the instance by its mark, or was to
	// Effect says that the call changed the truth.
	Effect bool
	// Healthy says that the instance was healthy, by truth, at the moment of the call.
	Healthy bool
	// Power is the instance's true state when the call came; empty: there was none.
	Power fleet.Power
	// Served is for how long the instance had been healthy, by truth, when the call was sent; 0: it was not.
	Served time.Duration
	// Unseen says that the client's probes could not reach the instance then, wherever it served (OutOfSight).
	Unseen bool
	// Again says that this is an injected repetition of an earlier call.
	Again bool
	// Kind is how the provider itself ended it, whatever answer reached the caller; empty: well.
	Kind fault.Kind
}

// life is a Life under way.
type life struct {
	Life
	of *world.VM
}

// witness writes down what becomes true. The world is locked meanwhile.
type witness struct {
	world.Deaf
	w *World
}

// Sent implements world.Watcher.
func (o witness) Sent(c *world.Call) { o.w.judge.Sent(c) }

// Serving implements world.Watcher.
func (o witness) Serving(vm *world.VM) { o.w.judge.Serving(vm) }

// Acted implements world.Watcher.
func (o witness) Acted(c *world.Call) {
	w := o.w
	w.judge.Acted(c)
	if c.Op != world.Evacuate && !w.truth.Reaches(c.Client, c.Host) {
		return
	}
	op := fleet.Op(c.Op)
	if c.Op == world.Configure {
		op = fleet.Op(world.Run)
	}
	w.calls = append(w.calls, Call{
		At: w.at(c.At), Sent: w.at(c.Sent), Client: c.Client, Op: op, ForGood: c.ForGood,
		Instance: fleet.InstanceID(c.ID),
		Host:     fleet.HostName(c.Host), Machine: fleet.MachineName(c.Mark.Machine),
		Effect: c.Effect, Healthy: c.Works,
		Power: fleet.Power(c.Power), Served: c.Served, Unseen: c.Unseen, Again: c.Again, Kind: kindOf(c.End),
	})
}

// Host implements world.Watcher: those who watch look again.
func (o witness) Host(name, client string) { o.w.lookAgain(fleet.HostName(name), client) }

// Copies implements world.Watcher.
func (o witness) Copies(machine string, n int) {
	o.w.judge.Copies(machine, n)
	m := fleet.MachineName(machine)
	o.w.most[m] = max(o.w.most[m], n)
}

// Power implements world.Watcher.
func (o witness) Power(vm *world.VM) {
	w := o.w
	now := w.at(w.truth.Now())
	l := w.living[vm]
	if l == nil {
		i := instanceOf(vm.Status)
		l = &life{Life{ID: i.ID, Host: i.Host, Name: i.Name, Mark: i.Mark, Image: vm.Image, Created: now}, vm}
		w.living[vm] = l
		w.lives = append(w.lives, l)
	}
	runs := len(l.Runs) > 0 && l.Runs[len(l.Runs)-1].To.IsZero()
	switch on := vm.Power == world.Running || vm.Power == world.Paused; {
	case on && !runs:
		l.Runs = append(l.Runs, Run{From: now})
	case !on && runs:
		l.Runs[len(l.Runs)-1].To = now
	}
	if vm.Power == world.Gone {
		l.Removed = now
		delete(w.living, vm)
	}
	w.tell(vm)
}

// Address implements world.Watcher: connections end with what they lead to.
func (o witness) Address(a netip.Addr) {
	for c := range o.w.conns[a] {
		switch h := o.w.truth.Hear("", a); {
		case h.Ping != guest.Well || c.guest.Lease() != a:
			o.w.forget(c)
			c.abandon()
		case h.TCP == guest.Refused:
			o.w.forget(c)
			_ = c.Close() // a pipe's Close cannot fail
		}
	}
}

// RunningCopies returns how many instances of the machine are powered on and can write, paused ones included (L1).
func (w *World) RunningCopies(m fleet.MachineName) (n int) {
	w.do(func(t *world.World) { n = t.Running()[string(m)] })
	return n
}

// MaxRunningCopies returns the greatest number that RunningCopies ever had. Law L1 holds when it is at most 1.
func (w *World) MaxRunningCopies(m fleet.MachineName) (n int) {
	w.do(func(*world.World) { n = w.most[m] })
	return n
}

// Machines returns every machine that ever had a running instance with a mark, sorted.
func (w *World) Machines() (names []fleet.MachineName) {
	w.do(func(*world.World) {
		for name := range w.most {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names
}

// Lives returns every instance that ever was, in order of creation.
func (w *World) Lives() []Life {
	lives := []Life{}
	w.do(func(*world.World) {
		for _, l := range w.lives {
			c := l.Life
			c.Runs, c.Boots, c.DiskBoots = slices.Clone(l.Runs), l.of.Boots, l.of.DiskBoots
			lives = append(lives, c)
		}
	})
	return lives
}

// Calls returns every changing call that reached the provider, oldest first.
func (w *World) Calls() (calls []Call) {
	w.do(func(*world.World) { calls = slices.Clone(w.calls) })
	return calls
}

// Harm returns the disruptive calls that hit an instance that was healthy by truth: outside wanted changes, none may.
func (w *World) Harm() []Call {
	return slices.DeleteFunc(w.Calls(), func(c Call) bool { return !c.Op.Disruptive() || !c.Effect || !c.Healthy })
}

// Healthy reports whether the instance is healthy by truth: it booted, is on the network and serves HTTP.
func (w *World) Healthy(id fleet.InstanceID) bool {
	return w.onVM(id, "", func(_ *world.World, vm *world.VM) bool { return vm.Serving() })
}

// Instance returns the machine's instance as it truly is, and whether there is one; of several, the latest generation.
// One that was put aside is none.
func (w *World) Instance(m fleet.MachineName) (i fleet.Instance, ok bool) {
	w.do(func(t *world.World) {
		var best *world.VM
		for _, vm := range t.All(string(m)) {
			if !vm.Mark.Kept && t.VM(vm.ID) == vm && (best == nil || vm.Mark.Generation > best.Mark.Generation) {
				best = vm
			}
		}
		if ok = best != nil; ok {
			i = instanceOf(best.Status)
		}
	})
	return i, ok
}

// Guest returns the instance as it truly is, and whether there is one.
func (w *World) Guest(id fleet.InstanceID) (i fleet.Instance, ok bool) {
	ok = w.onVM(id, "", func(_ *world.World, vm *world.VM) bool {
		i = instanceOf(vm.Status)
		return true
	})
	return i, ok
}

// Disks returns the kept disks that there are, by machine and name.
func (w *World) Disks() (disks []world.Disk) {
	w.do(func(t *world.World) { disks = t.KeptDisks() })
	return disks
}

// Attached returns the contents of the kept disks that the instance has, by name.
func (w *World) Attached(id fleet.InstanceID) map[string]uint64 {
	out := map[string]uint64{}
	w.onVM(id, "", func(_ *world.World, vm *world.VM) bool {
		for _, d := range vm.Disks() {
			out[d.Name] = d.Content
		}
		return true
	})
	return out
}

// DiskCopy is a copy of an instance's disk, as it truly is: it belongs to no instance.
type DiskCopy struct {
	fleet.SnapshotName
	Instance fleet.InstanceID
	// Boots is how often the disk had been booted from.
	Boots int
}

// snapshotID is the name that the truth has for the copy: two installations may name theirs alike.
func snapshotID(name fleet.SnapshotName) string {
	return string(name.Installation) + "/" + string(name.ID)
}

// Snapshots returns the copies that there are, by machine and name.
func (w *World) Snapshots() (copies []DiskCopy) {
	w.do(func(t *world.World) {
		for _, c := range t.DiskCopies() {
			installation, id, _ := strings.Cut(c.ID, "/")
			copies = append(copies, DiskCopy{
				fleet.SnapshotName{
					Installation: fleet.Installation(installation), Machine: fleet.MachineName(c.Machine),
					Host: fleet.HostName(c.Host),
					ID:   fleet.SnapshotID(id),
				},
				fleet.InstanceID(c.Instance), c.Boots,
			})
		}
	})
	return copies
}

// find is the instance of a fault. The caller holds the world's lock.
func (w *World) find(id fleet.InstanceID) (*world.VM, error) {
	vm := w.truth.VM(string(id))
	if vm == nil {
		return nil, fault.New(fault.NotFound, "simulated.inject", string(id), nil)
	}
	return vm, nil
}
