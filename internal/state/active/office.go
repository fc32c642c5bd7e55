package active

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// Office is the store as the active server uses it. It implements state.Store.
type Office struct {
	Store
	said  chan Server // what the store has of this server; who takes it out puts it back
	lease state.Lease
	end   context.CancelFunc
	since time.Time
	rests time.Duration // for so long since then the last one's calls may be under way
}

var (
	_ state.Store    = (*Office)(nil)
	_ state.Scanner  = (*Office)(nil)
	_ state.Measured = (*Office)(nil)
)

// Lost is closed when this server is surely, or perhaps, no longer the active one.
func (o *Office) Lost() <-chan struct{} { return o.lease.Lost() }

// Keep returns when this server is not the active one any more, or ctx ends. The office ends, too, when its key is gone
// while the lease lives: a person deleted it, or put an older store in its place.
func (o *Office) Keep(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.Lost():
			return
		case <-look.C:
		}
		e, err := o.Get(ctx, ownerKey)
		if fault.Is(err, fault.NotFound) || err == nil && e.Lease != o.lease.ID() {
			o.end()
			<-o.Lost()
			return
		}
	}
}

// Commit implements state.Store. fault.Conflict: a compare did not hold, or another server may be the active one.
func (o *Office) Commit(ctx context.Context, txn state.Txn) (int64, error) {
	return o.Store.Commit(ctx, txn.Guarded(state.Held(ownerKey, 0, o.lease.ID())))
}

// Rest is for how long calls of the last active server may still be under way: until then this one calls nothing.
func (o *Office) Rest() time.Duration { return max(0, o.rests-time.Since(o.since)) }

// remaining is for how long a call is covered, by what this server knows of its office.
func (o *Office) remaining() time.Duration {
	left := o.lease.Remaining()
	if left == 0 || o.Rest() > 0 {
		return 0
	}
	return left + Cover - TTL
}

// Grant implements state.Store. The lease covers no call that the office does not.
func (o *Office) Grant(ctx context.Context, ttl time.Duration) (state.Lease, error) {
	lease, err := o.Store.Grant(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return covered{lease, o}, nil
}

// covered is a lease that is good for as long as the office is, too.
type covered struct {
	state.Lease
	by *Office
}

// Remaining implements state.Lease.
func (c covered) Remaining() time.Duration { return min(c.Lease.Remaining(), c.by.remaining()) }

// Rest is for how long nothing may be called yet, since calls of another server may be under way.
func (c covered) Rest() time.Duration { return c.by.Rest() }

// Scan implements state.Scanner.
func (o *Office) Scan(ctx context.Context, prefix string) iter.Seq2[state.Entry, error] {
	return state.Scan(ctx, o.Store, prefix)
}

// Space implements state.Measured.
func (o *Office) Space() (state.Space, error) {
	if on, knows := o.Store.(state.Measured); knows {
		return on.Space()
	}
	return state.Space{}, fault.New(fault.Unsupported, "state.room", "", nil)
}

// Evict deletes keys that a server left behind that was the active one before, under leases that have yet to run out.
func (o *Office) Evict(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		e, err := o.Get(ctx, key)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err == nil {
			_, err = o.Commit(ctx, state.Txn{If: []state.Compare{state.At(key, e.Revision)},
				Then: []state.Write{state.Delete(key)}})
		}
		if err != nil && !fault.Is(err, fault.Conflict) { // it ran out meanwhile; or this server's office did
			return err
		}
	}
	return nil
}

// Note has the store say that this server's configuration is another one now.
func (o *Office) Note(ctx context.Context, configuration string) error {
	return o.say(ctx, func(me *Server) { me.Configuration = configuration })
}

// Hear has the store say where this server takes reports of those that stand by.
func (o *Office) Hear(ctx context.Context, where Hearing) error {
	return o.say(ctx, func(me *Server) { me.Hears = where })
}

// say has the store say something else of this server.
func (o *Office) say(ctx context.Context, change func(me *Server)) error {
	me := <-o.said
	defer func() { o.said <- me }()
	next := me
	change(&next)
	value, err := json.Marshal(next)
	if err != nil {
		return err
	}
	_, err = o.Commit(ctx, state.Txn{Then: []state.Write{state.PutLeased(ownerKey, value, o.lease.ID()),
		state.Put(lastKey, value)}})
	if err == nil {
		me = next
	}
	return err
}

// Leave says goodbye, so that another server becomes active at once. Nothing may be under way any more.
func (o *Office) Leave(ctx context.Context) error {
	defer o.end()
	me := <-o.said
	o.said <- me
	me.Left = o.Rest() == 0 // else the next one has to rest for the last one, too
	value, err := json.Marshal(me)
	if err == nil {
		_, err = o.Commit(ctx, state.Txn{Then: []state.Write{state.Put(lastKey, value), state.Delete(ownerKey)}})
	}
	if err != nil {
		return err
	}
	return o.lease.Revoke(ctx)
}

// Vacate leaves as if no server had ever been active: any may follow, whatever its file says. For a store that was
// filled anew.
func (o *Office) Vacate(ctx context.Context) error {
	defer o.end()
	_, err := o.Commit(ctx, state.Txn{Then: []state.Write{state.Delete(lastKey), state.Delete(ownerKey)}})
	return errors.Join(err, o.lease.Revoke(ctx))
}

// forsake ends the office without a word: the lease runs out by itself.
func (o *Office) forsake(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = o.lease.Revoke(ctx)
	o.end()
}
