// Package keepalive renews one lease of a store and keeps its honest clock: what every
// adapter of package state needs and none should write twice.
//
// It promises that Remaining never overstates: a renewal counts from before its request was sent, and one with a lost
// answer does not count. It does not grant leases and starts no goroutine: the caller of Run owns it.
package keepalive

import (
	"context"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// Options say what to keep alive, and how.
type Options struct {
	ID     state.LeaseID
	TTL    time.Duration // as granted; more than 0
	Every  time.Duration // from one renewal to the next, if more often than by a third of the TTL; 0: by that
	SentAt time.Time     // when the request for the grant was about to be sent

	// Renew sends one renewal and returns the time granted from then on. It returns when its
	// context ends. fault.NotFound: the lease is gone; any other error is tried again.
	Renew func(ctx context.Context) (time.Duration, error)
	// Revoke ends the lease in the store. fault.NotFound: it is gone already.
	Revoke func(ctx context.Context) error
}

// Lease is a state.Lease while Run runs.
type Lease struct {
	opts Options
	lost chan struct{}

	mu       sync.Mutex
	deadline time.Time // until when the lease surely exists
	isLost   bool
}

var _ state.Lease = (*Lease)(nil)

// New returns the lease, counting from SentAt. The caller runs Run at once.
func New(opts Options) *Lease {
	return &Lease{opts: opts, lost: make(chan struct{}), deadline: opts.SentAt.Add(opts.TTL)}
}

// Run renews the lease, every third of its time or more often, until ctx ends or the lease is lost, and
// leaves it lost. After a failed renewal it tries again sooner.
func (l *Lease) Run(ctx context.Context) {
	defer l.lose()
	ttl := l.opts.TTL
	next := l.opts.SentAt.Add(l.pause(ttl))
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.lost:
			return
		case <-time.After(min(time.Until(next), l.Remaining())):
		}
		if l.Remaining() == 0 {
			return
		}
		sent := time.Now()
		granted, err := l.renew(ctx, ttl/3)
		switch {
		case err == nil:
			ttl = granted
			l.extend(sent.Add(ttl))
			next = sent.Add(l.pause(ttl))
		case fault.Is(err, fault.NotFound):
			return
		default:
			next = time.Now().Add(ttl / 10)
		}
	}
}

// pause is the time from one renewal to the next.
func (l *Lease) pause(ttl time.Duration) time.Duration {
	if every := l.opts.Every; every > 0 {
		return min(every, ttl/3)
	}
	return ttl / 3
}

// renew bounds one attempt, so that a lost answer leaves time for another.
func (l *Lease) renew(ctx context.Context, limit time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, min(limit, l.Remaining()))
	defer cancel()
	return l.opts.Renew(ctx)
}

func (l *Lease) extend(deadline time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = deadline
}

func (l *Lease) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isLost {
		l.isLost = true
		close(l.lost)
	}
}

// ID implements state.Lease.
func (l *Lease) ID() state.LeaseID { return l.opts.ID }

// Remaining implements state.Lease.
func (l *Lease) Remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isLost {
		return 0
	}
	return max(0, time.Until(l.deadline))
}

// Lost implements state.Lease.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Revoke implements state.Lease.
func (l *Lease) Revoke(ctx context.Context) error {
	l.lose()
	if err := l.opts.Revoke(ctx); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}
