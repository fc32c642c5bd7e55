package memory

import (
	"context"
	"iter"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/keepalive"
)

// Effect is what a fault does to one call.
type Effect int

// The effects.
const (
	Normal     Effect = iota // the call goes its way
	FailBefore               // fault.Transient, and nothing is done
	FailAfter                // it is done, and its answer is lost
	NoSpace                  // fault.NoSpace, and nothing is done
	Stall                    // nothing is done; the call hangs until its context ends
	StallAfter               // it is done; the call hangs until its context ends
)

// Call says what a call is about to do.
type Call struct {
	Op    Op
	Key   string        // OpGet: the key; OpList, OpWatch: the prefix
	Txn   state.Txn     // OpCommit
	Lease state.LeaseID // OpRenew, OpRevoke
}

// Op names a call of the store.
type Op string

// The calls that can fail.
const (
	OpGet    Op = "get"
	OpList   Op = "list"
	OpCommit Op = "commit"
	OpWatch  Op = "watch" // asked before each look for news; anything but Normal ends the watch with fault.Transient
	OpGrant  Op = "grant"
	OpRenew  Op = "renew"
	OpRevoke Op = "revoke"
)

// Faults decides what happens to each call of one Store. It is called without any lock held
// and may wait, to make the call slow.
type Faults func(context.Context, Call) Effect

// Store is one engine's access to a Backing. It implements state.Store.
type Store struct {
	backing *Backing
	faults  Faults
}

var _ state.Store = (*Store)(nil)

// Open returns access with the faults; nil means none.
func (b *Backing) Open(faults Faults) *Store {
	if faults == nil {
		faults = func(context.Context, Call) Effect { return Normal }
	}
	return &Store{backing: b, faults: faults}
}

// Get implements state.Store.
func (s *Store) Get(ctx context.Context, key string) (state.Entry, error) {
	if err := state.CheckKey("state.get", key); err != nil {
		return state.Entry{}, err
	}
	var e state.Entry
	err := s.call(ctx, Call{Op: OpGet, Key: key}, fault.Transient, func() (err error) {
		e, err = s.backing.get(key)
		return err
	})
	return e, err
}

// List implements state.Store.
func (s *Store) List(ctx context.Context, prefix string) ([]state.Entry, int64, error) {
	var found []state.Entry
	var revision int64
	err := s.call(ctx, Call{Op: OpList, Key: prefix}, fault.Transient, func() error {
		found, revision = s.backing.list(prefix)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return found, revision, nil
}

// Commit implements state.Store.
func (s *Store) Commit(ctx context.Context, txn state.Txn) (int64, error) {
	if err := txn.Validate(); err != nil {
		return 0, err
	}
	var revision int64
	err := s.call(ctx, Call{Op: OpCommit, Txn: txn}, fault.UnknownOutcome, func() (err error) {
		revision, err = s.backing.commit(txn)
		return err
	})
	if err != nil {
		return 0, err
	}
	return revision, nil
}

// Watch implements state.Store.
func (s *Store) Watch(ctx context.Context, prefix string, after int64) iter.Seq2[state.Event, error] {
	return func(yield func(state.Event, error) bool) {
		revision := after
		for ctx.Err() == nil {
			if s.faults(ctx, Call{Op: OpWatch, Key: prefix}) != Normal {
				if ctx.Err() == nil {
					yield(state.Event{}, fault.New(fault.Transient, "state.watch", prefix, nil))
				}
				return
			}
			n, err := s.backing.after(prefix, revision)
			if err != nil {
				yield(state.Event{}, err)
				return
			}
			for _, e := range n.events {
				if ctx.Err() != nil || !yield(e, nil) {
					return
				}
			}
			revision = n.upTo
			select {
			case <-ctx.Done():
			case <-n.changed:
			}
		}
	}
}

// Grant implements state.Store.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (state.Lease, error) {
	return s.GrantOften(ctx, ttl, 0)
}

// GrantOften is Grant for a lease that is renewed as often as said.
func (s *Store) GrantOften(ctx context.Context, ttl, every time.Duration) (state.Lease, error) {
	if ttl <= 0 {
		return nil, fault.New(fault.Invalid, "state.grant", ttl.String(), nil)
	}
	sent := time.Now()
	var id state.LeaseID
	err := s.call(ctx, Call{Op: OpGrant}, fault.Transient, func() error {
		id = s.backing.grant(ttl)
		return nil
	})
	if err != nil {
		return nil, err
	}
	l := keepalive.New(keepalive.Options{
		ID: id, TTL: ttl, Every: every, SentAt: sent,
		Renew:  func(ctx context.Context) (time.Duration, error) { return s.renew(ctx, id) },
		Revoke: func(ctx context.Context) error { return s.revoke(ctx, id) },
	})
	// It is the caller's, by ctx, and ends with it or with the lease.
	go l.Run(ctx)
	return l, nil
}

func (s *Store) renew(ctx context.Context, id state.LeaseID) (ttl time.Duration, err error) {
	err = s.call(ctx, Call{Op: OpRenew, Lease: id}, fault.Transient, func() (err error) {
		ttl, err = s.backing.renew(id)
		return err
	})
	return ttl, err
}

func (s *Store) revoke(ctx context.Context, id state.LeaseID) error {
	return s.call(ctx, Call{Op: OpRevoke, Lease: id}, fault.UnknownOutcome, func() error {
		s.backing.revoke(id)
		return nil
	})
}

// call does one call under the effect that the faults decide on. A lost answer has the kind lost.
func (s *Store) call(ctx context.Context, c Call, lost fault.Kind, do func() error) error {
	op, subject := "state."+string(c.Op), c.Key
	if c.Op == OpCommit {
		subject = c.Txn.Subject()
	}
	if err := ctx.Err(); err != nil {
		return fault.New(fault.Transient, op, subject, err)
	}
	effect := s.faults(ctx, c)
	if effect == Normal && ctx.Err() != nil {
		effect = Stall // the faults waited for longer than the caller does
	}
	switch effect {
	case FailBefore:
		return fault.New(fault.Transient, op, subject, nil)
	case NoSpace:
		return fault.New(fault.NoSpace, op, subject, nil)
	case FailAfter, StallAfter:
		_ = do() // the caller does not learn how it went
		if effect == StallAfter {
			<-ctx.Done()
		}
		return fault.New(lost, op, subject, ctx.Err())
	case Stall:
		<-ctx.Done()
		return fault.New(lost, op, subject, ctx.Err())
	case Normal: // it goes its way
	}
	return do()
}
