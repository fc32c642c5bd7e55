package netprobe

import "hale/internal/probe"

// fifo is a first-in first-out queue.
type fifo[T any] struct {
	items []T
	head  int
}

func (q *fifo[T]) push(v T) { q.items = append(q.items, v) }

func (q *fifo[T]) len() int { return len(q.items) - q.head }

func (q *fifo[T]) first() T { return q.items[q.head] }

// drop removes the first item, and gives the space of dropped ones back once they are the greater part.
func (q *fifo[T]) drop() {
	var zero T
	q.items[q.head] = zero
	q.head++
	if q.head*2 >= len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
}

// outbox holds what the reader has not taken yet: at most the latest edge of each target, and one watermark. A
// watermark is delivered after all edges that were there before it, so a reader that falls behind sees it grow stale.
type outbox struct {
	queue fifo[*target]    // nil stands for the watermark
	mark  *probe.Watermark // pending, or nil
}

// edge queues the target's latest edge; one that still waits is replaced and keeps its place.
func (o *outbox) edge(t *target, e probe.Edge) {
	if t.pending == nil {
		o.queue.push(t)
	}
	t.pending = &e
}

// watermark queues a watermark. It must not be called while one waits.
func (o *outbox) watermark(w probe.Watermark) {
	o.mark = &w
	o.queue.push(nil)
}

// next returns what is to be delivered next, and whether there is anything.
func (o *outbox) next() (probe.Report, bool) {
	for o.queue.len() > 0 {
		switch t := o.queue.first(); {
		case t == nil:
			return probe.Report{Watermark: o.mark}, true
		case t.pending != nil:
			return probe.Report{Edge: t.pending}, true
		}
		o.queue.drop() // removed meanwhile
	}
	return probe.Report{}, false
}

// delivered drops what next returned.
func (o *outbox) delivered() {
	if t := o.queue.first(); t == nil {
		o.mark = nil
	} else {
		t.pending = nil
	}
	o.queue.drop()
}
