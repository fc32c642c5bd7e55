// Package feed follows the journal of all fleets once, for all who watch it: a reader costs a place in it, and no
// buffer of its own.
//
// It promises that a reader who goes on from a cursor gets every record behind it that the journal still has, once, in
// the order in which they were stored; and is told when the journal has let go of some (Gap).
package feed

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hale/internal/api/view"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/journal"
)

// Item is a record, and as it goes over the wire: encoded once for all readers.
type Item struct {
	journal.Stored
	JSON []byte // an api.Event
}

// Cursor is the place behind the record.
func (i *Item) Cursor() Cursor { return place(&i.Stored) }

// recent is how many records are kept for readers. A reader who is further behind reads the journal.
const recent = 4096

// again is the wait before a broken stream of records is taken up again.
const again = time.Second

// Feed is safe for concurrent use.
type Feed struct {
	store state.Store
	log   *slog.Logger

	mu    sync.Mutex
	items []Item // all that was stored behind floor, oldest first
	floor Cursor
	last  Cursor                // where the feed stands
	of    map[fleet.Name]Cursor // the last record of each fleet, as far as there is one behind the first floor
	more  chan struct{}         // closed when something comes
	begun chan struct{}         // closed when the feed knows where it stands
}

// New makes a feed of the store's journals. It follows them while Run runs.
func New(store state.Store, log *slog.Logger) *Feed {
	return &Feed{store: store, log: log, of: map[fleet.Name]Cursor{}, more: make(chan struct{}),
		begun: make(chan struct{})}
}

// Run follows the journals until ctx ends.
func (f *Feed) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		f.log.Warn("the stream of records broke, and is taken up again", "err", err)
		if errors.Is(err, state.ErrCompacted) {
			f.reset(Cursor{})
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// follow takes records in until the stream breaks.
func (f *Feed) follow(ctx context.Context) error {
	f.mu.Lock()
	from := f.last
	f.mu.Unlock()
	if from == (Cursor{}) {
		_, revision, err := f.store.List(ctx, "installation")
		if err != nil {
			return err
		}
		from = Cursor{Revision: revision}
		f.reset(from)
	}
	after := from.Revision
	if from.Seq != 0 {
		after-- // the rest of that revision may be missing
	}
	for r, err := range journal.Follow(ctx, f.store, "", after) {
		if err != nil {
			return err
		}
		f.take(r)
	}
	return nil
}

// reset forgets what is kept, and begins at the place. The zero place: it is asked for when the store answers.
func (f *Feed) reset(at Cursor) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items, f.floor, f.last = nil, at, at
	if at == (Cursor{}) {
		return
	}
	select {
	case <-f.begun:
	default:
		close(f.begun)
	}
	f.wake()
}

// wake lets all who wait look again.
func (f *Feed) wake() {
	close(f.more)
	f.more = make(chan struct{})
}

// take adds a record, unless it was taken before the stream broke.
func (f *Feed) take(r journal.Stored) {
	item, err := encode(r)
	if err != nil {
		f.log.Warn("a record cannot be shown", "fleet", r.Fleet, "seq", r.Seq, "err", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.last.Before(&r) {
		return
	}
	if len(f.items) >= 2*recent { // moved once in so many
		f.floor = f.items[len(f.items)-recent-1].Cursor()
		f.items = append(make([]Item, 0, 2*recent), f.items[len(f.items)-recent:]...)
	}
	f.items = append(f.items, item)
	f.last = place(&r)
	f.of[r.Fleet] = f.last
	f.wake()
}

// Now returns where the feed stands; the error is that of ctx where it does not know in time.
func (f *Feed) Now(ctx context.Context) (Cursor, error) {
	select {
	case <-f.begun:
	case <-ctx.Done():
		return Cursor{}, context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, nil
}

// Last returns the place of the fleet's last record; false: there was none since the feed began.
func (f *Feed) Last(of fleet.Name) (Cursor, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.of[of]
	return c, ok
}

// Batch is what a reader gets at once.
type Batch struct {
	Items []Item // shared by all readers, and never changed
	// Next is where to go on. It may lie behind all Items.
	Next Cursor
	// Gap says that the journal let go of some before the Items.
	Gap bool
}

// After yields batches of what is stored behind the cursor, of all fleets or of one, as it comes, until ctx ends. An
// empty batch comes when nothing else came for as long as beat. After an error it yields nothing more.
func (f *Feed) After(ctx context.Context, of fleet.Name, at Cursor, beat time.Duration) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		for {
			b, kept := f.since(at)
			if !kept {
				var err error
				if b, err = f.reread(ctx, of, at); err != nil {
					yield(b, err)
					return
				}
			} else if len(b.Items) == 0 && f.wait(ctx, at, beat) {
				continue
			}
			at = b.Next
			if ctx.Err() != nil || !yield(b, nil) {
				return
			}
		}
	}
}

// since returns what is kept behind the cursor; false: the reader is further behind than that.
func (f *Feed) since(at Cursor) (Batch, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == (Cursor{}) || at.Compare(f.last) >= 0 { // the feed itself may be behind
		return Batch{Next: at}, true
	}
	if at.Compare(f.floor) < 0 {
		return Batch{}, false
	}
	first, _ := slices.BinarySearchFunc(f.items, at, func(i Item, at Cursor) int {
		if at.Before(&i.Stored) {
			return 1
		}
		return -1
	})
	return Batch{Items: f.items[first:len(f.items):len(f.items)], Next: f.last}, true
}

// wait returns true when there may be something behind the cursor, and false when the time is over.
func (f *Feed) wait(ctx context.Context, at Cursor, beat time.Duration) bool {
	f.mu.Lock()
	more, came := f.more, at.Compare(f.last) < 0
	f.mu.Unlock()
	if came {
		return true
	}
	timer := time.NewTimer(beat)
	defer timer.Stop()
	select {
	case <-more:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// reread lists the journal for a reader who is far behind.
func (f *Feed) reread(ctx context.Context, of fleet.Name, at Cursor) (Batch, error) {
	stored, revision, err := journal.List(ctx, f.store, of)
	if err != nil {
		return Batch{}, err
	}
	b := Batch{Next: Cursor{Revision: revision}, Gap: Holed(stored, at)}
	stored = slices.DeleteFunc(stored, func(r journal.Stored) bool { return !at.Before(&r) })
	slices.SortFunc(stored, func(x, y journal.Stored) int { return place(&x).Compare(place(&y)) })
	b.Items, err = Items(stored)
	return b, err
}

// Items encodes records.
func Items(stored []journal.Stored) ([]Item, error) {
	items := make([]Item, 0, len(stored))
	for _, r := range stored {
		i, err := encode(r)
		if err != nil {
			return nil, err
		}
		items = append(items, i)
	}
	return items, nil
}

// encode writes a record as it goes over the wire.
func encode(r journal.Stored) (Item, error) {
	e := view.Event(r.Record)
	e.Cursor = place(&r).String()
	data, err := json.Marshal(e)
	return Item{Stored: r, JSON: data}, err
}

// Holed reports whether the journal let go of records behind the cursor: their numbers have holes. It takes the journal
// of one or all fleets, as journal.List returns it.
func Holed(stored []journal.Stored, at Cursor) bool {
	last := map[fleet.Name]uint64{}
	for i := range stored {
		r := &stored[i]
		before, known := last[r.Fleet]
		last[r.Fleet] = r.Seq
		if at.Before(r) && r.Seq != before+1 && (known || r.Seq > 1) {
			return true
		}
	}
	return false
}
