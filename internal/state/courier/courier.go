// Package courier hands the journal's records to what takes them, from a position that is kept in the store.
//
// It promises that each record is handed over at least once, that those of a fleet come in their order, that a restart
// goes on where the last one stopped, and that records which the journal let go of before they were handed over are
// told as a gap, at their place. What it holds in memory is bounded: while the taker does not take anything, the
// records wait in the journal. It never holds up who writes there. What a taker makes of a record it does not know.
package courier

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/defect"
	"hale/internal/notify"
	"hale/internal/state"
	"hale/internal/state/journal"
)

// Taker is what records are handed to.
type Taker interface {
	// Take takes the entries, all or none: without an error they never come again. It is called by one goroutine.
	Take(ctx context.Context, entries []Entry) error
}

// Entry is a record, or the word that records are missing.
type Entry struct {
	record.Record
	// Lost is how many records before this one are gone, after the one with the number After. The record is not part of
	// it: it comes next.
	Lost, After uint64
	// Known says that the record was handed over before, in this process or another; only a courier that Recalls has
	// it.
	Known bool
}

// Gap reports whether the entry is about records that are missing.
func (e *Entry) Gap() bool { return e.Lost > 0 }

// Options are what a courier is made of.
type Options struct {
	Store state.Store
	Name  string // under which the position is kept
	Taker Taker
	Log   *slog.Logger
	// Recall has what was handed over before come again at each start, as known, so that the taker learns what led to
	// the rest. A courier that recalls begins with what happens from its first start on; all others begin with what
	// there is.
	Recall bool
}

const (
	mostTogether = 256                    // entries that are handed over at once
	mostWaiting  = 1024                   // records that wait in memory
	linger       = 100 * time.Millisecond // for further records to go along with the first
	firstPause   = time.Second            // after a try that failed; doubles
	longestPause = time.Minute
	beat         = time.Minute // after which a taker is called although nothing is new
)

// Status is how a courier stands.
type Status struct {
	Name string
	// Taken and Lost count records since the start of the process: those that were handed over, and those that were
	// gone before.
	Taken, Lost uint64
	// Failing is since when nothing is taken; zero: it is. Why says what is wrong.
	Failing time.Time
	Why     string
}

// Courier is one taker's.
type Courier struct {
	o Options

	// Of Run alone:
	at      map[fleet.Name]uint64 // the number of the last record that was handed over
	pending []Entry

	mu     sync.Mutex
	status Status
}

// New makes a courier. It begins when Run does.
func New(o Options) *Courier { return &Courier{o: o, status: Status{Name: o.Name}} }

// Status returns how the courier stands.
func (c *Courier) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Run hands records over until ctx ends.
func (c *Courier) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := c.work(ctx); err != nil && ctx.Err() == nil && !missed(err) {
			c.o.Log.Warn("the journal cannot be read for a while", "stream", c.o.Name, "err", fault.Plain(err))
		}
		pause(ctx, firstPause)
	}
}

// errFull says that more records came than wait in memory: they are read again from the journal.
var errFull = errors.New("more records came than are held")

// missed reports whether records came faster than they were taken: they lie in the journal.
func missed(err error) bool { return errors.Is(err, errFull) || errors.Is(err, state.ErrCompacted) }

// work catches up with the journal, and follows it until that breaks.
func (c *Courier) work(ctx context.Context) error {
	if err := c.flush(ctx); err != nil {
		return err
	}
	begun, revision, err := c.load(ctx)
	if err != nil {
		return err
	}
	if err := c.catchUp(ctx, c.o.Recall && !begun); err != nil {
		return err
	}
	if !begun {
		if err := c.begin(ctx); err != nil {
			return err
		}
	}
	return c.follow(ctx, revision)
}

// catchUp hands over what the journal has. What is old counts as handed over.
func (c *Courier) catchUp(ctx context.Context, old bool) error {
	last := map[fleet.Name]uint64{}
	for r, err := range journal.Scan(ctx, c.o.Store) {
		if err != nil {
			return err
		}
		last[r.Fleet] = r.Seq
		if old {
			c.at[r.Fleet] = r.Seq
		}
		if err := c.offer(ctx, r.Record); err != nil {
			return err
		}
	}
	for name, seq := range last {
		if seq < c.at[name] {
			c.o.Log.Warn("the journal of the fleet is numbered anew: all of it is handed over", "stream", c.o.Name,
				"fleet", name)
			delete(c.at, name)
			if err := c.again(ctx, name); err != nil {
				return err
			}
		}
	}
	return c.flush(ctx)
}

// again hands over all records of the fleet.
func (c *Courier) again(ctx context.Context, name fleet.Name) error {
	records, _, err := journal.Read(ctx, c.o.Store, name)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := c.offer(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// offer puts a record behind those that wait, and before it the word of a gap. One that was handed over before is left
// out, or recalled.
func (c *Courier) offer(ctx context.Context, r record.Record) error {
	at, some := c.at[r.Fleet]
	known := some && r.Seq <= at
	switch {
	case known && !c.o.Recall:
		return nil
	case some && r.Seq > at+1:
		c.pending = append(c.pending, Entry{Lost: r.Seq - at - 1, After: at,
			Record: record.Record{Fleet: r.Fleet, Seq: r.Seq - 1, At: r.At}})
	}
	c.pending = append(c.pending, Entry{Record: r, Known: known})
	if !known {
		c.at[r.Fleet] = r.Seq
	}
	if len(c.pending) >= mostTogether {
		return c.flush(ctx)
	}
	return nil
}

// flush hands over what waits, however long that takes, and keeps the position.
func (c *Courier) flush(ctx context.Context) error {
	if len(c.pending) == 0 {
		return nil
	}
	if err := c.deliver(ctx, c.pending); err != nil {
		return err
	}
	c.keep(ctx)
	c.pending = c.pending[:0]
	return nil
}

// deliver hands the entries over, again and again until they are taken or ctx ends.
func (c *Courier) deliver(ctx context.Context, entries []Entry) error {
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		err := c.o.Taker.Take(ctx, entries)
		if err == nil {
			c.taken(entries)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.failed(err)
		pause(ctx, max(wait, notify.Later(err)))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (c *Courier) taken(entries []Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range entries {
		switch e := &entries[i]; {
		case e.Gap():
			c.status.Lost += e.Lost
			c.o.Log.Warn("the journal let go of records before they were taken", "stream", c.o.Name, "fleet", e.Fleet,
				"records", e.Lost, "after", e.After)
		case !e.Known:
			c.status.Taken++
		}
	}
	if !c.status.Failing.IsZero() {
		c.o.Log.Info("records are taken again", "stream", c.o.Name)
	}
	c.status.Failing, c.status.Why = time.Time{}, ""
}

func (c *Courier) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	why := fault.Plain(err)
	if c.status.Failing.IsZero() {
		c.status.Failing = time.Now()
	}
	if c.status.Why != why {
		c.o.Log.Warn("records are not taken, and wait in the journal", "stream", c.o.Name, "err", why)
	}
	c.status.Why = why
}

// follow hands over what is stored after the revision, as it comes. It ends with errFull when the taker is too slow.
func (c *Courier) follow(ctx context.Context, after int64) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	coming, ended := make(chan record.Record, mostWaiting), make(chan error, 1)
	go func() { // ends with ctx, or else when the stream breaks or is full; follow waits for it
		ended <- defect.Try(func() error { return gather(ctx, c.o.Store, after, coming) })
		close(coming)
	}()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case r, more := <-coming:
			if !more {
				return <-ended
			}
			if err := c.together(ctx, r, coming); err != nil {
				stop()
				return cmp.Or(err, <-ended) // the other one follows from it
			}
			continue
		case <-tick.C:
			if err := c.o.Taker.Take(ctx, nil); err != nil && ctx.Err() == nil {
				c.failed(err)
			}
		}
	}
}

// gather puts what is stored after the revision into the channel, until it is full.
func gather(ctx context.Context, s state.Store, after int64, coming chan<- record.Record) error {
	for r, err := range journal.Follow(ctx, s, "", after) {
		if err != nil {
			return err
		}
		select {
		case coming <- r.Record:
		default:
			return errFull
		}
	}
	return nil
}

// together hands over the record with those that come soon after it.
func (c *Courier) together(ctx context.Context, r record.Record, coming <-chan record.Record) error {
	soon := time.NewTimer(linger)
	defer soon.Stop()
	for {
		if err := c.offer(ctx, r); err != nil {
			return err
		}
		select {
		case next, more := <-coming:
			if !more {
				return c.flush(ctx)
			}
			r = next
		case <-soon.C:
			return c.flush(ctx)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
