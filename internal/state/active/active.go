// Package active says which of several servers on one store is the active one: the one that looks after the fleets. The
// others stand by.
//
// It promises:
//
//   - At most one server writes at a time. What the active one commits through its Office also compares its lease, in
//     the same transaction, so that the store refuses a server that was paused, or cut off, and took itself for the
//     active one.
//   - The next one watches and judges as soon as the last one's office has run out, TTL after its last sign, and calls
//     only once that one's calls have ended (L7): no call is under way longer than Cover after its sender's last sign,
//     and after an office that ended without a word a lease taken through the next one covers nothing for Rest.
//   - One that leaves with a word is followed at once.
//
// It knows nothing of fleets.
package active

import (
	"context"
	"encoding/json"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/tenure"
	"hale/internal/secret"
	"hale/internal/state"
)

const (
	// RenewEvery is how often the active server renews its lease.
	RenewEvery = 2 * time.Second
	// TTL is the lease's length: three renewals, of which one may be lost.
	TTL = 8 * time.Second
	// Cover is how long after its last renewal the active server's calls have all ended: between two renewals it covers
	// a disruptive call, also when one renewal comes a second late.
	Cover = tenure.DisruptiveLimit + tenure.Margin + RenewEvery + time.Second
	// Grace is for a server that was paused between reading its lease and sending a call.
	Grace = 6 * time.Second
	// Rest is for how long the next server calls nothing after one that did not say that it left.
	Rest = Cover - TTL + Grace
)

const (
	ownerKey = "active/server" // under the lease
	lastKey  = "active/last"   // which server was the active one last
)

// lookEvery is how often the active server looks whether its key is still there.
const lookEvery = 5 * time.Second

// lookAgain is after how long a server that stands by looks by itself, whatever a watch tells.
const lookAgain = 30 * time.Second

// Server is one of those on the store.
type Server struct {
	Name    string
	Process string // another one at each start
	Version string `json:",omitempty"`
	// Configuration is a hash of what the server's file says of the fleets.
	Configuration string
	Since         time.Time `json:",omitzero"` // by its wall clock
	// Unfit says why it does not follow by itself, while it stands by; empty: it does.
	Unfit string `json:",omitempty"`
	// Left says that it said goodbye.
	Left bool `json:",omitempty"`
	// Token is what a server that stands by shows where it reports what it sees; empty: it does not look.
	Token Token `json:",omitempty"`
	// Hears is where the active server takes reports of those that stand by; zero: nowhere.
	Hears Hearing `json:",omitzero"`
}

// Token is a secret between one server that stands by and the active one.
type Token string

// String implements fmt.Stringer: what it is shows nowhere.
func (Token) String() string { return secret.Shown }

// GoString implements fmt.GoStringer.
func (Token) GoString() string { return secret.Shown }

// Hearing is where a server takes reports.
type Hearing struct {
	At string // host:port
	// Certificate is the SHA-256 of the one that it shows there, in hex; empty: it shows that of hale's own cluster.
	Certificate string `json:",omitempty"`
}

// Store is a store whose leases can be renewed more often than by a third of their time.
type Store interface {
	state.Store
	GrantOften(ctx context.Context, ttl, every time.Duration) (state.Lease, error)
}

// Last returns which server is the active one, or was it last; false: there was none.
func Last(ctx context.Context, store state.Store) (s Server, ever bool, err error) {
	s, rev, err := read(ctx, store, lastKey)
	return s, rev != 0, err
}

// Is returns which server is the active one; false: none is.
func Is(ctx context.Context, store state.Store) (s Server, some bool, err error) {
	s, rev, err := read(ctx, store, ownerKey)
	return s, rev != 0, err
}

func read(ctx context.Context, store state.Store, key string) (s Server, revision int64, err error) {
	e, err := store.Get(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return Server{}, 0, nil
	}
	if err != nil {
		return Server{}, 0, err
	}
	if err := json.Unmarshal(e.Value, &s); err != nil {
		return Server{}, 0, fault.New(fault.Permanent, "active.read", key, err)
	}
	return s, e.Revision, nil
}

// Await returns when no server is active, or ctx ends. told hears which one is, at first, whenever something changes,
// and every half a minute.
func Await(ctx context.Context, store state.Store, told func(Server)) error {
	for {
		entries, revision, err := store.List(ctx, ownerKey)
		if err != nil || len(entries) == 0 {
			return err
		}
		is, _, err := read(ctx, store, ownerKey)
		if err != nil {
			return err
		}
		if is != (Server{}) {
			told(is)
		}
		if err := news(ctx, store, ownerKey, revision); err != nil {
			return err
		}
	}
}

// news returns when something below the prefix has changed since the revision, and after half a minute. The error says
// that ctx has ended, or the store failed.
func news(ctx context.Context, store state.Store, prefix string, since int64) error {
	looking, stop := context.WithTimeout(ctx, lookAgain)
	defer stop()
	for _, err := range store.Watch(looking, prefix, since) {
		if err != nil {
			return err
		}
		break // whatever it was, it is read again
	}
	return ctx.Err()
}

// Become makes this server the active one, until ctx ends, the lease is lost or it leaves.
//
// fault.Conflict: another one is.
func Become(ctx context.Context, store Store, me Server) (*Office, error) {
	last, at, err := read(ctx, store, lastKey)
	if err != nil {
		return nil, err
	}
	me.Token = "" // of the time in which it stood by
	value, err := json.Marshal(me)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(ctx)
	lease, err := store.GrantOften(life, TTL, RenewEvery)
	if err != nil {
		end()
		return nil, err
	}
	o := &Office{Store: store, lease: lease, end: end, said: make(chan Server, 1)}
	o.said <- me
	if at != 0 && !last.Left {
		o.rests = Rest
	}
	_, err = store.Commit(ctx, state.Txn{
		If:   []state.Compare{state.Absent(ownerKey), state.At(lastKey, at)},
		Then: []state.Write{state.PutLeased(ownerKey, value, lease.ID()), state.Put(lastKey, value)},
	})
	if err != nil {
		o.forsake(ctx)
		return nil, err
	}
	o.since = time.Now()
	return o, nil
}
