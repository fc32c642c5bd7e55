package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hale/internal/core/fault"
)

// UserOf returns the process that has the folder's store open; empty: none has, or it cannot be known.
func UserOf(dir string) string {
	lock, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return ""
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return ""
	}
	return holderOf(lock)
}

// CopyFolder copies a store that is not open anywhere, so that the copy can be opened and the original stays untouched.
// No store can be opened on the original meanwhile.
//
// fault.NotFound: there is no store. fault.Conflict: a process has it open.
func CopyFolder(from, to string) error {
	const op = "state.copy"
	lock, err := os.Open(filepath.Join(from, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, op, from, nil)
	}
	if err != nil {
		return fault.New(fault.Permanent, op, from, err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return fault.New(fault.Conflict, op, from, fmt.Errorf("the folder is in use: %w", err))
	}
	err = os.CopyFS(filepath.Join(to, dataName), os.DirFS(filepath.Join(from, dataName)))
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, op, from, nil)
	}
	if err != nil {
		return fault.New(fault.Permanent, op, from, err)
	}
	return nil
}
