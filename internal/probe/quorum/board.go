package quorum

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

// target is one that several vantages look at.
type target struct {
	probe.Target
	own   probe.Edge // what the server's own engine said last
	edge  probe.Edge // what the votes came to
	again time.Time  // when they are to be judged again; zero: when one of them differs
}

// board is all targets that several vantages look at, and what is to be told. It belongs to Run's goroutine.
type board struct {
	name    string
	panel   Panel
	targets map[probe.ID]*target
	out     outbox
}

func newBoard(name string, panel Panel) *board {
	return &board{name: name, panel: panel, targets: map[probe.ID]*target{},
		out: outbox{edges: map[probe.ID]probe.Edge{}}}
}

// set takes in targets with several vantages, and those that have one vantage from now on. What the own engine still
// has to say of one that changed, it says itself.
func (b *board) set(shared []probe.Target, alone []probe.ID) {
	for _, id := range alone {
		delete(b.targets, id)
	}
	for _, want := range shared {
		t := b.targets[want.ID]
		if t == nil || t.Epoch != want.Epoch {
			b.out.drop(want.ID)
			none := probe.Edge{ID: want.ID, Epoch: want.Epoch, Standing: fleet.StandingUnknown}
			t = &target{own: none, edge: none}
			b.targets[want.ID] = t
		}
		t.Target = want
	}
}

func (b *board) remove(ids []probe.ID) {
	for _, id := range ids {
		delete(b.targets, id)
		b.out.drop(id)
	}
}

// hear takes in what the own engine reports. What it says of a target with one vantage is handed on.
func (b *board) hear(now time.Time, r probe.Report) {
	if w := r.Watermark; w != nil {
		b.lapse(now)
		b.out.watermark(*w)
		return
	}
	if r.Edge == nil {
		return
	}
	t := b.targets[r.Edge.ID]
	switch {
	case t == nil:
		b.out.edge(*r.Edge)
	case t.Epoch == r.Edge.Epoch:
		t.own = *r.Edge
		b.judge(now, t.ID)
	}
}

// lapse judges those anew behind which a vote counts no more, or may count again.
func (b *board) lapse(now time.Time) {
	var over []probe.ID
	for id, t := range b.targets {
		if !t.again.IsZero() && !now.Before(t.again) {
			over = append(over, id)
		}
	}
	slices.SortFunc(over, probe.ID.Compare)
	b.judge(now, over...)
}

// judge says what the votes on the targets come to, and tells what differs from before.
func (b *board) judge(now time.Time, ids ...probe.ID) {
	for _, id := range ids {
		t := b.targets[id]
		if t == nil {
			continue
		}
		is := b.verdict(t, now)
		t.again = is.Again
		if is.Standing == t.edge.Standing && is.Result == t.edge.Result && is.Detail == t.edge.Detail {
			continue
		}
		t.edge = probe.Edge{
			ID: id, Epoch: t.Epoch, Seq: t.edge.Seq + 1, Standing: is.Standing, Was: t.edge.Standing,
			Result: is.Result, Detail: is.Detail, At: now, Due: now,
		}
		b.out.edge(t.edge)
	}
}

func (b *board) verdict(t *target, now time.Time) Verdict {
	if t.Unaimed() != fleet.ResultNone {
		return Verdict{Standing: t.own.Standing, Result: t.own.Result, Detail: t.own.Detail}
	}
	own := Vote{Vantage: b.name, Standing: t.own.Standing, Result: t.own.Result, Detail: t.own.Detail}
	return Judge(append([]Vote{own}, b.panel.Votes(t.ID)...), t.Spec.Sight, now)
}

// outbox holds what the reader has not taken yet: at most the latest edge of each target, and watermarks, the first and
// the newest, which are delivered after all edges that were there before them.
type outbox struct {
	queue []probe.ID // the targets whose edges wait, in order; those that are dropped may be there, too
	edges map[probe.ID]probe.Edge
	mark  *probe.Watermark
	ahead int              // so many of the queue come before the mark
	later *probe.Watermark // the newest one that came while the mark waited
}

func (o *outbox) edge(e probe.Edge) {
	if _, waits := o.edges[e.ID]; !waits {
		o.queue = append(o.queue, e.ID)
	}
	o.edges[e.ID] = e
}

func (o *outbox) watermark(w probe.Watermark) {
	if o.mark != nil {
		o.later = &w
		return
	}
	o.mark, o.ahead = &w, len(o.queue)
}

// next returns what is to be delivered next, and whether there is anything.
func (o *outbox) next() (probe.Report, bool) {
	for len(o.queue) > 0 && (o.mark == nil || o.ahead > 0) {
		if e, waits := o.edges[o.queue[0]]; waits {
			return probe.Report{Edge: &e}, true
		}
		o.shift()
	}
	if o.mark != nil {
		return probe.Report{Watermark: o.mark}, true
	}
	return probe.Report{}, false
}

// delivered drops what next returned.
func (o *outbox) delivered() {
	if o.mark != nil && o.ahead == 0 {
		o.mark, o.later, o.ahead = o.later, nil, len(o.queue)
		return
	}
	delete(o.edges, o.queue[0])
	o.shift()
}

func (o *outbox) shift() {
	if o.queue = o.queue[1:]; o.mark != nil {
		o.ahead--
	}
}

// drop has nothing delivered of the target.
func (o *outbox) drop(id probe.ID) { delete(o.edges, id) }
