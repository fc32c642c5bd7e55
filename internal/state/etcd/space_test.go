package etcd

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"golang.org/x/sys/unix"

	"hale/internal/core/fault"
	"hale/internal/state"
)

func (s *Store) put(ctx context.Context, key string, size int) error {
	_, err := s.Commit(ctx, state.Txn{Then: []state.Write{state.Put(key, make([]byte, size))}})
	return err
}

func (s *Store) del(ctx context.Context, prefix string) error {
	_, err := s.Commit(ctx, state.Txn{Then: []state.Write{state.DeletePrefix(prefix)}})
	return err
}

func TestFreeSpaceIsMeasuredOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var measured int
		left := uint64(100)
		var broken error
		s := &space{
			dir: "/d", minFree: 100, quota: 1000, relief: make(chan struct{}, 1),
			free: func(string) (uint64, error) { measured++; return left, broken },
			used: func() int64 { return 0 },
		}
		want := func(refused bool) {
			t.Helper()
			if err := s.check(1); (err != nil) != refused {
				t.Errorf("check = %v, want refused %v", err, refused)
			}
		}
		want(false)
		left = 99
		time.Sleep(time.Second - 1)
		want(false) // not known yet
		time.Sleep(1)
		want(true)
		want(true)
		left = 100
		time.Sleep(time.Second)
		want(false)
		broken = errors.New("stale handle")
		time.Sleep(time.Second)
		want(true) // unknown is not room
		if measured != 4 {
			t.Errorf("measured %d times, want 4", measured)
		}
	})
}

func TestTheQuotaRefusesWhatGrowsAndAsksForRelief(t *testing.T) {
	t.Parallel()
	used := int64(800)
	s := &space{
		quota: 1000, relief: make(chan struct{}, 1),
		free: func(string) (uint64, error) { return 0, nil },
		used: func() int64 { return used },
	}
	if err := s.check(200); err != nil {
		t.Errorf("check to the brim = %v", err)
	}
	if len(s.relief) != 0 {
		t.Error("relief was asked for without need")
	}
	if s.check(201) == nil {
		t.Error("check beyond the quota was let through")
	}
	used = 801
	if err := s.check(1); err != nil {
		t.Errorf("check near the quota = %v", err)
	}
	if len(s.relief) != 1 {
		t.Error("the store did not ask for relief near the quota")
	}
	s.noteRefusal(rpctypes.ErrNoSpace)
	if s.check(1) == nil {
		t.Error("a growing write was let through under the alarm")
	}
	if err := s.check(0); err != nil {
		t.Errorf("a deletion was refused: %v", err)
	}
}

func TestALowDiskRefusesWritesAndNothingElse(t *testing.T) {
	t.Parallel()
	var left atomic.Uint64
	left.Store(1 << 40)
	s := OpenForTest(t, Options{free: func(string) (uint64, error) { return left.Load(), nil }})
	ctx := t.Context()
	lease, err := s.Grant(ctx, MinLease)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.put(ctx, "a", 1); err != nil {
		t.Fatal(err)
	}
	left.Store(DefaultMinFree - 1)
	eventually(t, "a write is refused", func() bool { return fault.Is(s.put(ctx, "b", 1), fault.NoSpace) })
	if _, err := s.Get(ctx, "a"); err != nil {
		t.Errorf("get = %v", err)
	}
	if _, err := s.Grant(ctx, MinLease); !fault.Is(err, fault.NoSpace) {
		t.Errorf("grant = %v, want %s", err, fault.NoSpace)
	}
	if lease.Remaining() == 0 {
		t.Error("a lease was lost for lack of disk space")
	}
	left.Store(DefaultMinFree)
	eventually(t, "writes are accepted again", func() bool { return s.put(ctx, "b", 1) == nil })
}

// mount mounts a file system of its own for the test.
func mount(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a tmpfs (this test needs root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file that leaves about the given number of bytes free, whatever others
// allocate or release meanwhile.
func fill(t *testing.T, dir string, leave uint64) (file string) {
	t.Helper()
	file = filepath.Join(dir, "ballast")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var size int64
	for step := int64(mebi); step >= 4096; {
		free, err := freeBytes(dir)
		if err != nil {
			t.Fatal(err)
		}
		if free < leave+uint64(step) || unix.Fallocate(int(f.Fd()), 0, size, step) != nil {
			step /= 2
			continue
		}
		size += step
	}
	return file
}

func TestAFullFileSystemIsSurvived(t *testing.T) {
	t.Parallel()
	disk := mount(t, "400m")
	s := OpenForTest(t, Options{Dir: filepath.Join(disk, "data")})
	ctx := t.Context()
	if err := s.put(ctx, "before", 1); err != nil {
		t.Fatal(err)
	}
	ballast := fill(t, disk, 1<<20)
	eventually(t, "a write is refused", func() bool { return fault.Is(s.put(ctx, "full", 1), fault.NoSpace) })
	if _, err := s.Get(ctx, "before"); err != nil {
		t.Errorf("get on a full disk = %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	eventually(t, "writes are accepted again", func() bool { return s.put(ctx, "after", 1) == nil })
	if s.Err() != nil {
		t.Errorf("the store failed: %v", s.Err())
	}
}

func TestANewStoreNeedsRoomAndAnOldOneOpensWithout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none := Options{
		Dir:    dir,
		Logger: slog.New(slog.DiscardHandler),
		free:   func(string) (uint64, error) { return 0, nil },
	}
	if _, err := Open(t.Context(), none); !fault.Is(err, fault.NoSpace) {
		t.Fatalf("open = %v, want %s", err, fault.NoSpace)
	}
	s, err := Open(t.Context(), Options{Dir: dir, Logger: none.Logger})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.put(t.Context(), "a", 1), s.Close()); err != nil {
		t.Fatal(err)
	}
	again := OpenForTest(t, none)
	if _, err := again.Get(t.Context(), "a"); err != nil {
		t.Errorf("get = %v", err)
	}
}

const mebi = 1 << 20

func TestHistoryAtTheQuotaIsForgotten(t *testing.T) {
	t.Parallel()
	s := OpenForTest(t, Options{Quota: 12 * mebi})
	refused := 0
	for written := 0; written < 40; { // 40 MiB through a quota of 12 MiB; one of them is alive
		err := s.put(t.Context(), "a", mebi)
		switch {
		case err == nil:
			written++
		case fault.Is(err, fault.NoSpace):
			refused++
			eventually(t, "there is room again", func() bool { return s.space.check(mebi) == nil })
		default:
			t.Fatal(err)
		}
		if refused > 20 {
			t.Fatalf("%d writes were refused", refused)
		}
	}
	t.Logf("%d of the writes had to wait", refused)
}

func TestLiveDataAtTheQuotaIsRefusedUntilSomeIsDeleted(t *testing.T) {
	t.Parallel()
	s := OpenForTest(t, Options{Quota: 8 * mebi})
	ctx := t.Context()
	var err error
	for i := 0; err == nil; i++ {
		if i > 100 {
			t.Fatal("the quota was never reached")
		}
		err = s.put(ctx, "data/"+string(rune('a'+i)), mebi)
		s.member.etcd.Server.Backend().ForceCommit() // so that the database knows its size
	}
	if !fault.Is(err, fault.NoSpace) {
		t.Fatalf("put = %v, want %s", err, fault.NoSpace)
	}
	if err := s.del(ctx, "data/"); err != nil {
		t.Fatalf("delete at the quota = %v", err)
	}
	eventually(t, "there is room again", func() bool { return s.put(ctx, "a", mebi) == nil })
}

func TestEtcdsOwnAlarmIsNoSpaceAndEnds(t *testing.T) {
	t.Parallel()
	s := OpenForTest(t, Options{Quota: 8 * mebi, backstop: 16 * mebi})
	ctx := t.Context()
	var err error
	for i := 0; err == nil; i++ {
		if i > 100 {
			t.Fatal("the alarm was never raised")
		}
		_, err = s.client.Put(ctx, "a", string(make([]byte, mebi))) // past the guard
	}
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		t.Fatal(err)
	}
	if err := s.noteAlarm(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.put(ctx, "b", 1); !fault.Is(err, fault.NoSpace) {
		t.Errorf("put = %v, want %s", err, fault.NoSpace)
	}
	eventually(t, "the alarm is over", func() bool { return s.put(ctx, "b", 1) == nil })
	active, err := s.client.AlarmList(ctx)
	if err != nil || len(active.Alarms) != 0 {
		t.Errorf("alarms %v, %v", active.Alarms, err)
	}
}
