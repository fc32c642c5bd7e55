package world

import (
	"cmp"
	"slices"
	"time"
)

// Ask asks a question that changes nothing: find answers it when it reached the provider, unless the caller gave up
// before. The answer comes once; Transient after limit.
func Ask[T any](c *Client, call Call, limit time.Duration, answer func(T, End), find func() (T,
	End)) (giveUp func()) {
	w := c.w
	var none T
	over := false
	call.question = true
	once := func(v T, e End) {
		if !over {
			over = true
			answer(v, e)
		}
	}
	if limit != Patient {
		w.After(limit, func() { once(none, Transient) })
	}
	fate := w.fate(c, call)
	took := w.between(w.options.Latency, w.options.LatencyMost)
	if call.Swift {
		took = 0
	}
	arrive := func() {
		switch {
		case over:
		case fate.fails != Done:
			once(none, fate.fails)
		default:
			v, end := find()
			fate.after.when(func() { once(v, end) })
		}
	}
	w.After(took+fate.delay+fate.later, func() { fate.before.when(arrive) })
	return func() { over = true }
}

// reads reports whether the call changes nothing.
func (c *Call) reads() bool { return c.question || c.Op == Notes }

// Get asks for one instance. It is not found when the host answered and has none.
func (c *Client) Get(id, host string, limit time.Duration, answer func(Status, End)) {
	w := c.w
	Ask(c, Call{Op: Get, ID: id, Host: host}, limit, answer, func() (Status, End) {
		vm := w.Definition(id, host)
		switch {
		case !w.Reaches(c.Name, host):
			return Status{}, Transient
		case vm == nil || w.Supplanted(host):
			return Status{}, NotFound
		default:
			return vm.Status, Done
		}
	})
}

// The reading operations, for faults that select by operation.
const (
	Get  Op = "get"
	List Op = "list"
	// Notes is to read the notes on all hosts, or to leave one: faults of what changes machines do not hit it.
	Notes Op = "notes"
)

// Listing is an answer to List: equal to a complete list, told as what changed since the client's last one.
type Listing struct {
	Dark map[string]bool // hosts that did not answer
	// Changed has all mentions of each id that changed, one per host that shows it; Removed the ids that no host
	// shows any more.
	Changed []Status
	Removed []string
}

// List asks for everything.
func (c *Client) List(limit time.Duration, answer func(Listing, End)) {
	Ask(c, Call{Op: List}, limit, answer, c.listing)
}

// listing composes the answer. What lies on silent hosts, and what a stale answer hides, stays news.
func (c *Client) listing() (Listing, End) {
	w := c.w
	l := Listing{Dark: map[string]bool{}}
	for _, h := range w.order {
		if h.silentTo(c.Name) {
			l.Dark[h.Name] = true
		}
	}
	if c.down() || len(l.Dark) == len(w.order) {
		return Listing{}, Transient
	}
	if w.emptied() {
		return c.emptyListing(l), Done
	}
	as := w.Now() - w.staleness()
	if as < w.Now() {
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
		if as < w.Now() && vm.history[len(vm.history)-1].at > as {
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

// Survey returns all that a listing shows now, in the order of hosts. Those that do not answer are for the caller to
// know.
func (c *Client) Survey() []Status {
	w := c.w
	w.forget()
	if w.emptied() {
		return nil
	}
	as := w.Now() - w.staleness()
	all := slices.DeleteFunc(slices.Clone(w.recent), func(vm *VM) bool { return vm.Power != Gone })
	for _, h := range w.order {
		all = append(all, h.guests...)
	}
	var out []Status
	for _, vm := range all {
		s, there := vm.asOf(as)
		if there && w.Reaches(c.Name, s.Host) && !w.Supplanted(s.Host) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return out
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
		old := w.Now()-vm.history[len(vm.history)-1].at > memory
		if old {
			vm.listed = false
		}
		return old
	})
}

// Find looks for the instance in a complete listing, and says whether that shows other instances. It ends Transient
// when a host is silent: the instance may be there.
func (c *Client) Find(id string, limit time.Duration, answer func(s Status, shows func(id string) bool, e End)) {
	w := c.w
	shows := func(id string) bool { return w.vms[id] != nil && !w.emptied() }
	Ask(c, Call{Op: List}, limit, func(s Status, e End) { answer(s, shows, e) }, func() (Status, End) {
		silent := c.down()
		for _, h := range w.order {
			silent = silent || h.silentTo(c.Name)
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
