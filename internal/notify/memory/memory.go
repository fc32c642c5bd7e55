// Package memory is the twin of a target in memory, for tests and simulated runs: it keeps what it takes, and fails as
// often as it is told to.
//
// It promises what package notify demands of a target, and to hold no lock while it waits.
package memory

import (
	"context"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/notify"
)

// Target keeps messages. The zero value takes everything at once.
type Target struct {
	// Latency is how long each message takes.
	Latency time.Duration

	mu    sync.Mutex
	taken []notify.Message
	tries []notify.Message
	fails []error // of the next messages, one after the other
	down  error   // of all messages, while it is not nil
	lost  int     // how many of the next messages are taken, and their answers lost
}

// Send implements notify.Target.
func (t *Target) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	if t.Latency > 0 {
		timer := time.NewTimer(t.Latency)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return notify.Answer{}, fault.New(fault.UnknownOutcome, "memory.send", m.Key, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tries = append(t.tries, m)
	if t.down != nil {
		return notify.Answer{}, t.down
	}
	if len(t.fails) > 0 {
		err := t.fails[0]
		t.fails = t.fails[1:]
		return notify.Answer{}, err
	}
	t.taken = append(t.taken, m)
	if t.lost > 0 {
		t.lost--
		return notify.Answer{}, fault.New(fault.UnknownOutcome, "memory.send", m.Key, context.DeadlineExceeded)
	}
	return notify.Answer{Said: "taken"}, nil
}

// Fail lets the next messages fail, one with each error.
func (t *Target) Fail(errs ...error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fails = append(t.fails, errs...)
}

// Down lets all messages fail, until it is called with nil.
func (t *Target) Down(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.down = err
}

// Lose takes the next messages and loses the answers.
func (t *Target) Lose(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost += n
}

// Taken returns the messages that it took, in order; one that came twice is there twice.
func (t *Target) Taken() []notify.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]notify.Message(nil), t.taken...)
}

// Tries returns every message that reached it.
func (t *Target) Tries() []notify.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]notify.Message(nil), t.tries...)
}
