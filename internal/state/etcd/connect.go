package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/namespace"
	"go.uber.org/zap"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// DefaultPrefix begins all keys of hale's in servers that others use, too.
const DefaultPrefix = "/hale/"

const (
	// requestLimit is how long one request may take: longer than etcd itself takes to give one up for want of a leader
	// would be in vain, and a lease of ten seconds is to outlive the loss of one server.
	requestLimit = 3 * time.Second
	dialLimit    = 2 * time.Second
	// pingEvery is as often as a server bears it (its --grpc-keepalive-min-time is 5 s): one that was cut off shows.
	pingEvery = 5 * time.Second
	pingLimit = 2 * time.Second
	// fullFor is how long nothing is sent to servers that said they are full.
	fullFor = 5 * time.Second
)

// Shared says which servers to use.
type Shared struct {
	Endpoints      []string     // as https://10.0.0.1:2379. At least one.
	Prefix         string       // of hale's keys; empty: DefaultPrefix
	TLS            *tls.Config  // nil: without
	User, Password string       // empty: without
	Logger         *slog.Logger // gets warnings and errors of etcd's client. Required.
}

// Elsewhere is a store in etcd servers outside this process, which others write to as well. It implements state.Store.
//
// What it promises beside that: a server that does not answer costs a request at most three seconds, the next one
// asks another; a server that is cut off from the others' majority is not listened to; and leases end by their time
// alone, also those of a hale that crashed. It compacts nothing, since the history belongs to all who use the
// servers: they are to do so themselves (--auto-compaction-retention).
type Elsewhere struct {
	*calls
	endpoints []string
	full      *fullness
}

var (
	_ state.Store    = (*Elsewhere)(nil)
	_ state.Measured = (*Elsewhere)(nil)
)

// Connect opens the store in the servers. ctx bounds the opening only; the caller closes the store.
//
// fault.Invalid: an option is wrong. fault.Unauthorised: they refuse the user, or what it may. fault.Transient: none
// answers, or they have no leader.
func Connect(ctx context.Context, opts Shared) (*Elsewhere, error) {
	const op = "state.connect"
	if len(opts.Endpoints) == 0 || opts.Logger == nil {
		return nil, fault.New(fault.Invalid, op, "", errors.New("option Endpoints or Logger is missing"))
	}
	if opts.Prefix == "" {
		opts.Prefix = DefaultPrefix
	}
	zapped := newZap(opts.Logger, newFailure(damage)).WithOptions(zap.IncreaseLevel(zap.ErrorLevel))
	client, err := clientv3.New(clientv3.Config{
		Context: context.WithoutCancel(ctx), Endpoints: opts.Endpoints, TLS: opts.TLS, Username: opts.User,
		Password: opts.Password, DialTimeout: dialLimit, DialKeepAliveTime: pingEvery,
		DialKeepAliveTimeout: pingLimit, PermitWithoutStream: true, Logger: zapped,
	})
	if err != nil {
		return nil, fault.New(kindOf(err, reading), op, opts.Endpoints[0], err)
	}
	client.KV = namespace.NewKV(client.KV, opts.Prefix)
	client.Watcher = namespace.NewWatcher(client.Watcher, opts.Prefix)
	s := &Elsewhere{calls: newCalls(ctx, client, opts.Logger), endpoints: opts.Endpoints, full: &fullness{}}
	s.limit, s.room, s.watch = requestLimit, s.full, s.changes
	if _, err := s.Get(ctx, "any"); err != nil && !fault.Is(err, fault.NotFound) {
		return nil, errors.Join(fmt.Errorf("etcd at %v: %w", opts.Endpoints, err), s.Close())
	}
	return s, nil
}

// changes begins to watch. The context asks that the server ends the watch once it has lost the majority: else it would
// go on in silence.
func (s *Elsewhere) changes(ctx context.Context, prefix string, after int64) (next, error) {
	told := s.client.Watch(clientv3.WithRequireLeader(ctx), rangeStart(prefix),
		clientv3.WithRange(state.PrefixEnd(prefix)), clientv3.WithRev(after+1))
	return func() ([]*mvccpb.Event, error) {
		select {
		case some, more := <-told:
			if !more {
				return nil, errClosed
			}
			return some.Events, some.Err()
		case <-ctx.Done():
			return nil, errClosed
		}
	}, nil
}

// Space returns how full the database of the fullest server is that answers. Of its disk nothing is known here.
func (s *Elsewhere) Space() (state.Space, error) {
	const op = "state.room"
	var room state.Space
	var problems []error
	for _, endpoint := range s.endpoints {
		is, err := await(s.ctx, s.calls, func(ctx context.Context) (*clientv3.StatusResponse, error) {
			return s.client.Status(ctx, endpoint)
		})
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", endpoint, err))
			continue
		}
		room.Used, room.Quota = max(room.Used, is.DbSizeInUse), max(room.Quota, is.DbSizeQuota)
	}
	if len(problems) == len(s.endpoints) {
		return state.Space{}, fault.New(fault.Transient, op, "", errors.Join(problems...))
	}
	room.Alarmed = s.full.is() || s.isAlarmed()
	return room, nil
}

// isAlarmed reports whether a server says that it has no room. One that does not say so to this user may have none: a
// write that it refuses tells.
func (s *Elsewhere) isAlarmed() bool {
	alarms, err := await(s.ctx, s.calls, func(ctx context.Context) (*clientv3.AlarmResponse, error) {
		return s.client.AlarmList(ctx)
	})
	return err == nil && slices.ContainsFunc(alarms.Alarms, func(a *pb.AlarmMember) bool {
		return a.Alarm == pb.AlarmType_NOSPACE
	})
}

// Close ends all calls, watches and leases under way. Leases are not revoked: they expire. Close once.
func (s *Elsewhere) Close() error {
	s.finish(errClosed)
	s.tasks.Wait()
	if err := s.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fault.New(fault.Permanent, "state.close", s.endpoints[0], err)
	}
	return nil
}

// fullness is what is known of servers that refuse writes for want of room. After a while one write tries again.
type fullness struct {
	mu    sync.Mutex
	until time.Time
}

// check implements room.
func (f *fullness) check(n int) error {
	if n > 0 && f.is() {
		return rpctypes.ErrNoSpace
	}
	return nil
}

func (f *fullness) is() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Before(f.until)
}

// noteRefusal implements room.
func (f *fullness) noteRefusal(err error) {
	if errors.Is(err, rpctypes.ErrNoSpace) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.until = time.Now().Add(fullFor)
	}
}
