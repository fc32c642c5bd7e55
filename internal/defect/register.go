package defect

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Part is a sort of place.
type Part string

// The parts. Of and Name of their places are given beside them.
const (
	Provider   Part = "provider"   // the adapter; of the provider
	Commands   Part = "commands"   // what executes run steps; of the provider
	Fence      Part = "fence"      // what cuts the power of hosts; of the provider, by the method's name
	Target     Part = "target"     // who is told; by the target's name
	Check      Part = "check"      // one check; of the fleet, by the check's name
	Probes     Part = "probes"     // what runs the checks; of the fleet, or of all
	Heartbeats Part = "heartbeats" // where machines report
	Metric     Part = "metric"     // what reads one metric; of the fleet, by the metric's name
	Owner      Part = "owner"      // what looks after the fleet
	Surface    Part = "surface"    // what answers people; by its name
)

// Place is where panics are caught.
type Place struct {
	Part Part
	Of   string
	Name string
}

// Calm is how long a place must have been without a panic to count as well again.
const Calm = time.Hour

// Entry is what happened at one place.
type Entry struct {
	Place Place
	// Spell numbers the times that it began to panic, from 1: between two lies Calm.
	Spell int
	// Count, First, Last and Said are of this spell: how often, when, and what the first one said.
	Count       int
	First, Last time.Time
	Said        string
}

// Over reports whether the spell is.
func (e Entry) Over(now time.Time) bool { return now.Sub(e.Last) >= Calm }

// Register has what panicked since the process began. It is safe for concurrent use.
type Register struct {
	log      *slog.Logger
	revision atomic.Uint64
	mu       sync.Mutex
	pages    []*page // in the order in which they panicked first
}

// page is an entry with what was logged of it.
type page struct {
	Entry
	logged time.Time
}

// NewRegister returns an empty register that logs what is noted.
func NewRegister(log *slog.Logger) *Register { return &Register{log: log} }

// logEvery is the least time between two lines about the same place.
const logEvery = time.Minute

// Note counts a panic, which was caught while the place did something. The first one is logged, and from then on one in
// logEvery.
func (b *Register) Note(at Place, doing string, p *Panic) {
	now := time.Now()
	b.mu.Lock()
	e := b.page(at)
	if e.Spell == 0 || e.Over(now) {
		e.Entry = Entry{Place: at, Spell: e.Spell + 1, First: now, Said: p.Value}
		e.logged = time.Time{}
	}
	e.Count++
	e.Last = now
	due := now.Sub(e.logged) >= logEvery
	if due {
		e.logged = now
	}
	count := e.Count
	b.mu.Unlock()
	b.revision.Add(1)
	if due {
		b.log.Error("a part of hale panicked; the rest goes on", "part", at.Part, "of", at.Of, "name", at.Name,
			"doing", doing, "panic", p.Value,
			"stack", p.Stack, "count", count)
	}
}

// page returns the place's, an empty one where there is none yet.
func (b *Register) page(at Place) *page {
	for _, e := range b.pages {
		if e.Place == at {
			return e
		}
	}
	e := &page{Entry: Entry{Place: at}}
	b.pages = append(b.pages, e)
	return e
}

// Revision rises with each panic. It is 0 until there was one.
func (b *Register) Revision() uint64 { return b.revision.Load() }

// All returns an entry for each place that panicked, in the order in which they did first.
func (b *Register) All() []Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Entry, 0, len(b.pages))
	for _, e := range b.pages {
		out = append(out, e.Entry)
	}
	return out
}

// Catch is deferred: it ends a panic of the place, notes it, and then calls then, which may be nil.
func (b *Register) Catch(at Place, doing string, then func(*Panic)) {
	if p := Of(recover()); p != nil {
		b.Note(at, doing, p)
		if then != nil {
			then(p)
		}
	}
}

// Bounds of the rest of work that panicked.
const (
	firstRest = 100 * time.Millisecond
	lastRest  = 30 * time.Second
)

// Keep works until the work returns, or ctx ends. Work that panics is noted and begun again after a rest.
func (b *Register) Keep(ctx context.Context, at Place, work func(context.Context)) {
	for rest := firstRest; ctx.Err() == nil; rest = min(2*rest, lastRest) {
		began := time.Now()
		if b.once(ctx, at, work) {
			return
		}
		if time.Since(began) > lastRest {
			rest = firstRest
		}
		pause := time.NewTimer(rest)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// once works, and reports whether that came to its end.
func (b *Register) once(ctx context.Context, at Place, work func(context.Context)) (ended bool) {
	defer b.Catch(at, "its work", nil)
	work(ctx)
	return true
}

// Witness is told of panics at places of one part. It may be nil.
type Witness func(name, doing string, p *Panic)

// Witness returns one who notes them as of the part.
func (b *Register) Witness(part Part, of string) Witness {
	return func(name, doing string, p *Panic) { b.Note(Place{part, of, name}, doing, p) }
}

// Note tells the witness of a panic, if there is one.
func (w Witness) Note(name, doing string, p *Panic) {
	if w != nil {
		w(name, doing, p)
	}
}

// Catch is deferred: it ends a panic, tells of it, and then calls then, which may be nil.
func (w Witness) Catch(name, doing string, then func(*Panic)) {
	if p := Of(recover()); p != nil {
		w.Note(name, doing, p)
		if then != nil {
			then(p)
		}
	}
}
