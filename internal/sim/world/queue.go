package world

import (
	"container/heap"
	"time"
)

// queue holds what is due, in the order of time and, within one instant, of being scheduled.
type queue struct {
	now    time.Duration
	count  uint64
	events eventHeap
}

type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

// Now returns the time since the world began.
func (q *queue) Now() time.Duration { return q.now }

// At schedules do. A time that has passed means now.
func (q *queue) At(t time.Duration, do func()) {
	q.count++
	heap.Push(&q.events, &event{at: max(t, q.now), seq: q.count, do: do})
}

// After schedules do for the time d from now.
func (q *queue) After(d time.Duration, do func()) { q.At(q.now+d, do) }

// Next returns when the next event is due, and whether there is one.
func (q *queue) Next() (time.Duration, bool) {
	if len(q.events) == 0 {
		return 0, false
	}
	return q.events[0].at, true
}

// Step jumps to the next event and lets it happen. It reports whether there was one.
func (q *queue) Step() bool {
	if len(q.events) == 0 {
		return false
	}
	e, _ := heap.Pop(&q.events).(*event)
	q.now = e.at
	e.do()
	return true
}

// Until lets everything happen that is due until then, and the time be t.
func (q *queue) Until(t time.Duration) {
	for len(q.events) > 0 && q.events[0].at <= t {
		q.Step()
	}
	q.now = max(q.now, t)
}

type eventHeap []*event // pointers, which heap.Interface takes as they are

func (h eventHeap) Len() int { return len(h) }

func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}

func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *eventHeap) Push(x any) {
	if e, ok := x.(*event); ok {
		*h = append(*h, e)
	}
}

// Pop implements heap.Interface.
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
