package etcd

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"math"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/keepalive"
)

// pageSize is how many entries one request of a list asks for.
const pageSize = 1000

// errClosed is the cause of errors after Close.
var errClosed = errors.New("the store is closed")

// calls are what is asked of an etcd server, in this process or elsewhere. They implement state.Store.
type calls struct {
	client *clientv3.Client
	room   room
	watch  watch
	limit  time.Duration // of one request; 0: it may take as long as who asks has time
	log    *slog.Logger

	// ctx ends with Close or when the server fails for good, its cause being why.
	ctx context.Context //nolint:containedctx // the store's own life, which each call joins to its caller's context
	end context.CancelCauseFunc

	revoking chan struct{} // holds one for each revocation under way

	mu    sync.Mutex     // orders the start of tasks before the end of ctx
	tasks sync.WaitGroup // calls, lease renewals and housekeeping
}

// room says whether a write that makes the store grow by n bytes is sent at all, and learns from how etcd refused one.
type room interface {
	check(n int) error
	noteRefusal(err error)
}

// watch begins to watch for changes after the revision, until ctx ends. next waits for what the server tells: changes,
// and an error of etcd's when there are no more.
type watch func(ctx context.Context, prefix string, after int64) (next next, err error)

type next func() ([]*mvccpb.Event, error)

// Failed is closed when the store cannot go on, or was closed; Err tells which.
func (s *calls) Failed() <-chan struct{} { return s.ctx.Done() }

// Err returns why the store cannot go on; nil while it can and after Close.
func (s *calls) Err() error {
	if err := context.Cause(s.ctx); !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

var (
	_ state.Store   = (*calls)(nil)
	_ state.Scanner = (*calls)(nil)
)

// newCalls returns calls that end with the store, which lives on when ctx ends.
func newCalls(ctx context.Context, client *clientv3.Client, log *slog.Logger) *calls {
	s := &calls{client: client, log: log, revoking: make(chan struct{}, revokesAtOnce)}
	s.ctx, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return s
}

// Get implements state.Store.
func (s *calls) Get(ctx context.Context, key string) (state.Entry, error) {
	const op = "state.get"
	if err := state.CheckKey(op, key); err != nil {
		return state.Entry{}, err
	}
	ctx, done, err := s.call(ctx, op, key)
	if err != nil {
		return state.Entry{}, err
	}
	defer done()
	resp, err := await(ctx, s, func(ctx context.Context) (*clientv3.GetResponse, error) { return s.read(ctx, key) })
	if err != nil {
		return state.Entry{}, s.explain(ctx, err, reading, op, key)
	}
	if len(resp.Kvs) == 0 {
		return state.Entry{}, fault.New(fault.NotFound, op, key, nil)
	}
	return entry(resp.Kvs[0]), nil
}

// List implements state.Store.
func (s *calls) List(ctx context.Context, prefix string) ([]state.Entry, int64, error) {
	const op = "state.list"
	ctx, done, err := s.call(ctx, op, prefix)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	for {
		entries, revision, err := s.pages(ctx, prefix)
		if err == nil {
			return entries, revision, nil
		}
		if kind := kindOf(err, reading); kind != fault.NotFound || ctx.Err() != nil {
			return nil, 0, s.explain(ctx, err, reading, op, prefix)
		}
		// The revision of the first page was compacted before the last page was read: again.
	}
}

// pages reads all entries as of the revision at which the first page was read.
func (s *calls) pages(ctx context.Context, prefix string) (entries []state.Entry, revision int64, err error) {
	for p, err := range s.paged(ctx, prefix) {
		if err != nil {
			return nil, 0, err
		}
		entries, revision = append(entries, p.entries...), p.revision
	}
	return entries, revision, nil
}

const (
	// readsAgain is how often a read is asked again, and readsAfter the pause before that.
	readsAgain, readsAfter = 20, 50 * time.Millisecond
)

// read reads the key. When the leader changed meanwhile, the read was not done, and read tries again, so that a
// starting program does not end for that.
func (s *calls) read(ctx context.Context, key string, how ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	for try := 0; ; try++ {
		resp, err := s.client.Get(ctx, key, how...)
		if !errors.Is(err, rpctypes.ErrLeaderChanged) || try == readsAgain {
			return resp, err
		}
		select {
		case <-ctx.Done():
			return resp, err
		case <-time.After(readsAfter):
		}
	}
}

// page is a part of what the store holds at the revision.
type page struct {
	entries  []state.Entry
	revision int64
}

// paged yields page by page as of the revision of the first, with etcd's own errors.
func (s *calls) paged(ctx context.Context, prefix string) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		from, revision := rangeStart(prefix), int64(0)
		for {
			resp, err := await(ctx, s, func(ctx context.Context) (*clientv3.GetResponse, error) {
				return s.read(ctx, from, clientv3.WithRange(state.PrefixEnd(prefix)),
					clientv3.WithLimit(pageSize), clientv3.WithRev(revision))
			})
			if err != nil {
				yield(page{}, err)
				return
			}
			if revision == 0 {
				revision = resp.Header.Revision
			}
			p := page{revision: revision}
			for _, kv := range resp.Kvs {
				p.entries = append(p.entries, entry(kv))
			}
			if !yield(p, nil) || !resp.More {
				return
			}
			from = p.entries[len(p.entries)-1].Key + "\x00"
		}
	}
}

// Scan implements state.Scanner.
func (s *calls) Scan(ctx context.Context, prefix string) iter.Seq2[state.Entry, error] {
	const op = "state.scan"
	return func(yield func(state.Entry, error) bool) {
		ctx, done, err := s.call(ctx, op, prefix)
		if err != nil {
			yield(state.Entry{}, err)
			return
		}
		defer done()
		for p, err := range s.paged(ctx, prefix) {
			if err != nil {
				yield(state.Entry{}, s.explain(ctx, err, reading, op, prefix))
				return
			}
			for _, e := range p.entries {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Commit implements state.Store.
func (s *calls) Commit(ctx context.Context, txn state.Txn) (int64, error) {
	const op = "state.commit"
	if err := txn.Validate(); err != nil {
		return 0, err
	}
	ctx, done, err := s.call(ctx, op, txn.Subject())
	if err != nil {
		return 0, err
	}
	defer done()
	if err := s.room.check(growth(txn)); err != nil {
		return 0, fault.New(fault.NoSpace, op, txn.Subject(), err)
	}
	resp, err := await(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(compares(txn.Compares())...).Then(operations(txn)...).Commit()
	})
	if err != nil {
		s.room.noteRefusal(err)
		return 0, s.explain(ctx, err, writing, op, txn.Subject())
	}
	if !resp.Succeeded {
		return 0, fault.New(fault.Conflict, op, txn.Subject(), nil)
	}
	return resp.Header.Revision, nil
}

// Watch implements state.Store.
func (s *calls) Watch(ctx context.Context, prefix string, after int64) iter.Seq2[state.Event, error] {
	const op = "state.watch"
	return func(yield func(state.Event, error) bool) {
		caller := ctx
		ctx, done, err := s.call(ctx, op, prefix)
		if err != nil {
			if caller.Err() == nil {
				yield(state.Event{}, err)
			}
			return
		}
		defer done()
		next, err := await(ctx, s, func(context.Context) (next, error) { return s.watch(ctx, prefix, after) })
		for err == nil {
			var events []*mvccpb.Event
			events, err = next()
			for _, e := range events {
				if caller.Err() != nil || !yield(event(e), nil) {
					return
				}
			}
		}
		if caller.Err() == nil {
			yield(state.Event{}, s.explain(ctx, err, watching, op, prefix))
		}
	}
}

// Grant implements state.Store. etcd grants whole seconds, and at least MinLease.
func (s *calls) Grant(ctx context.Context, ttl time.Duration) (state.Lease, error) {
	return s.GrantOften(ctx, ttl, 0)
}

// GrantOften is Grant for a lease that is renewed as often as said.
func (s *calls) GrantOften(ctx context.Context, ttl, every time.Duration) (state.Lease, error) {
	const op = "state.grant"
	if ttl <= 0 {
		return nil, fault.New(fault.Invalid, op, ttl.String(), errors.New("a lease needs time"))
	}
	asking, done, err := s.call(ctx, op, ttl.String())
	if err != nil {
		return nil, err
	}
	defer done()
	if err := s.room.check(0); err != nil {
		return nil, fault.New(fault.NoSpace, op, ttl.String(), err)
	}
	asking, cancel := context.WithTimeout(asking, ttl) // a later answer is of no use
	defer cancel()
	sent := time.Now()
	resp, err := await(asking, s, func(ctx context.Context) (*clientv3.LeaseGrantResponse, error) {
		return s.client.Grant(ctx, int64(math.Ceil(ttl.Seconds())))
	})
	if err != nil {
		s.room.noteRefusal(err)
		return nil, s.explain(asking, err, granting, op, ttl.String())
	}
	lease := keepalive.New(keepalive.Options{
		ID: state.LeaseID(resp.ID), TTL: seconds(resp.TTL), Every: every, SentAt: sent,
		Renew:  func(ctx context.Context) (time.Duration, error) { return s.renew(ctx, resp.ID) },
		Revoke: func(ctx context.Context) error { return s.revoke(ctx, resp.ID) },
	})
	if err := s.spawn(func() {
		ctx, done := s.bind(ctx)
		defer done()
		lease.Run(ctx)
	}); err != nil {
		return nil, fault.New(fault.Transient, op, ttl.String(), err) // the lease expires by itself
	}
	return lease, nil
}

func (s *calls) renew(ctx context.Context, id clientv3.LeaseID) (time.Duration, error) {
	resp, err := await(ctx, s, func(ctx context.Context) (*clientv3.LeaseKeepAliveResponse, error) {
		return s.client.KeepAliveOnce(ctx, id)
	})
	if err != nil {
		return 0, s.explain(ctx, err, renewing, "state.renew", "")
	}
	return seconds(resp.TTL), nil
}

func (s *calls) revoke(ctx context.Context, id clientv3.LeaseID) error {
	const op = "state.revoke"
	ctx, done, err := s.call(ctx, op, "")
	if err != nil {
		return err
	}
	defer done()
	select {
	case s.revoking <- struct{}{}:
		defer func() { <-s.revoking }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return s.explain(ctx, err, renewing, op, "")
	}
	_, err = await(ctx, s, func(ctx context.Context) (*clientv3.LeaseRevokeResponse, error) {
		return s.client.Revoke(ctx, id)
	})
	if err != nil {
		return s.explain(ctx, err, renewing, op, "")
	}
	return nil
}

// call begins a call: it fails at once, with nothing sent, if the caller's context or the
// store has ended; else the context it returns ends with either.
func (s *calls) call(ctx context.Context, op, subject string) (context.Context, func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, fault.New(fault.Transient, op, subject, err)
	}
	if s.ctx.Err() != nil {
		return nil, nil, fault.New(fault.Transient, op, subject, context.Cause(s.ctx))
	}
	bound, done := s.bind(ctx)
	return bound, done, nil
}

// bind returns a context that ends with ctx, with the store, or when done is called.
func (s *calls) bind(ctx context.Context) (bound context.Context, done func()) {
	bound, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })
	return bound, func() {
		stop()
		cancel(nil)
	}
}

// await makes a call that may outlast its context: inside one process, reading etcd means taking its locks, which it
// holds while its disk hangs. An abandoned call ends when etcd answers; until then Close does not pull the server from
// under it. What is asked of a server elsewhere gets no more time than the limit: another one may answer.
func await[T any](ctx context.Context, s *calls, call func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	if s.limit > 0 {
		bounded, cancel := context.WithTimeout(ctx, s.limit)
		defer cancel()
		ctx = bounded
	}
	answers := make(chan answer, 1)
	if err := s.spawn(func() {
		value, err := call(ctx)
		answers <- answer{value, err}
	}); err != nil {
		return *new(T), err
	}
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return *new(T), ctx.Err()
	}
}

// spawn runs a task that Close waits for, unless the store has ended.
func (s *calls) spawn(run func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	s.tasks.Go(run)
	return nil
}

// finish ends the store, and with it all calls, watches and leases under way.
func (s *calls) finish(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(cause)
}

// growth returns by how many bytes the transaction may make the store grow. One that only
// deletes counts as none, so that a store at its quota can still be emptied.
func growth(txn state.Txn) int {
	for _, w := range txn.Then {
		if w.Action == state.ActionPut {
			return txn.Size()
		}
	}
	return 0
}

func compares(all []state.Compare) []clientv3.Cmp {
	var cmps []clientv3.Cmp
	for _, c := range all {
		if c.Lease != 0 {
			cmps = append(cmps, clientv3.Compare(clientv3.LeaseValue(c.Key), "=", clientv3.LeaseID(c.Lease)))
		}
		if c.Lease == 0 || c.Revision != 0 {
			cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(c.Key), "=", c.Revision))
		}
	}
	return cmps
}

// operations translates the writes. If there are none, it adds a read, because etcd answers
// a transaction without any operation from what a lagging member happens to know.
func operations(txn state.Txn) []clientv3.Op {
	var ops []clientv3.Op
	for _, w := range txn.Then {
		switch w.Action {
		case state.ActionPut:
			ops = append(ops, clientv3.OpPut(w.Key, string(w.Value), clientv3.WithLease(clientv3.LeaseID(w.Lease))))
		case state.ActionDelete:
			ops = append(ops, clientv3.OpDelete(w.Key))
		case state.ActionDeleteRange:
			ops = append(ops, clientv3.OpDelete(rangeStart(w.Key), clientv3.WithRange(w.End)))
		}
	}
	if all := txn.Compares(); len(ops) == 0 && len(all) > 0 {
		ops = append(ops, clientv3.OpGet(all[0].Key, clientv3.WithKeysOnly()))
	}
	return ops
}

// rangeStart returns the first key of a range: etcd wants one that is not empty.
func rangeStart(from string) string {
	if from == "" {
		return "\x00"
	}
	return from
}

func entry(kv *mvccpb.KeyValue) state.Entry {
	return state.Entry{
		Key:      string(kv.Key),
		Value:    kv.Value,
		Revision: kv.ModRevision,
		Lease:    state.LeaseID(kv.Lease),
	}
}

func event(e *mvccpb.Event) state.Event {
	if e.Type == mvccpb.Event_DELETE {
		return state.Event{Entry: state.Entry{Key: string(e.Kv.Key), Revision: e.Kv.ModRevision}, Deleted: true}
	}
	entry := entry(e.Kv)
	entry.Value = bytes.Clone(entry.Value) // inside one process all watches share it
	return state.Event{Entry: entry}
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
