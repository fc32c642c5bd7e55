package simulated

import (
	"slices"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
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
	Machine  fleet.MachineName // whose instance it is by its mark, or was to become
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

type life = Life

// copies counts a machine's running instances that can write.
type copies struct{ now, most int }

// RunningCopies returns how many instances of the machine are powered on and can write, paused ones included (L1).
func (w *World) RunningCopies(m fleet.MachineName) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.machine[m].now
}

// MaxRunningCopies returns the greatest number that RunningCopies ever had. Law L1 holds when it is at most 1.
func (w *World) MaxRunningCopies(m fleet.MachineName) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.machine[m].most
}

// Machines returns every machine that ever had a running instance with a mark, sorted.
func (w *World) Machines() []fleet.MachineName {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []fleet.MachineName
	for name := range w.machine {
		if name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Lives returns every instance that ever was, in order of creation.
func (w *World) Lives() []Life {
	w.mu.Lock()
	defer w.mu.Unlock()
	lives := make([]Life, 0, len(w.lives))
	for _, l := range w.lives {
		c := *l
		c.Runs = slices.Clone(l.Runs)
		lives = append(lives, c)
	}
	return lives
}

// Calls returns every changing call that reached the provider, oldest first.
func (w *World) Calls() []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// Harm returns the disruptive calls that hit an instance that was healthy by truth: outside wanted changes, none may.
func (w *World) Harm() []Call {
	return slices.DeleteFunc(w.Calls(), func(c Call) bool { return !c.Op.Disruptive() || !c.Effect || !c.Healthy })
}

// Healthy reports whether the instance is healthy by truth: it booted, is on the network and serves HTTP.
func (w *World) Healthy(id fleet.InstanceID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	g, ok := w.guests[id]
	return ok && g.healthy(time.Now())
}

// Instance returns the machine's instance as it truly is, and whether there is one; of several, the latest generation. One that was put
// aside is none.
func (w *World) Instance(m fleet.MachineName) (fleet.Instance, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var best *guest
	for _, g := range w.guests {
		if g.bears().Machine == m && !g.mark.Kept && (best == nil || g.mark.Generation > best.mark.Generation) {
			best = g
		}
	}
	if best == nil {
		return fleet.Instance{}, false
	}
	return best.report(best.state, time.Now()), true
}

// Guest returns the instance as it truly is, and whether there is one.
func (w *World) Guest(id fleet.InstanceID) (fleet.Instance, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g, ok := w.guests[id]
	if !ok {
		return fleet.Instance{}, false
	}
	return g.report(g.state, time.Now()), true
}

func (w *World) born(g *guest, now time.Time) {
	g.life = &life{ID: g.id, Host: g.host, Name: g.name, Mark: g.mark, Created: now}
	w.lives = append(w.lives, g.life)
}

func (w *World) died(g *guest, now time.Time) { g.life.Removed = now }

// count books that the guest was powered on or off.
func (w *World) count(g *guest, now time.Time) {
	if g.on() {
		g.life.Runs = append(g.life.Runs, Run{From: now})
	} else {
		g.life.Runs[len(g.life.Runs)-1].To = now
	}
	w.recount(g)
}

// recount books that the guest can write, or can no more: it is powered on, and its host is not cut from all there is.
func (w *World) recount(g *guest) {
	if writes := g.on() && !w.apart(g.host); writes == g.writes {
		return
	}
	machine := g.bears().Machine
	c := w.machine[machine]
	if g.writes = !g.writes; g.writes {
		c.now++
		g.write(1)
	} else {
		c.now--
		g.write(-1)
	}
	c.most = max(c.most, c.now)
	w.machine[machine] = c
}
