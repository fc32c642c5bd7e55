// Package feed hands the journal's records to what takes them, from a position that is kept in the store.
//
// It promises that each record is handed over at least once, that those of a fleet come in their order, that a restart
// goes on where the last one stopped, and that records which the journal let go of before they were handed over are
// told as a gap, at their place. What it holds in memory is bounded: while the taker does not take anything, the
// records wait in the journal. It never holds up who writes there. What a taker makes of a record it does not know.
package feed

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
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
	fleet.Record
	// Lost is how many records before this one are gone, after the one with the number After. The record is not part of
	// it: it comes next.
	Lost, After uint64
	// Known says that the record was handed over before, in this process or another; only a feed that Recalls has it.
	Known bool
}

// Gap reports whether the entry is about records that are missing.
func (e *Entry) Gap() bool { return e.Lost > 0 }

// Options are what a feed is made of.
type Options struct {
	Store state.Store
	Name  string // under which the position is kept
	Taker Taker
	Log   *slog.Logger
	// Recall has what was handed over before come again at each start, as known, so that the taker learns what led to
	// the rest. A feed that recalls begins with what happens from its first start on; all others begin with what there
	// is.
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

// Status is how a feed stands.
type Status struct {
	Name string
	// Taken and Lost count records since the start of the process: those that were handed over, and those that were
	// gone before.
	Taken, Lost uint64
	// Failing is since when nothing is taken; zero: it is. Why says what is wrong.
	Failing time.Time
	Why     string
}

// Feed is one taker's.
type Feed struct {
	o Options

	// Of Run alone:
	at      map[fleet.Name]uint64 // the number of the last record that was handed over
	pending []Entry

	mu     sync.Mutex
	status Status
}

// New makes a feed. It begins when Run does.
func New(o Options) *Feed { return &Feed{o: o, status: Status{Name: o.Name}} }

// Status returns how the feed stands.
func (f *Feed) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// Run hands records over until ctx ends.
func (f *Feed) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := f.work(ctx); err != nil && ctx.Err() == nil && !missed(err) {
			f.o.Log.Warn("the journal cannot be read for a while", "stream", f.o.Name, "err", fault.Plain(err))
		}
		pause(ctx, firstPause)
	}
}

// errFull says that more records came than wait in memory: they are read again from the journal.
var errFull = errors.New("more records came than are held")

// missed reports whether records came faster than they were taken: they lie in the journal.
func missed(err error) bool { return errors.Is(err, errFull) || errors.Is(err, state.ErrCompacted) }

// work catches up with the journal, and follows it until that breaks.
func (f *Feed) work(ctx context.Context) error {
	if err := f.flush(ctx); err != nil {
		return err
	}
	begun, revision, err := f.load(ctx)
	if err != nil {
		return err
	}
	if err := f.catchUp(ctx, f.o.Recall && !begun); err != nil {
		return err
	}
	if !begun {
		if err := f.begin(ctx); err != nil {
			return err
		}
	}
	return f.follow(ctx, revision)
}

// catchUp hands over what the journal has. What is old counts as handed over.
func (f *Feed) catchUp(ctx context.Context, old bool) error {
	last := map[fleet.Name]uint64{}
	for r, err := range journal.Scan(ctx, f.o.Store) {
		if err != nil {
			return err
		}
		last[r.Fleet] = r.Seq
		if old {
			f.at[r.Fleet] = r.Seq
		}
		if err := f.offer(ctx, r.Record); err != nil {
			return err
		}
	}
	for name, seq := range last {
		if seq < f.at[name] {
			f.o.Log.Warn("the journal of the fleet is numbered anew: all of it is handed over", "stream", f.o.Name,
				"fleet", name)
			delete(f.at, name)
			if err := f.again(ctx, name); err != nil {
				return err
			}
		}
	}
	return f.flush(ctx)
}

// again hands over all records of the fleet.
func (f *Feed) again(ctx context.Context, name fleet.Name) error {
	records, _, err := journal.Read(ctx, f.o.Store, name)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := f.offer(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// offer puts a record behind those that wait, and before it the word of a gap. One that was handed over before is left
// out, or recalled.
func (f *Feed) offer(ctx context.Context, r fleet.Record) error {
	at, some := f.at[r.Fleet]
	known := some && r.Seq <= at
	switch {
	case known && !f.o.Recall:
		return nil
	case some && r.Seq > at+1:
		f.pending = append(f.pending, Entry{Lost: r.Seq - at - 1, After: at,
			Record: fleet.Record{Fleet: r.Fleet, Seq: r.Seq - 1, At: r.At}})
	}
	f.pending = append(f.pending, Entry{Record: r, Known: known})
	if !known {
		f.at[r.Fleet] = r.Seq
	}
	if len(f.pending) >= mostTogether {
		return f.flush(ctx)
	}
	return nil
}

// flush hands over what waits, however long that takes, and keeps the position.
func (f *Feed) flush(ctx context.Context) error {
	if len(f.pending) == 0 {
		return nil
	}
	if err := f.deliver(ctx, f.pending); err != nil {
		return err
	}
	f.keep(ctx)
	f.pending = f.pending[:0]
	return nil
}

// deliver hands the entries over, again and again until they are taken or ctx ends.
func (f *Feed) deliver(ctx context.Context, entries []Entry) error {
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		err := f.o.Taker.Take(ctx, entries)
		if err == nil {
			f.taken(entries)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f.failed(err)
		pause(ctx, max(wait, notify.Later(err)))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (f *Feed) taken(entries []Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range entries {
		switch e := &entries[i]; {
		case e.Gap():
			f.status.Lost += e.Lost
			f.o.Log.Warn("the journal let go of records before they were taken", "stream", f.o.Name, "fleet", e.Fleet,
				"records", e.Lost, "after", e.After)
		case !e.Known:
			f.status.Taken++
		}
	}
	if !f.status.Failing.IsZero() {
		f.o.Log.Info("records are taken again", "stream", f.o.Name)
	}
	f.status.Failing, f.status.Why = time.Time{}, ""
}

func (f *Feed) failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	why := fault.Plain(err)
	if f.status.Failing.IsZero() {
		f.status.Failing = time.Now()
	}
	if f.status.Why != why {
		f.o.Log.Warn("records are not taken, and wait in the journal", "stream", f.o.Name, "err", why)
	}
	f.status.Why = why
}

// follow hands over what is stored after the revision, as it comes. It ends with errFull when the taker is too slow.
func (f *Feed) follow(ctx context.Context, after int64) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	coming, ended := make(chan fleet.Record, mostWaiting), make(chan error, 1)
	go func() { // ends with ctx, or else when the stream breaks or is full; follow waits for it
		ended <- gather(ctx, f.o.Store, after, coming)
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
			if err := f.together(ctx, r, coming); err != nil {
				stop()
				<-ended
				return err
			}
			continue
		case <-tick.C:
			if err := f.o.Taker.Take(ctx, nil); err != nil && ctx.Err() == nil {
				f.failed(err)
			}
		}
	}
}

// gather puts what is stored after the revision into the channel, until it is full.
func gather(ctx context.Context, s state.Store, after int64, coming chan<- fleet.Record) error {
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
func (f *Feed) together(ctx context.Context, r fleet.Record, coming <-chan fleet.Record) error {
	soon := time.NewTimer(linger)
	defer soon.Stop()
	for {
		if err := f.offer(ctx, r); err != nil {
			return err
		}
		select {
		case next, more := <-coming:
			if !more {
				return f.flush(ctx)
			}
			r = next
		case <-soon.C:
			return f.flush(ctx)
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
