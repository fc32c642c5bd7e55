package openstack

import (
	"cmp"
	"sync"
	"time"

	"hale/internal/core/fault"
)

// Bounds for requests under way. When forty servers fail together, each repair looks, orders and waits. An API of a few
// workers that gets all of it at once answers each after its caller's deadline, and its work is in vain. So requests
// wait here, where they cost nothing when their time is over.
const (
	// requestsAtOnce bounds the requests under way in one lane.
	requestsAtOnce = 8
	// lookEvery is the time from one look at a server to the next while Nova is at work, at least; lookAtLast bounds
	// what that becomes where Nova is slow.
	lookEvery  = 500 * time.Millisecond
	lookAtLast = 5 * time.Second
	// leaves is how much longer than the look itself the pause after it is.
	leaves = 4
)

// The lanes beside those of the services. Each service has its own, so that one that hangs does not block the others.
const (
	openLane    = "open"    // for lists of everything; without a limit
	consoleLane = "console" // for what Nova asks a hypervisor, which may be dead
	usageLane   = "usage"   // likewise, again and again
)

// traffic is the requests under way.
type traffic struct {
	mu    sync.Mutex
	lanes map[string]chan struct{} // with a token for each request
}

func (t *traffic) lane(name string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lanes[name]
	if l == nil {
		l = make(chan struct{}, requestsAtOnce)
		t.lanes[name] = l
	}
	return l
}

// enter waits until the request to the service may be sent; leave ends it.
func (c *call) enter(service string) (leave func(), err error) {
	if c.lane == openLane {
		return func() {}, nil
	}
	lane := c.p.traffic.lane(cmp.Or(c.lane, service))
	select {
	case lane <- struct{}{}:
		return func() { <-lane }, nil
	case <-c.Done():
		return nil, c.fault(fault.Transient, c.Err())
	}
}

// lookAgain is the pause after a look that took so long: the slower the cloud answers, the less it is asked.
func lookAgain(took time.Duration) time.Duration {
	return min(max(lookEvery, leaves*took), lookAtLast)
}
