package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"hale/internal/fault"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// The settings of a lone member. Its clock ticks slowly, since it has nobody to send
// heartbeats to; MinLease follows from the election time.
const (
	tick          = 200 * time.Millisecond
	election      = 5 * tick
	MinLease      = 2 * time.Second // the shortest lease that is granted: 1.5 elections, in whole seconds
	batchInterval = 100 * time.Millisecond

	snapshotCount  = 2_000 // log entries kept in memory, at most about 1.5 times
	catchUpEntries = 500
	keptWALs       = 2       // of 64 MiB, besides the one in use and the next
	retention      = "10000" // revisions of history kept for watches
	backstop       = 2       // etcd's own quota, in multiples of ours
	closeWithin    = 10 * time.Second
	closeFailed    = time.Second
	hastenEvery    = 5 * time.Millisecond
	applyWithin    = 50 * time.Millisecond
	rarely         = time.Hour // for checks that make sense in clusters only
)

// member is the embedded server, on a folder that it has the lock of.
type member struct {
	etcd   *embed.Etcd
	lock   *os.File
	failed *failure
}

// start runs the server up to the point where it answers.
func start(ctx context.Context, opts Options, lock *os.File) (*member, error) {
	const op = "state.open"
	failed := newFailure()
	result := make(chan *embed.Etcd, 1)
	go boot(config(opts, failed), failed, result)
	m := &member{lock: lock, failed: failed}
	select {
	case m.etcd = <-result:
	case <-failed.done:
		return nil, fault.New(fault.Permanent, op, opts.Dir, failed.err)
	case <-ctx.Done():
		go m.abandon(result)
		return nil, fault.New(fault.Transient, op, opts.Dir, ctx.Err())
	}
	if err := m.awaitReady(ctx); err != nil {
		kind := fault.Permanent
		if ctx.Err() != nil {
			kind = fault.Transient
		}
		return nil, fault.New(kind, op, opts.Dir, errors.Join(err, m.stop()))
	}
	return m, nil
}

// boot starts etcd. It has a goroutine of its own because over a damaged folder etcd panics,
// or logs an entry that ends the goroutine.
func boot(cfg *embed.Config, failed *failure, result chan<- *embed.Etcd) {
	defer func() {
		if p := recover(); p != nil {
			failed.set(fmt.Errorf("etcd cannot start on this folder: %v", p))
		}
	}()
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		failed.set(err)
		return
	}
	result <- server
}

// abandon stops a server that came up after nobody waited for it any more.
func (m *member) abandon(result <-chan *embed.Etcd) {
	select {
	case m.etcd = <-result:
		_ = m.stop()
	case <-m.failed.done:
	}
}

// awaitReady waits until the member leads itself, which it is told to do as soon as it has
// read its log: by its clock it would wait up to two election times for others to come forward.
func (m *member) awaitReady(ctx context.Context) error {
	server := m.etcd.Server
	id := uint64(server.MemberID())
	lead := &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), From: proto.Uint64(id), To: proto.Uint64(id)}
	again := time.NewTicker(hastenEvery)
	defer again.Stop()
	for began := time.Now(); ; {
		applied, committed := server.AppliedIndex(), server.CommittedIndex()
		hasRead := committed > 0 && applied >= committed || time.Since(began) > applyWithin
		if hasRead && server.Leader() == 0 {
			_ = server.Process(ctx, lead) // if it is too early, the next one counts
		}
		select {
		case <-server.ReadyNotify():
			return nil
		case <-m.failed.done:
			return m.failed.err
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// watch ends with ctx, or with the reason why the server stopped by itself.
func (m *member) watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-m.failed.done:
		return m.failed.err
	case err := <-m.etcd.Err():
		return fmt.Errorf("etcd: %w", err)
	case <-m.etcd.Server.StopNotify():
		return errors.New("etcd stopped by itself")
	}
}

// stop closes the server and gives the folder up. A server that failed may never close: then
// the folder stays locked until the process ends.
func (m *member) stop() error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		m.etcd.Close()
	}()
	select {
	case <-closed:
		return m.lock.Close()
	case <-time.After(m.closeLimit()):
		return errors.New("etcd did not stop in time; its folder stays locked until this process ends")
	}
}

// closeLimit is short for a server that failed, since it seldom manages to close.
func (m *member) closeLimit() time.Duration {
	select {
	case <-m.failed.done:
		return closeFailed
	default:
		return closeWithin
	}
}

// client returns a client that calls the server's functions in this process.
func (m *member) client() *clientv3.Client { return v3client.New(m.etcd.Server) }

// config returns the settings of a lone member that listens nowhere.
func config(opts Options, failed *failure) *embed.Config {
	nowhere := []url.URL{{Scheme: "unix", Host: "localhost:0"}}
	cfg := embed.NewConfig()
	cfg.Name = "hale"
	cfg.Dir = filepath.Join(opts.Dir, dataName)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(newZap(opts.Logger, failed))
	cfg.LogLevel = "warn"

	cfg.ListenPeerUrls, cfg.ListenClientUrls, cfg.ListenMetricsUrls = nil, nil, nil
	cfg.AdvertisePeerUrls, cfg.AdvertiseClientUrls = nowhere, nowhere
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.EnableGRPCGateway = false
	cfg.AuthToken = "" // nobody logs in

	cfg.TickMs = uint(tick.Milliseconds())
	cfg.ElectionMs = uint(election.Milliseconds())
	cfg.DowngradeCheckTime = rarely
	cfg.CompactHashCheckTime = rarely

	cfg.MaxTxnOps = 128
	cfg.QuotaBackendBytes = backstop * opts.Quota
	cfg.BackendBatchInterval = batchInterval
	cfg.BackendFreelistType = "map"
	cfg.SnapshotCount = snapshotCount
	cfg.SnapshotCatchUpEntries = catchUpEntries
	cfg.MaxWalFiles = keptWALs
	cfg.AutoCompactionMode = embed.CompactorModeRevision
	cfg.AutoCompactionRetention = retention
	return cfg
}
