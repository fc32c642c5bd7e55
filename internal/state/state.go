// Package state is the port to the one store that hale keeps its truth in: machines,
// incidents, repairs, the ledger, the inbox, the journal and the leases of ownership.
//
// What a Store promises:
//
//   - Every change of the store has a revision; revisions only grow, and all writes of one
//     transaction share one. A key's revision is the revision of its last change and serves
//     as its fencing token.
//   - Commit writes all or nothing, and only if every compare holds at that instant. When it
//     returns without an error, the writes survive the death of the process and of the machine.
//   - Reads are linearizable: they see every commit acknowledged before they began.
//   - Keys put under a lease are deleted, in one change, when the lease expires or is revoked.
//
// What it does not promise: that a commit which failed with fault.UnknownOutcome was or was
// not done (read to find out), that a watch can begin at any old revision (history is
// compacted), or that a lease expires on the dot (it may live longer than its time, never shorter).
//
// Package statetest has the conformance suite. The adapters are memory, for tests and
// simulation, and etcd.
package state

import (
	"context"
	"errors"
	"iter"
	"time"
)

// ErrCompacted is the cause of the error with which Watch refuses to begin at, or fails to go on from, a revision when
// its history is gone. The caller lists again and watches from there.
var ErrCompacted = errors.New("the history since that revision is compacted")

// LeaseID names a lease within its store. 0 means no lease.
type LeaseID int64

// Entry is one key as it stands.
type Entry struct {
	Key      string
	Value    []byte  // owned by the caller
	Revision int64   // of the last change of this key
	Lease    LeaseID // what the key lives and dies with, or 0
}

// Event is one change of one key. The entry of a deletion has its key and the revision of
// the deletion, and nothing else.
type Event struct {
	Entry
	Deleted bool
}

// Store is the port. It is safe for concurrent use.
type Store interface {
	// Get returns the entry of the key.
	// fault.NotFound: there is none. fault.Transient: not known now.
	Get(ctx context.Context, key string) (Entry, error)

	// List returns all entries with keys that begin with the prefix ("" for all), sorted by key and as of one revision
	// of the store, which it also returns: a Watch after it misses nothing.
	List(ctx context.Context, prefix string) ([]Entry, int64, error)

	// Commit does the writes of the transaction if all its compares hold, and returns the
	// revision of the store afterwards.
	//
	// Nothing was written: fault.Conflict (a compare did not hold), fault.LeaseLost (a write
	// names a lease that does not exist), fault.NoSpace, fault.Throttled, fault.Transient, and
	// fault.Invalid (see Txn.Validate; never sent).
	// It may have been written: fault.UnknownOutcome.
	Commit(ctx context.Context, txn Txn) (int64, error)

	// Watch yields every change to keys with the prefix, after the given revision (that one
	// excluded; 0 means from the beginning of history), in the order of revisions and, within
	// a transaction, of its writes. It ends without an error only when ctx ends or the
	// consumer stops; else the last thing it yields is an error: cause ErrCompacted (kind
	// fault.NotFound), or fault.Transient. It holds no goroutine once it has ended.
	Watch(ctx context.Context, prefix string, after int64) iter.Seq2[Event, error]

	// Grant makes a lease and renews it until ctx ends, so ctx bounds the life of the lease
	// and not only of this call. The store may grant more than the ttl asked for, in whole seconds.
	Grant(ctx context.Context, ttl time.Duration) (Lease, error)
}

// Lease is a lease that its holder keeps alive. It is safe for concurrent use.
type Lease interface {
	// ID is what Put writes under and Held compares with.
	ID() LeaseID

	// Remaining tells for how long the lease surely still exists, by the local monotonic
	// clock, counted from before the last successful renewal was sent: it never overstates,
	// except that the clock stands still while the whole machine sleeps. 0 once Lost.
	Remaining() time.Duration

	// Lost is closed as soon as the lease is no longer surely held: it ran out, was found
	// gone or was revoked, or the context given to Grant ended and with it the renewals.
	Lost() <-chan struct{}

	// Revoke ends the lease and deletes its keys at once. From the call on the lease is Lost,
	// whatever the result; after an error it expires by itself. Revoking twice is no error.
	Revoke(ctx context.Context) error
}

// ClusterPrefix begins the keys about the servers of hale's own cluster. They are of that one alone: they go into no
// backup, and into no other store.
const ClusterPrefix = "cluster/"
