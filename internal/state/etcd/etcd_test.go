package etcd

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
)

func TestOptionsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Options{Quota: -1})
	if !fault.Is(err, fault.Invalid) {
		t.Fatalf("open = %v, want %s", err, fault.Invalid)
	}
	for _, problem := range []string{"Dir", "Logger", "Quota"} {
		if !strings.Contains(err.Error(), problem) {
			t.Errorf("%v does not mention %s", err, problem)
		}
	}
}

func TestAFolderIsForOneAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	OpenForTest(t, Options{Dir: dir})
	_, err := Open(t.Context(), Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	if !fault.Is(err, fault.Conflict) {
		t.Fatalf("open = %v, want %s", err, fault.Conflict)
	}
	for _, want := range []string{dir, strconv.Itoa(os.Getpid())} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not mention %s", err, want)
		}
	}
}

func TestALostAnswerIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	s := OpenForTest(t, Options{})
	stuck := s.member.etcd.Server.Backend().BatchTx()
	stuck.Lock() // as a disk that hangs: the write is under way, but cannot be applied
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := s.put(ctx, "a", 1)
	stuck.Unlock()
	if !fault.Is(err, fault.UnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("commit = %v, want %s by the deadline", err, fault.UnknownOutcome)
	}
	eventually(t, "what was reported as unknown is there", func() bool {
		_, err := s.Get(t.Context(), "a")
		return err == nil
	})
}

func TestACallReturnsWithItsContextEvenIfTheStoreHangs(t *testing.T) {
	t.Parallel()
	s := OpenForTest(t, Options{}) // its Close waits for the call
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	hang := make(chan struct{})
	defer close(hang)
	_, err := await(ctx, s.calls, func(context.Context) (int, error) {
		<-hang
		return 1, nil
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("await = %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestALeaseThatIsGoneIsLostAtItsNextRenewal(t *testing.T) {
	t.Parallel()
	s := OpenForTest(t, Options{})
	lease, err := s.Grant(t.Context(), MinLease)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.revokeAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lease is lost", func() bool { return lease.Remaining() == 0 })
	<-lease.Lost()
}

// As a controller with many fleets ends: abandoned revocations do not keep Close waiting.
func TestRevocationsDoNotQueueUpInsideTheServer(t *testing.T) {
	t.Parallel()
	const many = 100
	s := OpenForTest(t, Options{})
	leases := make([]state.Lease, many)
	for i := range leases {
		var err error
		if leases[i], err = s.Grant(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	server := s.member.etcd.Server
	before := server.CommittedIndex()
	stuck := server.Backend().BatchTx()
	stuck.Lock() // as a disk that is slow
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	for _, l := range leases {
		all.Go(func() {
			if err := l.Revoke(ctx); !fault.Is(err, fault.Transient) {
				t.Errorf("revoke = %v, want %s", err, fault.Transient)
			}
		})
	}
	all.Wait()
	after := server.CommittedIndex()
	stuck.Unlock()
	if n := after - before; n == 0 || n > revokesAtOnce {
		t.Errorf("the server has %d revocations to do, want some, and %d at most", n, revokesAtOnce)
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Grant(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan error, 1)
	go func() {
		for _, err := range s.Watch(t.Context(), "", 0) {
			if err != nil {
				watched <- err
			} else if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		close(watched)
	}()
	if err := s.put(t.Context(), "a", 1); err != nil && !fault.Is(err, fault.UnknownOutcome) {
		t.Fatal(err)
	}
	if err := <-watched; !fault.Is(err, fault.Transient) || !errors.Is(err, errClosed) {
		t.Errorf("the watch ended with %v, want %s: %v", err, fault.Transient, errClosed)
	}
	<-lease.Lost()
	<-s.Failed()
	if s.Err() != nil {
		t.Errorf("a closed store has failed: %v", s.Err())
	}
	if err := s.put(t.Context(), "b", 1); !fault.Is(err, fault.Transient) {
		t.Errorf("commit after close = %v, want %s: it was not sent", err, fault.Transient)
	}
	if _, err := s.Grant(t.Context(), time.Second); !fault.Is(err, fault.Transient) {
		t.Errorf("grant after close = %v, want %s", err, fault.Transient)
	}
}

// TestAFailureOfTheDiskFailsTheStoreAndNotTheProcess takes the reserve away and fills the
// file system to the last byte, so that etcd itself meets the end of the disk.
func TestAFailureOfTheDiskFailsTheStoreAndNotTheProcess(t *testing.T) {
	t.Parallel()
	if !inOwnProcess(t) {
		return
	}
	disk := mount(t, "200m")
	s, err := Open(t.Context(), Options{
		Dir: filepath.Join(disk, "data"), Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), MinFree: 1,
		free: func(string) (uint64, error) { return 1 << 40, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Grant(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, disk, 0)
	for i := 0; err == nil; i++ {
		if i > 1000 {
			t.Fatal("the disk never filled")
		}
		err = s.put(t.Context(), "data/"+strconv.Itoa(i), mebi)
	}
	if !fault.Is(err, fault.UnknownOutcome) && !fault.Is(err, fault.Transient) {
		t.Errorf("commit = %v, want %s or %s", err, fault.UnknownOutcome, fault.Transient)
	}
	<-s.Failed()
	if !fault.Is(s.Err(), fault.Permanent) {
		t.Errorf("the store failed with %v, want %s", s.Err(), fault.Permanent)
	}
	<-lease.Lost()
	if _, err := s.Commit(t.Context(), state.Txn{}); !fault.Is(err, fault.Transient) {
		t.Errorf("commit after the failure = %v, want %s: it was not sent", err, fault.Transient)
	}
	t.Logf("close of the failed store: %v", s.Close())
}
