// Package etcd keeps hale's state in etcd: in a server inside hale's own process, with its data in one folder (Open),
// or in servers elsewhere, which several hales share (Connect). It implements the port of package state.
//
// What it promises of the server inside:
//
//   - What Commit acknowledged has been synced to disk.
//   - It listens on no socket: the data can be reached through this process only.
//   - One process uses a folder at a time; a second one is told so at once. The process that opens the folder revokes
//     the leases of the one before it, so that a restart owns at once.
//   - It refuses writes with fault.NoSpace while the file system has less free than a reserve,
//     or the database has reached its quota, and accepts them again by itself when there is
//     room; history is compacted and pages are given back before that happens.
//   - It never ends the process. etcd ends it where it cannot go on (its log cannot be written,
//     a file is damaged); here the goroutine in question ends instead, the store fails as a
//     whole and for good, calls under way return fault.UnknownOutcome or fault.Transient, all
//     leases are lost, and Failed tells the application, which should say so and exit: the
//     folder may stay locked until it does. A crash of the Go runtime inside etcd is not caught.
//   - It fails as a whole within moments, too, when its folder is moved away, removed or replaced under it (ErrMoved).
//
// The server inside is a lone one, or one of hale's own cluster (Belong). Of a cluster holds, in place of the above:
// what Commit acknowledged has been synced to the disks of a majority; other servers of the cluster reach it by the
// handler that Peers returns, and nobody else does; leases outlive a restart; and a server without the majority refuses
// within three seconds.
//
// The disk needs: two log segments of 64 MiB allocated in advance and up to two kept, a
// snapshot of a few KiB, and the database, which grows to its quota and, while it is being
// defragmented, needs its size once more.
package etcd

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// The defaults of Options.
const (
	DefaultMinFree = 128 << 20
	DefaultQuota   = 2 << 30
)

// revokesAtOnce bounds the revocations under way. The server does one after the other, and syncs the disk for each:
// more would queue up inside it, outlast who asked for them, and keep Close waiting.
const revokesAtOnce = 16

// lagBytes is more than what can be written before the database knows its new size.
const lagBytes = 256 << 20

// Options say where and how to open a store.
type Options struct {
	Dir     string       // the folder; made if it does not exist. Required.
	Logger  *slog.Logger // gets warnings and errors of etcd. Required.
	MinFree uint64       // bytes to leave free on the file system; 0 means DefaultMinFree
	Quota   int64        // bytes of data; 0 means DefaultQuota

	free     func(dir string) (uint64, error) // stands in for the file system in tests
	alone    bool                             // it goes on without the other servers of its cluster
	backstop int64                            // etcd's own quota: above ours, because it is checked when it is too late
}

func (o *Options) complete() error {
	var problems []error
	if o.Dir == "" {
		problems = append(problems, errors.New("option Dir is missing"))
	}
	if o.Logger == nil {
		problems = append(problems, errors.New("option Logger is missing"))
	}
	if o.Quota < 0 {
		problems = append(problems, errors.New("option Quota is negative"))
	}
	if o.MinFree == 0 {
		o.MinFree = DefaultMinFree
	}
	if o.Quota == 0 {
		o.Quota = DefaultQuota
	}
	if o.backstop == 0 {
		o.backstop = o.Quota + max(o.Quota, lagBytes)
	}
	if o.free == nil {
		o.free = freeBytes
	}
	return errors.Join(problems...)
}

// Store is an open store in a folder. It implements state.Store.
type Store struct {
	*calls
	member *member
	space  *space
}

var _ state.Measured = (*Store)(nil)

// Open opens the store in the folder. ctx bounds the opening only; the caller closes the store.
//
// fault.Conflict: another process has the folder. fault.NoSpace: there is no room to begin a
// store. fault.Permanent: the folder is damaged or forbidden; the process must end before the
// next attempt. fault.Transient: ctx ended first.
func Open(ctx context.Context, opts Options) (*Store, error) {
	const op = "state.open"
	if err := opts.complete(); err != nil {
		return nil, fault.New(fault.Invalid, op, opts.Dir, err)
	}
	space := newSpace(opts)
	lock, err := enter(opts, space)
	if err != nil {
		return nil, err
	}
	m, err := start(ctx, opts, lock)
	if err != nil {
		return nil, err
	}
	s := newStore(ctx, opts, m, space)
	if err := errors.Join(s.revokeAll(ctx), s.noteAlarm(ctx)); err != nil {
		return nil, fault.New(fault.Transient, op, opts.Dir, errors.Join(err, s.Close()))
	}
	if err := s.keep(); err != nil {
		return nil, err
	}
	return s, nil
}

// enter takes the folder's lock, and looks whether what is there can be used.
func enter(opts Options, space *space) (*os.File, error) {
	lock, err := lockFolder(opts.Dir)
	if err != nil {
		return nil, err
	}
	if err := checkSpace(opts.Dir, space); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := checkFiles(opts.Dir); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func newSpace(opts Options) *space {
	return &space{dir: opts.Dir, minFree: opts.MinFree, quota: opts.Quota, free: opts.free,
		relief: make(chan struct{}, 1)}
}

func newStore(ctx context.Context, opts Options, m *member, space *space) *Store {
	space.used = func() int64 { return m.etcd.Server.Backend().SizeInUse() } // it gets another one with a snapshot
	s := &Store{calls: newCalls(ctx, m.client(), opts.Logger), member: m, space: space}
	s.room, s.watch = space, s.changes
	return s
}

// keep begins what the store does by itself. After an error it is closed.
func (s *Store) keep() error {
	places, err := placesOf(s.space.dir)
	if err != nil {
		return fault.New(fault.Permanent, "state.open", s.space.dir, errors.Join(err, s.Close()))
	}
	s.tasks.Go(s.keepHouse)
	s.tasks.Go(func() { s.keepPlace(places) })
	s.tasks.Go(s.keepWatch)
	return nil
}

// changes begins to watch the server. Each watch has a stream of its own, straight from the server: etcd's client has
// all watches of a process share one, and inside a process, where nothing buffers its messages, that stream stands
// still for ever when many watches end at once.
func (s *Store) changes(ctx context.Context, prefix string, after int64) (next, error) {
	stream := s.member.etcd.Server.Watchable().NewWatchStream()
	context.AfterFunc(ctx, func() {
		_ = s.spawn(stream.Close) // an ended store ends its streams with the server
	})
	_, err := stream.Watch(ctx, clientv3.AutoWatchID, []byte(rangeStart(prefix)), []byte(state.PrefixEnd(prefix)),
		after+1)
	return func() ([]*mvccpb.Event, error) {
		select {
		case some := <-stream.Chan():
			if some.CompactRevision != 0 {
				return some.Events, rpctypes.ErrCompacted
			}
			return some.Events, nil
		case <-ctx.Done():
			return nil, errClosed
		}
	}, err
}

// keepWatch fails the store as a whole when its server cannot go on.
func (s *Store) keepWatch() {
	err := s.member.watch(s.ctx)
	if err == nil {
		return
	}
	if errors.Is(err, ErrMoved) { // which says what to do
		s.finish(fault.New(fault.Permanent, "state.moved", s.space.dir, err))
		return
	}
	s.log.Error("state engine: it cannot go on and accepts nothing more; restart hale once the cause is removed",
		"error", err)
	s.finish(fault.New(fault.Permanent, "state.serve", s.space.dir, err))
}

// Close ends all calls, watches and leases under way, and stops the server. Leases are not
// revoked: they expire, or the next to open the folder revokes them. Close once.
func (s *Store) Close() error {
	s.finish(errClosed)
	if err := s.member.settle(&s.tasks); err != nil {
		return fault.New(fault.Permanent, "state.close", s.space.dir, err)
	}
	clientErr := s.client.Close()
	if errors.Is(clientErr, context.Canceled) {
		clientErr = nil // what its own Close says of its own context
	}
	if err := errors.Join(clientErr, s.member.stop()); err != nil {
		return fault.New(fault.Permanent, "state.close", s.space.dir, err)
	}
	return nil
}
