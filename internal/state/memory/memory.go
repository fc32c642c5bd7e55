// Package memory is the in-memory twin of the state store: it obeys the same conformance
// suite as the real one, and does on request what the real one does on bad days.
//
// A Backing is the store itself; it outlives its users as a disk would. Each engine has a
// Store of its own on it, with faults of its own, so that rivals and restarts can be tested.
//
// It promises to take time from package time only, to start no goroutine but one per granted
// lease (which ends with the context given to Grant), and never to hold a mutex while it
// waits, so that it works inside testing/synctest bubbles. It promises no durability.
package memory

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// Options shape a Backing. The zero value is usable.
type Options struct {
	// History is how many events are at least kept for watches; by default 100,000. Older
	// ones are compacted.
	History int
	// ExpireLate, if set, tells how long after its time a lease is expired, as a real store
	// after a change of its leader. It is called under the store's lock: it must not block.
	ExpireLate func(state.LeaseID) time.Duration
}

// Backing holds the data. It is safe for concurrent use.
type Backing struct {
	opts Options

	mu        sync.Mutex
	revision  int64
	keys      []string // sorted
	entries   map[string]state.Entry
	leases    map[state.LeaseID]*lease
	lastLease state.LeaseID
	history   []state.Event // in order
	compacted int64         // events up to and including this revision are gone
	changed   chan struct{} // closed at the next change; nil without a waiting call
}

// lease is the store's side of a lease.
type lease struct {
	ttl     time.Duration
	expires time.Time
	timer   *time.Timer
}

// New makes an empty store.
func New(opts Options) *Backing {
	if opts.History <= 0 {
		opts.History = 100_000
	}
	return &Backing{
		opts:     opts,
		revision: 1, // as etcd, so that 0 is never the revision of anything
		entries:  make(map[string]state.Entry),
		leases:   make(map[state.LeaseID]*lease),
	}
}

// Copy returns a store that holds what this one does, as the copy of a data folder that is started elsewhere: without
// leases, without what hangs on them, and without any history.
func (b *Backing) Copy() *Backing {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := New(b.opts)
	c.revision, c.compacted, c.lastLease = b.revision, b.revision, b.lastLease
	for _, key := range b.keys {
		if e := b.entries[key]; e.Lease == 0 {
			c.keys = append(c.keys, key)
			c.entries[key] = clone(e)
		}
	}
	return c
}

// Compact forgets all history up to now: a watch that has not yet seen it, ends.
func (b *Backing) Compact() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.compact(len(b.history))
	b.wake()
}

// RevokeAll ends every lease, as a lone server does with those of its predecessor.
func (b *Backing) RevokeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := make([]state.LeaseID, 0, len(b.leases))
	for id := range b.leases {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		b.drop(id)
	}
}

func (b *Backing) get(key string) (state.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.entries[key]
	if !ok {
		return state.Entry{}, fault.New(fault.NotFound, "state.get", key, nil)
	}
	return clone(e), nil
}

func (b *Backing) list(prefix string) ([]state.Entry, int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []state.Entry
	for _, key := range b.between(prefix, state.PrefixEnd(prefix)) {
		found = append(found, clone(b.entries[key]))
	}
	return found, b.revision
}

func (b *Backing) commit(txn state.Txn) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range txn.Compares() {
		if !b.holds(c) {
			return 0, fault.New(fault.Conflict, "state.commit", c.Key, nil)
		}
	}
	for _, w := range txn.Then {
		if _, ok := b.leases[w.Lease]; w.Lease != 0 && !ok {
			return 0, fault.New(fault.LeaseLost, "state.commit", w.Key, nil)
		}
	}
	var events []state.Event
	for _, w := range txn.Then {
		events = append(events, b.apply(w, b.revision+1)...)
	}
	b.record(events)
	return b.revision, nil
}

// holds tells whether the compare holds now.
func (b *Backing) holds(c state.Compare) bool {
	e, ok := b.entries[c.Key] // Revision and Lease are 0 if there is none
	if c.Lease == 0 {
		return e.Revision == c.Revision
	}
	return ok && e.Lease == c.Lease && (c.Revision == 0 || e.Revision == c.Revision)
}

// apply does one write at the revision and returns its events.
func (b *Backing) apply(w state.Write, revision int64) []state.Event {
	switch w.Action {
	case state.ActionPut:
		if i, ok := slices.BinarySearch(b.keys, w.Key); !ok {
			b.keys = slices.Insert(b.keys, i, w.Key)
		}
		e := clone(state.Entry{Key: w.Key, Value: w.Value, Revision: revision, Lease: w.Lease})
		b.entries[w.Key] = e
		return []state.Event{{Entry: e}}
	case state.ActionDelete:
		if _, ok := b.entries[w.Key]; ok {
			return b.remove([]string{w.Key}, revision)
		}
	case state.ActionDeleteRange:
		return b.remove(slices.Clone(b.between(w.Key, w.End)), revision)
	}
	return nil
}

// remove deletes keys that exist and returns the events.
func (b *Backing) remove(keys []string, revision int64) []state.Event {
	var events []state.Event
	for _, key := range keys {
		i, _ := slices.BinarySearch(b.keys, key)
		b.keys = slices.Delete(b.keys, i, i+1)
		delete(b.entries, key)
		events = append(events, state.Event{Entry: state.Entry{Key: key, Revision: revision}, Deleted: true})
	}
	return events
}

// between returns the keys in [from, end), a part of the store's own slice.
func (b *Backing) between(from, end string) []string {
	i, _ := slices.BinarySearch(b.keys, from)
	j, _ := slices.BinarySearch(b.keys, end)
	return b.keys[i:max(i, j)]
}

// record ends a change: its events become history, at the next revision.
func (b *Backing) record(events []state.Event) {
	if len(events) == 0 {
		return
	}
	b.revision++
	b.history = append(b.history, events...)
	if len(b.history) > 2*b.opts.History {
		b.compact(len(b.history) - b.opts.History)
	}
	b.wake()
}

// compact forgets the first n events, and the rest of the change that the last of them is of.
func (b *Backing) compact(n int) {
	if n == 0 {
		return
	}
	b.compacted = b.history[n-1].Revision
	for n < len(b.history) && b.history[n].Revision == b.compacted {
		n++
	}
	b.history = slices.Clone(b.history[n:])
}

// wake lets all waiting watches look again.
func (b *Backing) wake() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// news is what a watch finds when it looks.
type news struct {
	events  []state.Event
	upTo    int64           // all events up to and including this revision are in it
	changed <-chan struct{} // closed when there is more
}

// after returns the events to keys with the prefix after the revision.
func (b *Backing) after(prefix string, revision int64) (news, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if revision < b.compacted {
		return news{}, fault.New(fault.NotFound, "state.watch", prefix, state.ErrCompacted)
	}
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	n := news{upTo: max(revision, b.revision), changed: b.changed}
	first, _ := slices.BinarySearchFunc(b.history, revision+1, func(e state.Event, r int64) int {
		return int(e.Revision - r)
	})
	for _, e := range b.history[first:] {
		if strings.HasPrefix(e.Key, prefix) {
			n.events = append(n.events, state.Event{Entry: clone(e.Entry), Deleted: e.Deleted})
		}
	}
	return n, nil
}

func (b *Backing) grant(ttl time.Duration) state.LeaseID {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastLease++
	id := b.lastLease
	l := &lease{ttl: ttl}
	b.leases[id] = l
	b.prolong(id, l)
	return id
}

// renew prolongs the lease and returns the time granted.
func (b *Backing) renew(id state.LeaseID) (time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, ok := b.leases[id]
	if !ok {
		return 0, fault.New(fault.NotFound, "state.renew", "", nil)
	}
	b.prolong(id, l)
	return l.ttl, nil
}

func (b *Backing) prolong(id state.LeaseID, l *lease) {
	wait := l.ttl
	if b.opts.ExpireLate != nil {
		wait += max(0, b.opts.ExpireLate(id))
	}
	l.expires = time.Now().Add(wait)
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, func() { b.expire(id) })
	} else {
		l.timer.Reset(wait)
	}
}

// expire drops the lease, unless it was prolonged while the timer went off.
func (b *Backing) expire(id state.LeaseID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l, ok := b.leases[id]; ok && !time.Now().Before(l.expires) {
		b.drop(id)
	}
}

func (b *Backing) revoke(id state.LeaseID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(id)
}

// drop ends the lease, if it exists, and deletes its keys.
func (b *Backing) drop(id state.LeaseID) {
	l, ok := b.leases[id]
	if !ok {
		return
	}
	l.timer.Stop()
	delete(b.leases, id)
	var keys []string
	for _, key := range b.keys {
		if b.entries[key].Lease == id {
			keys = append(keys, key)
		}
	}
	b.record(b.remove(keys, b.revision+1))
}

func clone(e state.Entry) state.Entry {
	e.Value = bytes.Clone(e.Value)
	return e
}
