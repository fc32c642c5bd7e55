package etcd

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"golang.org/x/sys/unix"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// freeMemory is for how long a measurement of free disk space is believed.
const freeMemory = time.Second

// space decides whether there is room for a write, before it is sent: etcd itself ends the
// process when its disk is full.
type space struct {
	dir     string
	minFree uint64
	quota   int64
	free    func(dir string) (uint64, error) // bytes free on the file system
	used    func() int64                     // bytes of the database that hold data

	alarmed atomic.Bool   // etcd refuses writes by its own alarm
	relief  chan struct{} // asks the housekeeper for room; holds one request

	mu       sync.Mutex
	measured time.Time
	lastFree uint64
	lastErr  error
}

// check returns why a write that makes the store grow by n bytes must not be sent, or nil.
func (s *space) check(n int) error {
	free, err := s.freeBytes()
	if err != nil {
		return fmt.Errorf("free space of %s: %w", s.dir, err)
	}
	if free < s.minFree {
		return fmt.Errorf(
			"the data folder %s is full: %d MiB free, below the reserve of %d MiB; make room on its file system",
			s.dir,
			free>>20,
			s.minFree>>20,
		)
	}
	if n == 0 {
		return nil
	}
	if s.alarmed.Load() {
		s.askForRelief()
		return fmt.Errorf("the data folder %s is full: etcd has raised its quota alarm", s.dir)
	}
	if s.isTight() {
		s.askForRelief()
	}
	if used := s.used(); used+int64(n) > s.quota {
		return fmt.Errorf(
			"the data folder %s is full: the database holds %d MiB, quota %d MiB",
			s.dir,
			used>>20,
			s.quota>>20,
		)
	}
	return nil
}

// isTight tells whether the database is so near its quota that it is time to make room.
func (s *space) isTight() bool { return s.alarmed.Load() || s.used() > s.quota/5*4 }

// freeBytes measures at most once in freeMemory.
func (s *space) freeBytes() (uint64, error) {
	s.mu.Lock()
	if !s.measured.IsZero() && time.Since(s.measured) < freeMemory {
		defer s.mu.Unlock()
		return s.lastFree, s.lastErr
	}
	s.mu.Unlock()
	free, err := s.free(s.dir) // without the lock: a broken disk may let it hang
	s.mu.Lock()
	defer s.mu.Unlock()
	s.measured, s.lastFree, s.lastErr = time.Now(), free, err
	return free, err
}

// noteRefusal learns from the error of a write whether etcd's alarm is on.
func (s *space) noteRefusal(err error) {
	if errors.Is(err, rpctypes.ErrNoSpace) {
		s.alarmed.Store(true)
		s.askForRelief()
	}
}

func (s *space) askForRelief() {
	select {
	case s.relief <- struct{}{}:
	default: // it was asked for already
	}
}

// freeBytes returns the bytes that an unprivileged process can still write.
func freeBytes(dir string) (uint64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	//nolint:gosec,unconvert // a block has a positive size; systems differ in the types
	return uint64(fs.Bavail) * uint64(fs.Bsize), nil
}

// Space returns how much room there is. An error says that it cannot be told now.
func (s *Store) Space() (state.Space, error) {
	free, err := s.space.freeBytes()
	if err != nil {
		return state.Space{}, fault.New(fault.Transient, "state.room", s.space.dir, err)
	}
	total, err := totalBytes(s.space.dir)
	if err != nil {
		return state.Space{}, fault.New(fault.Transient, "state.room", s.space.dir, err)
	}
	return state.Space{Free: free, Total: total, Reserve: s.space.minFree, Used: s.space.used(), Quota: s.space.quota,
		Alarmed: s.space.alarmed.Load()}, nil
}

// totalBytes returns how many bytes the file system has.
func totalBytes(dir string) (uint64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return uint64(fs.Blocks) * uint64(fs.Bsize), nil //nolint:gosec,unconvert // as in freeBytes
}
