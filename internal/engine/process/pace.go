package process

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Bounds of the time from a try that failed to the next one: it doubles from the first to the last.
const (
	FirstAgain = time.Second
	LastAgain  = 30 * time.Second
)

// Pace is the pause between questions.
type Pace struct {
	mu    sync.Mutex
	until time.Time     // nothing is asked before
	again time.Duration // the pause after the last question that failed; 0: it did not
}

// Wait returns when it is time to ask, or ctx ends.
func (p *Pace) Wait(ctx context.Context) error {
	p.mu.Lock()
	until := p.until
	p.mu.Unlock()
	return Rest(ctx, time.Until(until))
}

// Failed says that a question failed in a way that means to ask less.
type Failed bool

// Heed takes in how a question ended: after one that failed the pause is longer each time, after another one it is as
// given. Of those that end within a pause, since they were put together with the one that began it, none counts.
func (p *Pace) Heed(failed Failed, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Before(p.until) {
		return
	}
	again := time.Duration(0)
	if failed {
		again = min(max(2*p.again, FirstAgain), LastAgain)
	}
	p.again = again
	p.until = now.Add(cmp.Or(p.again, pause))
}
