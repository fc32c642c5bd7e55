package bulkprobe

import (
	"slices"
	"time"

	"hale/internal/probe"
)

// theMark stands for the watermark in the outbox's queue.
const theMark = int32(-1)

// outbox holds what the reader has not taken yet: records with an edge that it does not know, edges of the ordinary
// engine (mostly one), and one watermark. A watermark is delivered after all edges that were there before it, so a
// reader that falls behind sees it grow stale.
type outbox struct {
	register *register
	queue    []int32 // records, and theMark
	head     int
	apart    []probe.Edge // of targets of the ordinary engine; they go first
	// Watermarks: until when the shards and the ordinary engine have judged, what was queued last, and whether that
	// still waits.
	shards, others, queued int64
	waits                  bool
}

// edge queues a record's latest edge; one that still waits is replaced and keeps its place.
func (o *outbox) edge(i int32, rec *record) {
	rec.pending = true
	if !rec.queued {
		rec.queued = true
		o.queue = append(o.queue, i)
	}
}

// judged notes until when the shards' targets are judged.
func (o *outbox) judged(at int64) {
	o.shards = at
	o.mark()
}

// mark queues a watermark when all have come further than the last one, unless that still waits.
func (o *outbox) mark() {
	if at := min(o.shards, o.others); at > o.queued && !o.waits {
		o.queued, o.waits = at, true
		o.queue = append(o.queue, theMark)
	}
}

// next returns what is to be delivered next, and whether there is anything.
func (o *outbox) next() (probe.Report, bool) {
	if len(o.apart) > 0 {
		e := o.apart[0]
		return probe.Report{Edge: &e}, true
	}
	for o.head < len(o.queue) {
		i := o.queue[o.head]
		if i == theMark {
			return probe.Report{
				Watermark: &probe.Watermark{Shards: 1, At: o.register.pool.origin.Add(time.Duration(o.queued))},
			}, true
		}
		rec := o.register.records.at(i)
		if rec.pending {
			e := o.register.edge(rec)
			return probe.Report{Edge: &e}, true
		}
		rec.queued = false // removed meanwhile
		o.skip()
	}
	return probe.Report{}, false
}

// delivered drops what next returned.
func (o *outbox) delivered() {
	if len(o.apart) > 0 {
		o.apart = slices.Delete(o.apart, 0, 1)
		return
	}
	i := o.queue[o.head]
	o.skip()
	if i == theMark {
		o.waits = false
		o.mark()
		return
	}
	rec := o.register.records.at(i)
	rec.pending, rec.queued = false, false
}

// skip removes the first of the queue, and gives the space of removed ones back once they are the greater part.
func (o *outbox) skip() {
	o.head++
	if o.head*2 >= len(o.queue) {
		left := o.queue[o.head:]
		if cap(o.queue) > keptRoom {
			o.queue = slices.Clone(left)
		} else {
			o.queue = o.queue[:copy(o.queue, left)]
		}
		o.head = 0
	}
}
