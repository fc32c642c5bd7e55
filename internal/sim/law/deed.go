package law

import (
	"cmp"
	"slices"
	"time"

	"hale/internal/sim/world"
)

// Deed is a call, with all that was true then and that a judge may want to know of it later.
type Deed struct {
	world.Call
	// Machine is the one that it is about, in its sender's word, or in truth where that names none.
	Machine string
	// Held says that its sender stood still between the reading of its lease and the sending.
	Held bool
	// Second says that its sender is a second hale, which knows nothing of what the first one does.
	Second bool
	// Looked is when hale last began to look at the instance: what was true before, it can have known.
	Looked time.Duration

	now      time.Duration
	there    bool // the host had a definition of the instance, as Status
	Status   world.Status
	halted   time.Duration     // when it was last paused
	unmarked bool              // the instance existed before hale
	current  bool              // it is the machine's, and off in a way that may be a person's
	disks    map[string]uint64 // the contents of the kept disks that it has, by name
}

// Saw writes down a call with what is true now.
func Saw(w *world.World, c *world.Call) *Deed {
	d := &Deed{Call: *c, Machine: c.Mark.Machine, now: w.Now()}
	if vm := w.VM(c.ID); vm != nil {
		d.unmarked, d.disks = vm.Mark.Unmarked, Disks(vm)
		if d.Machine == "" {
			d.Machine = vm.Mark.Machine
		}
	}
	if vm := w.Definition(c.ID, c.Host); vm != nil {
		d.there, d.Status = true, vm.Status
		d.halted, _ = vm.Halted()
	}
	if vm := w.Current(d.Machine); vm != nil && vm.ID == c.ID && vm.Power == world.Off {
		switch vm.Stop { // who did it, its host forgets when it boots
		case world.StopExternal, world.StopShutdown, world.StopUnknown:
			d.current = true
		default:
		}
	}
	return d
}

// Disks returns the contents of the kept disks that the instance has, by name.
func Disks(vm *world.VM) map[string]uint64 {
	out := map[string]uint64{}
	for _, d := range vm.Disks() {
		out[d.Name] = d.Content
	}
	return out
}

// Crowd is the instances of one machine that run, as they are at one moment.
type Crowd struct {
	Machine string
	N       int
	writers []writer
	shares  string // a disk that several of them write to
}

// writer is an instance that can write.
type writer struct {
	host string
	born time.Duration
}

// Count writes down that n instances of the machine run.
func Count(w *world.World, machine string, n int) *Crowd {
	c := &Crowd{Machine: machine, N: n}
	if n < 2 {
		return c
	}
	for _, vm := range w.All(machine) {
		if w.Writes(vm) {
			c.writers = append(c.writers, writer{vm.Host, vm.Born})
		}
		for _, d := range vm.Disks() {
			if d.Writers > 1 {
				c.shares = d.Name
			}
		}
	}
	return c
}

// Crowds writes down how many instances of each machine run now.
func Crowds(w *world.World) []*Crowd {
	var out []*Crowd
	for machine, n := range w.Running() {
		if machine != "" && n > 1 {
			out = append(out, Count(w, machine, n))
		}
	}
	slices.SortFunc(out, func(a, b *Crowd) int { return cmp.Compare(a.Machine, b.Machine) })
	return out
}

// TakesAway reports whether the operation ends what runs, or its disks.
func TakesAway(op world.Op) bool {
	return slices.Contains([]world.Op{world.PowerOff, world.Delete, world.Rebuild, world.Revert,
		world.Evacuate}, op)
}
