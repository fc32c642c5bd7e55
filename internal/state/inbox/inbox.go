// Package inbox keeps people's orders in the store until the fleet's owner takes them up.
//
// It promises that an order is durable before it is acknowledged, that several posted together are there together or
// not at all, and that the sender can learn what became of each. That an order takes effect once is the owner's part:
// it deletes the letter in the transaction that stores what follows (Writes). What an order means is decided elsewhere.
package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"

	"github.com/google/uuid"
)

const (
	root     = "inbox/"
	deadRoot = "dead-letters/"
)

// NewID returns an id that was never used, and sorts behind those given before.
func NewID() (fleet.OrderID, error) {
	id, err := uuid.NewV7()
	return fleet.OrderID(id.String()), err
}

// IDOf returns the id that belongs to the seed at the moment. It sorts as those of NewID do.
func IDOf(at time.Time, seed string) fleet.OrderID {
	sum := sha256.Sum256([]byte(seed))
	id := uuid.UUID(sum[:16])
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	copy(id[:6], ms[2:])
	id[6] = id[6]&0x0f | 7<<4 // version 7
	id[8] = id[8]&0x3f | 0x80 // of RFC 9562
	return fleet.OrderID(id.String())
}

func prefix(name fleet.Name) string                { return root + string(name) + "/" }
func key(name fleet.Name, id fleet.OrderID) string { return prefix(name) + string(id) }

// deadPrefix is where the fleet's dead letters lie.
func deadPrefix(name fleet.Name) string { return deadRoot + string(name) + "/" }

// Letter is an order as it lies in the store.
type Letter struct {
	Key      string
	Revision int64
	Value    []byte
	Order    fleet.Order
	// Err says why the letter is no order; nil when it is one.
	Err error
}

// Post stores orders, all or none, and returns the revision from which to Await what becomes of them. fault.Invalid:
// one of them is malformed, or they are too many for one transaction. fault.UnknownOutcome: they may have been stored.
func Post(ctx context.Context, s state.Store, orders ...fleet.Order) (int64, error) {
	txn, err := Letters(orders...)
	if err != nil {
		return 0, err
	}
	return s.Commit(ctx, txn)
}

// Letters returns what posts the orders, for a transaction that does more. fault.Invalid: one of them is malformed.
func Letters(orders ...fleet.Order) (state.Txn, error) {
	var txn state.Txn
	for i := range orders {
		o := &orders[i]
		if err := o.Check(); err != nil {
			return txn, fault.New(fault.Invalid, "inbox.post", string(o.Fleet), err)
		}
		data, err := json.Marshal(o)
		if err != nil {
			return txn, fault.New(fault.Invalid, "inbox.post", string(o.Fleet), err)
		}
		k := key(o.Fleet, o.ID)
		txn.If = append(txn.If, state.Absent(k))
		txn.Then = append(txn.Then, state.Put(k, data))
	}
	return txn, nil
}

// Pending returns the fleet's letters, oldest first, and the revision to follow from.
func Pending(ctx context.Context, s state.Store, name fleet.Name) ([]Letter, int64, error) {
	entries, revision, err := s.List(ctx, prefix(name))
	if err != nil {
		return nil, 0, err
	}
	letters := make([]Letter, 0, len(entries))
	for _, e := range entries {
		letters = append(letters, open(name, e))
	}
	return letters, revision, nil
}

// Follow yields the letters that are posted to the fleet after the revision, until ctx ends. After an error it yields
// nothing more.
func Follow(ctx context.Context, s state.Store, name fleet.Name, after int64) iter.Seq2[Letter, error] {
	return func(yield func(Letter, error) bool) {
		for event, err := range s.Watch(ctx, prefix(name), after) {
			switch {
			case err != nil:
				yield(Letter{}, err)
				return
			case event.Deleted:
			case !yield(open(name, event.Entry), nil):
				return
			}
		}
	}
}

// open reads a letter. It must be what it says, where it lies.
func open(name fleet.Name, e state.Entry) Letter {
	l := Letter{Key: e.Key, Revision: e.Revision, Value: e.Value}
	if l.Err = json.Unmarshal(e.Value, &l.Order); l.Err != nil {
		return l
	}
	if l.Err = l.Order.Check(); l.Err == nil && (key(name, l.Order.ID) != e.Key || l.Order.Fleet != name) {
		l.Err = errors.New("it lies in another place than its own")
	}
	return l
}

// Dead is a letter that was refused.
type Dead struct {
	At     time.Time
	Reason fleet.Reason
	Detail string `json:",omitempty"`
	Letter string // as it was posted
}

// longestLetter bounds what is kept of a refused letter, which may be anything.
const longestLetter = 4096

// Taken returns the condition and the write with which an owner takes the letter out of the inbox.
func (l Letter) Taken() (state.Compare, state.Write) {
	return state.At(l.Key, l.Revision), state.Delete(l.Key)
}

// Bury returns the write that keeps a refused letter.
func (l Letter) Bury(d Dead) (state.Write, error) {
	d.Letter = string(l.Value[:min(len(l.Value), longestLetter)])
	data, err := json.Marshal(d)
	if err != nil {
		return state.Write{}, fault.New(fault.Invalid, "inbox.bury", l.Key, err)
	}
	return state.Put(deadRoot+strings.TrimPrefix(l.Key, root), data), nil
}

// DeadLetters returns the fleet's refused letters, oldest first.
func DeadLetters(ctx context.Context, s state.Store, name fleet.Name) ([]Dead, error) {
	entries, _, err := s.List(ctx, deadPrefix(name))
	if err != nil {
		return nil, err
	}
	out := make([]Dead, 0, len(entries))
	for _, e := range entries {
		var d Dead
		if err := json.Unmarshal(e.Value, &d); err != nil {
			return nil, fault.New(fault.Permanent, "inbox.dead-letters", e.Key, err)
		}
		out = append(out, d)
	}
	return out, nil
}

// KeepDead is how many refused letters of a fleet are kept.
const KeepDead = 200

// Trim deletes the oldest dead letters beyond KeepDead.
func Trim(ctx context.Context, s state.Store, name fleet.Name) error {
	entries, _, err := s.List(ctx, deadPrefix(name))
	if err != nil || len(entries) <= KeepDead {
		return err
	}
	_, err = s.Commit(ctx, state.Txn{Then: []state.Write{
		state.DeleteRange(entries[0].Key, entries[len(entries)-KeepDead].Key),
	}})
	return err
}

// Await returns when the order's owner took it out of the inbox: it was taken up or refused. The error is that of ctx
// when the owner did not do so in time, or says why the store cannot be watched.
func Await(ctx context.Context, s state.Store, o *fleet.Order, after int64) error {
	k := key(o.Fleet, o.ID)
	for event, err := range s.Watch(ctx, k, after) {
		if errors.Is(err, state.ErrCompacted) {
			return awaitAnew(ctx, s, o, k)
		}
		if err != nil {
			return err
		}
		if event.Deleted && event.Key == k {
			return nil
		}
	}
	return fmt.Errorf("order %s: %w", o.ID, context.Cause(ctx))
}

// awaitAnew is Await where it is not known any more what happened since the order was posted.
func awaitAnew(ctx context.Context, s state.Store, o *fleet.Order, key string) error {
	letters, revision, err := s.List(ctx, key)
	switch {
	case err != nil:
		return err
	case len(letters) == 0:
		return nil
	}
	return Await(ctx, s, o, revision)
}
