package calendar

import (
	"container/heap"
	"time"
)

// Calendar holds what is due, in the order of time and, within one instant, of being scheduled.
type Calendar struct {
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
func (c *Calendar) Now() time.Duration { return c.now }

// At schedules do. A time that has passed means now.
func (c *Calendar) At(t time.Duration, do func()) {
	c.count++
	heap.Push(&c.events, &event{at: max(t, c.now), seq: c.count, do: do})
}

// After schedules do for the time d from now.
func (c *Calendar) After(d time.Duration, do func()) { c.At(c.now+d, do) }

// Next returns when the next event is due, and whether there is one.
func (c *Calendar) Next() (time.Duration, bool) {
	if len(c.events) == 0 {
		return 0, false
	}
	return c.events[0].at, true
}

// Step jumps to the next event and lets it happen. It reports whether there was one.
func (c *Calendar) Step() bool {
	if len(c.events) == 0 {
		return false
	}
	e, _ := heap.Pop(&c.events).(*event)
	c.now = e.at
	e.do()
	return true
}

// Until lets everything happen that is due until then, and the time be t.
func (c *Calendar) Until(t time.Duration) {
	for len(c.events) > 0 && c.events[0].at <= t {
		c.Step()
	}
	c.now = max(c.now, t)
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
