package openstack

import (
	"time"

	"hale/internal/fault"
)

// What much at once costs a cloud: when forty servers fail together, each repair looks, orders and waits. Asked all of it at the same time, an API of a few workers answers each so late
// that nobody waits for it any more, and what it did was in vain. So requests wait here, where they cost nothing when their time is over.
const (
	// requestsAtOnce bounds the requests under way, beside those of a listing: it is what tells of everything.
	requestsAtOnce = 8
	// lookEvery is the time from one look at a server to the next while Nova is at work, at least; lookAtLast bounds what that becomes where Nova is slow.
	lookEvery  = 500 * time.Millisecond
	lookAtLast = 5 * time.Second
	// leaves is how much longer than the look itself the pause after it is.
	leaves = 4
)

// enter waits until the request may be sent; leave ends it.
func (c *call) enter() (leave func(), err error) {
	if c.ahead {
		return func() {}, nil
	}
	select {
	case c.p.requests <- struct{}{}:
		return func() { <-c.p.requests }, nil
	case <-c.Done():
		return nil, c.fault(fault.Transient, c.Err())
	}
}

// lookAgain is the pause after a look that took so long: the slower the cloud answers, the less it is asked.
func lookAgain(took time.Duration) time.Duration {
	return min(max(lookEvery, leaves*took), lookAtLast)
}
