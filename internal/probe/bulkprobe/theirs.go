package bulkprobe

import (
	"slices"
	"time"

	"hale/internal/probe"
)

// theirs are the targets of the ordinary engine, each with how many edges were told of it before it came there.
type theirs map[probe.ID]base

type base struct{ epoch, seq uint64 }

// seq is the number of an edge of the ordinary engine as the reader counts.
func (u theirs) seq(e probe.Edge) uint64 {
	if b := u[e.ID]; b.epoch == e.Epoch {
		return b.seq + e.Seq
	}
	return e.Seq
}

// setOthers gives targets to the ordinary engine; those that the shards watched begin from unknown there.
func (r *register) setOthers(others []*probe.Target, now time.Time) {
	if len(others) == 0 {
		return
	}
	all := make([]probe.Target, 0, len(others))
	for _, want := range others {
		if _, known := r.theirs[want.ID]; !known {
			r.theirs[want.ID] = base{}
		}
		if i := r.index.find(want.ID); i != none {
			r.moveOut(i, want.Epoch, now)
		}
		all = append(all, *want)
	}
	r.ordinary.Set(all...)
}

// moveOut ends a target of the shards that the ordinary engine is to watch from now on. That begins from nothing, so
// that it would not say so where anything else was told.
func (r *register) moveOut(i int32, epoch uint64, now time.Time) {
	rec := r.records.at(i)
	if rec.epoch == epoch && rec.seq > 0 {
		if rec.standing != unknown || rec.reason != nothing {
			at := int64(now.Sub(r.pool.origin))
			r.tell(i, news{standing: unknown, at: at, due: at})
		}
		r.theirs[r.idOf(rec)] = base{epoch, uint64(rec.seq)}
		if rec.pending {
			r.out.apart = append(r.out.apart, r.edge(rec))
		}
	}
	r.drop(i)
}

// moveIn ends a target of the ordinary engine that the shards are to watch from now on, and returns its latest edge;
// none where the ordinary engine did not watch it.
func (r *register) moveIn(id probe.ID) probe.Edge {
	if _, known := r.theirs[id]; !known {
		return probe.Edge{}
	}
	edges := r.ordinary.Standings()
	i := slices.IndexFunc(edges, func(e probe.Edge) bool { return e.ID == id })
	var last probe.Edge
	if i >= 0 {
		last = edges[i]
		last.Seq = r.theirs.seq(last)
	}
	r.ordinary.Remove(id)
	r.dismiss(id)
	return last
}

// dismiss forgets a target of the ordinary engine, and what was not delivered of it.
func (r *register) dismiss(id probe.ID) {
	delete(r.theirs, id)
	r.out.apart = slices.DeleteFunc(r.out.apart, func(e probe.Edge) bool { return e.ID == id })
}

// pass takes a report of the ordinary engine.
func (r *register) pass(u probe.Report) {
	if e := u.Edge; e != nil {
		told := *e
		told.Seq = r.theirs.seq(told)
		r.out.apart = append(r.out.apart, told)
	}
	if m := u.Watermark; m != nil {
		r.out.others = int64(m.At.Sub(r.pool.origin))
		r.out.mark()
	}
}
