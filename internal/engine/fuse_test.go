package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fault"
)

// moment is something that a running hale does to the outside: a point at which it can be killed.
type moment struct {
	sort sort
	what string
	// nth tells moments of one name apart.
	nth int
}

// sort says what a moment is.
type sort string

// The sorts of moments. Polls of the provider, watches of the store and the checks' probes change nothing and recur by
// themselves; they are none.
const (
	sortWrite    sort = "write"    // to the store
	sortCall     sort = "call"     // to the provider, changing; or a command
	sortQuestion sort = "question" // to the provider, about one instance
	sortMessage  sort = "message"  // to a target
)

func (m moment) String() string { return fmt.Sprintf("%s %d, %s", m.what, m.nth, m.sort) }

// manner says where in a moment hale is killed.
type manner string

// The manners.
const (
	killedBefore     manner = "before"           // nothing of it left hale
	killedUnanswered manner = "done, unanswered" // it was done, and the answer never came
	killedLate       manner = "late"             // it was on its way, and arrives when the next hale is at work already
	killedAfter      manner = "after"            // it was answered, and nothing came of that
)

// manners returns where in such a moment hale can be killed. A question that was not answered was as good as not asked.
func (s sort) manners() []manner {
	if s == sortQuestion {
		return []manner{killedBefore, killedAfter}
	}
	return []manner{killedBefore, killedUnanswered, killedLate, killedAfter}
}

// lateness is when a late moment arrives after hale's death.
const lateness = 5 * time.Second

// fuse lies between a hale and everything outside. It blows at one moment: from there on nothing leaves hale, and
// nothing reaches it.
type fuse struct {
	at     moment // where it blows; zero: nowhere
	manner manner

	mu    sync.Mutex
	armed bool
	blown bool
	over  bool // what was done at the moment of death is done
	seen  []moment
}

// arm begins to count moments.
func (f *fuse) arm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = true
}

// spent reports whether hale is as good as dead.
func (f *fuse) spent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blown
}

// cold reports whether it is, and nothing that it did is under way any more.
func (f *fuse) cold() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

func (f *fuse) cool() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
}

// disarm ends the counting, and returns what was counted.
func (f *fuse) disarm() []moment {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
	return f.seen
}

// meet counts a moment, and says whether hale is dead by then, or is killed in it.
func (f *fuse) meet(s sort, what string) (dead, now bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blown || !f.armed {
		return f.blown, false
	}
	m := moment{sort: s, what: what, nth: 1}
	for slices.Contains(f.seen, m) {
		m.nth++
	}
	f.seen = append(f.seen, m)
	f.blown = m == f.at
	return false, f.blown
}

// deed is what a moment does. The late one does the same when hale is gone.
type deed struct {
	now  func(ctx context.Context) error
	late func(ctx context.Context)
}

// through carries a deed outside, as far as it comes.
func (f *fuse) through(ctx context.Context, s sort, what string, d deed) error {
	dead, now := f.meet(s, what)
	if now {
		defer f.cool()
	}
	switch {
	case !dead && !now:
		return d.now(ctx)
	case now && f.manner == killedAfter:
		return d.now(ctx)
	case now && f.manner == killedUnanswered:
		_ = d.now(context.WithoutCancel(ctx)) // nobody learns how it went
	case now && f.manner == killedLate:
		time.AfterFunc(lateness, func() { d.late(context.WithoutCancel(ctx)) })
	}
	if now {
		f.cool()
	}
	<-ctx.Done()
	return fault.New(fault.UnknownOutcome, "fuse."+string(s), what, ctx.Err())
}
