// Package powercut is a disk that loses what was not synced when its power is cut, as a file system that processes can
// use (FUSE). It is for tests of what keeps data.
//
// It promises:
//
//   - What a file held when fsync or fdatasync of it returned is there after a cut. Of what was written since, the cut
//     leaves nothing, or a part: Loss says which.
//   - A name that was made, given another file or taken away is so after a cut once its folder was synced. Before that
//     it is as it was then, or as it was at a moment since.
//   - From the cut on nothing is read, written or acknowledged: who asks waits until the power is back, and fails then.
//     So a process can be killed that has noticed nothing.
//
// Everything lies in memory. There are no links, no rights and no times: whoever needs them must not use it.
package powercut

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
)

// Loss is what a cut does to what was not synced.
type Loss int

// The losses.
const (
	// All of it is lost.
	All Loss = iota
	// Torn: what was written first is there, up to the end of a sector in the middle of a write.
	Torn
	// Scattered: each sector is there or not, in no order.
	Scattered
)

func (l Loss) String() string { return [...]string{"all", "torn", "scattered"}[l] }

// number names a file or folder.
type number uint64

const root number = 1

// renaming is one change of the names in a folder: what each of them leads to from then on, or 0.
type renaming map[string]number

// item is a file or a folder.
type item struct {
	*content                   // nil: it is a folder
	names    map[string]number // as they are read
	synced   map[string]number // as they were when the folder was synced
	changes  []renaming        // since then
}

// Disk is one. Its methods may be called at the same time.
type Disk struct {
	mu    sync.Mutex
	items map[number]*item
	last  number
	off   chan struct{} // closed when the power is back; nil: it is on
	full  bool
	syncs int
}

// New returns an empty one.
func New() *Disk {
	return &Disk{items: map[number]*item{root: newFolder()}, last: root}
}

func newFolder() *item { return &item{names: map[string]number{}, synced: map[string]number{}} }

// Fill has the disk be full: what needs room fails.
func (d *Disk) Fill() { d.fill(true) }

// Empty has it have room again.
func (d *Disk) Empty() { d.fill(false) }

func (d *Disk) fill(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// Syncs is how often something was synced so far.
func (d *Disk) Syncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

// Cut cuts the power. What the disk holds from now on is what it will hold when the power is back.
func (d *Disk) Cut(l Loss, dice *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = make(chan struct{})
	for _, n := range slices.Sorted(maps.Keys(d.items)) { // by number, so that a seed means the same each time
		if i := d.items[n]; i.content != nil {
			i.lose(l, dice)
		} else {
			i.forget(l, dice)
		}
	}
	d.sweep()
}

// forget takes back names that were not synced, but for the first of them where the loss lets some through.
func (i *item) forget(l Loss, dice *rand.Rand) {
	i.names = maps.Clone(i.synced)
	if l != All {
		for _, r := range i.changes[:dice.IntN(len(i.changes)+1)] {
			i.apply(r)
		}
	}
	i.sync()
}

func (i *item) apply(r renaming) {
	for name, to := range r {
		if to == 0 {
			delete(i.names, name)
		} else {
			i.names[name] = to
		}
	}
}

func (i *item) sync() {
	if i.content != nil {
		i.content.sync()
		return
	}
	i.synced, i.changes = maps.Clone(i.names), nil
}

// sweep forgets what no name leads to. Nothing is open: those who had it so are gone.
func (d *Disk) sweep() {
	reached := map[number]int{root: 1}
	var walk func(*item)
	walk = func(i *item) {
		for _, n := range i.names {
			if reached[n]++; reached[n] == 1 {
				walk(d.items[n])
			}
		}
	}
	walk(d.items[root])
	maps.DeleteFunc(d.items, func(n number, _ *item) bool { return reached[n] == 0 })
}

// restore brings the power back. Those who wait fail.
func (d *Disk) restore() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off != nil {
		close(d.off)
		d.off = nil
	}
}

// use runs what needs power.
func (d *Disk) use(n number, f func(*item) syscall.Errno) syscall.Errno {
	d.mu.Lock()
	if off := d.off; off != nil {
		d.mu.Unlock()
		<-off
		return syscall.EIO
	}
	defer d.mu.Unlock()
	i := d.items[n]
	if i == nil {
		return syscall.EIO // what held it open was there before a cut
	}
	return f(i)
}

// rename notes that names in a folder lead elsewhere.
func (i *item) rename(r renaming) {
	i.changes = append(i.changes, r)
	i.apply(r)
}

// enter makes a new thing under a name in the folder.
func (d *Disk) enter(in number, name string, what *item) (made number, err syscall.Errno) {
	err = d.use(in, func(folder *item) syscall.Errno {
		switch {
		case folder.names[name] != 0:
			return syscall.EEXIST
		case d.full:
			return syscall.ENOSPC
		}
		d.last++
		made = d.last
		d.items[made] = what
		folder.rename(renaming{name: made})
		return 0
	})
	return made, err
}

// remove takes a name away. What it led to is forgotten at the next cut only.
func (d *Disk) remove(in number, name string) syscall.Errno {
	return d.use(in, func(folder *item) syscall.Errno {
		n := folder.names[name]
		switch {
		case n == 0:
			return syscall.ENOENT
		case len(d.items[n].names) > 0:
			return syscall.ENOTEMPTY
		}
		folder.rename(renaming{name: 0})
		return 0
	})
}

// move gives a thing another name, in place of what had it.
func (d *Disk) move(from number, name string, to number, newName string) syscall.Errno {
	return d.use(from, func(source *item) syscall.Errno {
		n, target := source.names[name], d.items[to]
		switch {
		case n == 0 || target == nil:
			return syscall.ENOENT
		case source == target:
			source.rename(renaming{name: 0, newName: n})
		default:
			target.rename(renaming{newName: n})
			source.rename(renaming{name: 0})
		}
		return 0
	})
}
