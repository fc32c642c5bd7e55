package etcd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/etcdserver/cindex"
	"go.etcd.io/raft/v3/raftpb"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"hale/internal/core/fault"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// MinLease is the shortest lease that is granted: one and a half elections, in whole seconds.
const MinLease = 2 * time.Second

// The settings of a lone member. Its clock ticks slowly, since it has no peer to send heartbeats to.
const (
	tick     = 200 * time.Millisecond
	election = 5 * tick

	// At a restart the log since the last snapshot is read again. With more than that kept in
	// memory, nothing of it is dropped before raft has seen that it was applied: to be told to
	// lead at such a moment would be the end of etcd. What remains of that danger, before the
	// first snapshot, quietPolls avoids.
	snapshotEvery = 500   // commits
	keptInMemory  = 1_000 // entries of the log

	keptWALs  = 2         // of 64 MiB, besides the one in use and the next
	retention = "10000"   // revisions of history kept for watches
	rarely    = time.Hour // for checks that make sense in clusters only

	pollEvery   = 5 * time.Millisecond
	quietPolls  = 3  // without progress, after which the log has been read
	silentPolls = 10 // without any sign, after which there was nothing to read
	// without progress of a log that ends before the database, after which its end is missing: two seconds
	lostPolls = 400

	closeWithin = 10 * time.Second
	closeFailed = time.Second
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
	how := lone
	if opts.alone {
		how.change = forced
	}
	m, err := launch(ctx, opts, lock, how)
	if err != nil {
		return nil, err
	}
	if err := m.awaitReady(ctx); err != nil {
		err = errors.Join(err, m.stop())
		if ctx.Err() != nil {
			return nil, fault.New(fault.Transient, op, opts.Dir, err)
		}
		return nil, fault.New(fault.Permanent, op, opts.Dir, err)
	}
	return m, nil
}

// manner is how a server is begun.
type manner struct {
	change func(*embed.Config)   // of the settings
	blame  func(err error) error // says what an error at its begin means
	kind   fault.Kind            // of such an error
}

// lone is that of a server without others.
var lone = manner{change: func(*embed.Config) {}, blame: damage, kind: fault.Permanent}

// launch runs the server, and does not wait until it answers.
func launch(ctx context.Context, opts Options, lock *os.File, how manner) (*member, error) {
	const op = "state.open"
	failed := newFailure(how.blame)
	result := make(chan *embed.Etcd, 1)
	cfg := config(opts, failed)
	how.change(cfg)
	// It is launch's, and ends with a server, with an error or with what etcd panics over.
	go boot(cfg, how.blame, failed, result)
	m := &member{lock: lock, failed: failed}
	select {
	case m.etcd = <-result:
	case <-failed.done:
		return nil, fault.New(how.kind, op, opts.Dir, failed.err)
	case <-ctx.Done():
		// Abandoned: it ends once boot does.
		go m.abandon(result)
		return nil, fault.New(fault.Transient, op, opts.Dir, ctx.Err())
	}
	return m, nil
}

// boot starts etcd. It has a goroutine of its own because over a damaged folder etcd panics,
// or logs an entry that ends the goroutine.
func boot(cfg *embed.Config, blame func(error) error, failed *failure, result chan<- *embed.Etcd) {
	defer func() {
		if p := recover(); p != nil {
			failed.set(blame(fmt.Errorf("etcd cannot start on it: %v", p)))
		}
	}()
	server, err := embed.StartEtcd(cfg)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.ENOSPC):
		failed.set(err)
	case err != nil: // its settings are always the same: it is what the folder holds
		failed.set(blame(err))
	default:
		// Before anything is acknowledged. An error shows when the disk is written to next.
		_ = errors.Join(syncFolder(filepath.Dir(filepath.Dir(cfg.Dir))), syncNames(filepath.Dir(cfg.Dir)))
		result <- server
	}
}

// abandon stops a server that came up too late.
func (m *member) abandon(result <-chan *embed.Etcd) {
	select {
	case m.etcd = <-result:
		_ = m.stop()
	case <-m.failed.done:
	}
}

// awaitReady waits until the member leads itself, which it is told to do as soon as it has
// read its log: by its clock it would wait up to an election time for others to come forward.
func (m *member) awaitReady(ctx context.Context) error {
	server := m.etcd.Server
	id := uint64(server.MemberID())
	lead := &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), From: proto.Uint64(id), To: proto.Uint64(id)}
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	last, quiet := uint64(0), 0
	stored := cindex.NewConsistentIndex(server.Backend()).ConsistentIndex()
	for {
		select {
		case <-server.ReadyNotify():
			return nil
		case <-m.failed.done:
			return m.failed.err
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
		applied := server.AppliedIndex()
		if applied != last || applied < server.CommittedIndex() {
			last, quiet = applied, 0
			continue
		}
		quiet++
		hasRead := applied > 0 && quiet >= quietPolls || quiet >= silentPolls
		if hasRead && server.Leader() == 0 {
			_ = server.Process(ctx, lead) // if it does not come through, the next one does
		}
		if quiet >= lostPolls && server.CommittedIndex() < stored {
			return damage(errors.New("its log ends before its database does"))
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
		if !m.etcd.Server.IsMemberExist(m.etcd.Server.MemberID()) {
			return ErrRemoved
		}
		return errors.New("etcd stopped by itself")
	}
}

// errHangs is why a folder stays locked until the process ends.
var errHangs = errors.New("etcd does not stop; its folder stays locked until this process ends")

// settle waits for the tasks that use the server: to stop it under them would crash it.
func (m *member) settle(tasks *sync.WaitGroup) error {
	return m.within(tasks.Wait)
}

// stop closes the server and gives the folder up.
func (m *member) stop() error {
	if err := m.within(m.etcd.Close); err != nil {
		return err
	}
	return m.lock.Close()
}

// within runs what may never end, above all in a server that failed.
func (m *member) within(run func()) error {
	ended := make(chan struct{})
	// It is this function's, and ends with run; if that never does, with the process.
	go func() {
		defer close(ended)
		run()
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(m.closeLimit()):
		return errHangs
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
	cfg.AuthToken = "" // without logins

	cfg.TickMs = uint(tick / time.Millisecond)
	cfg.ElectionMs = uint(election / time.Millisecond)
	cfg.DowngradeCheckTime = rarely
	cfg.CompactHashCheckTime = rarely

	cfg.MaxTxnOps = 128
	cfg.QuotaBackendBytes = opts.backstop
	cfg.BackendFreelistType = "map"
	cfg.SnapshotCount = snapshotEvery
	cfg.SnapshotCatchUpEntries = keptInMemory
	cfg.MaxWalFiles = keptWALs
	cfg.AutoCompactionMode = embed.CompactorModeRevision
	cfg.AutoCompactionRetention = retention
	return cfg
}
