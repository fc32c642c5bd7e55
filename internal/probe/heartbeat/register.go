package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/secret"
)

// Register is what was heard of one fleet's machines, for one probe engine.
type Register struct {
	fleet     fleet.Name
	attention *attention
	close     func()

	mu      sync.Mutex // never held across a call
	entries map[probe.ID]*entry
	// missed is when a beat for a check was last refused through our own fault.
	missed map[fleet.CheckName]missed
	// anybody says for which checks any machine was heard at all: where none ever was, they may all report elsewhere.
	anybody map[fleet.CheckName]bool
}

type missed struct {
	at  time.Time
	why error
}

// entry is one target.
type entry struct {
	since    time.Time // nothing before counts
	epoch    uint64
	instance fleet.InstanceID
	last     probe.Beat    // none yet where its time is zero
	heard    chan struct{} // closed by the next beat
}

var _ probe.Hearing = (*Register)(nil)

func newRegister(name fleet.Name, a *attention, unlist func()) *Register {
	return &Register{
		fleet: name, attention: a, close: unlist, entries: make(map[probe.ID]*entry),
		missed: make(map[fleet.CheckName]missed), anybody: make(map[fleet.CheckName]bool),
	}
}

// Close ends the register: nothing is noted in it any more.
func (r *Register) Close() { r.close() }

// Watch implements probe.Hearing.
func (r *Register) Watch(t probe.Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[t.ID] = &entry{since: time.Now(), epoch: t.Epoch, instance: t.Instance, heard: make(chan struct{})}
}

// Forget implements probe.Hearing.
func (r *Register) Forget(id probe.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.entries, id)
}

// hear notes a beat, and reports whether anybody waits for the target's.
func (r *Register) hear(id probe.ID, b probe.Beat) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.anybody[id.Check] = true
	e := r.entries[id]
	if e == nil {
		return false
	}
	e.last = b
	close(e.heard)
	e.heard = make(chan struct{})
	return true
}

// miss notes that a beat for the check came and could not be taken.
func (r *Register) miss(check fleet.CheckName, at time.Time, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missed[check] = missed{at, why}
}

var errNotWatched = errors.New("hale does not listen for this machine's heartbeats yet")

// Await implements probe.Hearing.
func (r *Register) Await(ctx context.Context, t probe.Target) (probe.Beat, error) {
	from := time.Now().Add(-t.Spec.Every)
	for {
		e, heard, known := r.look(t)
		switch {
		case !known:
			return probe.Beat{}, probe.LocalError{Err: errNotWatched}
		case e.last.At.After(from):
			return e.last, nil
		}
		select {
		case <-heard:
		case <-ctx.Done():
			return probe.Beat{}, r.silence(context.WithoutCancel(ctx), t, e, from)
		}
	}
}

// look returns what is known of the target, as it is now.
func (r *Register) look(t probe.Target) (e entry, heard <-chan struct{}, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := r.entries[t.ID]
	if is == nil || is.epoch != t.Epoch || is.instance != t.Instance {
		return entry{}, nil, false
	}
	return *is, is.heard, true
}

// silence says what it means that nothing was heard of the target since from: a failure only where it would have been
// heard.
func (r *Register) silence(ctx context.Context, t probe.Target, e entry, from time.Time) error {
	listening, err := r.attention.span()
	if err == nil {
		err = r.deaf(t, e, listening, from, time.Now())
	}
	if err == nil {
		_, err = secret.Read(ctx, t.Spec.Heartbeat.Token)
		if err != nil {
			err = fmt.Errorf("the secret of token cannot be read: %w", err)
		}
	}
	if err != nil {
		return probe.LocalError{Err: err}
	}
	return probe.SilentError{Last: e.last.At}
}

// deaf is why a beat since from may not have been heard, or not be due yet; nil: it is missing.
func (r *Register) deaf(t probe.Target, e entry, listening, from, now time.Time) error {
	r.mu.Lock()
	m, anybody := r.missed[t.Check], r.anybody[t.Check]
	r.mu.Unlock()
	switch {
	case !anybody:
		return errors.New("no machine of the fleet has sent this heartbeat to this hale yet")
	case m.at.After(from):
		return m.why
	case listening.After(from):
		return fmt.Errorf("hale listens for heartbeats since %s only", clock(listening))
	}
	began := e.since
	if listening.After(began) {
		began = listening
	}
	if e.last.At.IsZero() && now.Sub(began) < grace(t.Spec) {
		return errors.New("no heartbeat has come yet")
	}
	return nil
}

// grace is for how long a machine that was never heard is unknown: as long as would make it down.
func grace(c *policy.Check) time.Duration {
	return time.Duration(max(c.DownAfter, c.DownIn, 1))*c.Every + c.Timeout
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05 UTC") }
