package satellite

import (
	"context"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

// book is what a satellite knows and has not told yet.
type book struct {
	mu      sync.Mutex // never held across a call
	targets map[probe.ID]*note
	looks   []looked
	mark    time.Time // until when all is judged; zero: it is not known
}

// note is how a target stands.
type note struct {
	edge edge
	seq  uint64 // rises with each change
	told uint64 // the newest that the server has
}

func newBook() *book { return &book{targets: map[probe.ID]*note{}} }

// listen notes what the engine reports until ctx ends.
func (b *book) listen(ctx context.Context, reports <-chan probe.Report) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-reports:
			b.hear(r)
		}
	}
}

func (b *book) hear(r probe.Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Watermark != nil {
		b.mark = r.Watermark.At
	}
	if e := r.Edge; e != nil {
		if n := b.targets[e.ID]; n != nil && n.edge.Revision == e.Epoch {
			n.edge.said, n.seq = said{e.Standing, e.Result, e.Detail}, n.seq+1
		}
	}
}

// watch begins with a target, or with another revision of it. One whose revision is the same goes on.
func (b *book) watch(t *target) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.targets[t.ID]
	if n == nil || n.edge.Revision != t.Revision {
		n = &note{edge: edge{ID: t.ID, Revision: t.Revision, said: said{Standing: fleet.StandingUnknown}}}
		b.targets[t.ID] = n
	}
	n.seq++ // the server asks for it anew
}

// unsound notes that a target cannot be probed here.
func (b *book) unsound(t *target, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.targets[t.ID] = &note{edge: edge{ID: t.ID, Revision: t.Revision, said: unable(err)}, seq: 1}
}

func unable(err error) said {
	return said{Standing: fleet.StandingUnknown, Result: fleet.ResultUnsupported, Detail: line(err.Error())}
}

func (b *book) forget(ids []probe.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		delete(b.targets, id)
	}
}

// clear forgets all, and returns which targets there were.
func (b *book) clear() []probe.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []probe.ID
	for id := range b.targets {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, probe.ID.Compare)
	clear(b.targets)
	b.looks = nil
	return ids
}

func (b *book) looked(l looked) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks = append(b.looks, l)
}

// sent is what one report tells: how many looks, and of which target which change.
type sent struct {
	looks int
	edges map[probe.ID]uint64
}

// report returns what the server does not have yet.
func (b *book) report() (report, sent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	const never = 24 * time.Hour
	r, s := report{Behind: never, Looks: slices.Clone(b.looks)}, sent{len(b.looks), map[probe.ID]uint64{}}
	if !b.mark.IsZero() {
		r.Behind = time.Since(b.mark)
	}
	for id, n := range b.targets {
		switch {
		case n.seq == n.told:
		case len(r.Edges) == mostEdges:
			r.Behind = never // until the rest is told, what the server has is old
		default:
			r.Edges = append(r.Edges, n.edge)
			s.edges[id] = n.seq
		}
	}
	slices.SortFunc(r.Edges, func(x, y edge) int { return x.ID.Compare(y.ID) })
	return r, s
}

// taken notes that the server has what was sent.
func (b *book) taken(s sent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks = b.looks[min(s.looks, len(b.looks)):]
	for id, seq := range s.edges {
		if n := b.targets[id]; n != nil {
			n.told = max(n.told, seq)
		}
	}
}
