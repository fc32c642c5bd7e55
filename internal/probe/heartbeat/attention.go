package heartbeat

import (
	"errors"
	"sync"
	"time"
)

var errNotBegun = errors.New("hale has not begun to listen for heartbeats")

// attention is since when is listened without a gap.
type attention struct {
	mu    sync.Mutex
	since time.Time // zero: the receiver does not listen
	why   error     // then
	lost  time.Time // since when it is none, whatever the reason
}

func newAttention() *attention { return &attention{why: errNotBegun} }

// gain says that it was heard what should be; an attention that was there goes on.
func (a *attention) gain(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.IsZero() {
		a.since, a.why, a.lost = now, nil, time.Time{}
	}
}

// lose says that nothing may have been heard since the last gain.
func (a *attention) lose(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost.IsZero() {
		a.lost = time.Now()
	}
	a.since, a.why = time.Time{}, why
}

// span returns since when there is no gap. An error says why the receiver does not listen.
func (a *attention) span() (since time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.since, a.why
}

// trouble returns why nothing is heard, and since when. No error: no fleet has heartbeat checks, or listening only
// began.
func (a *attention) trouble() (since time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if errors.Is(a.why, errNotBegun) {
		return time.Time{}, nil
	}
	return a.lost, a.why
}
