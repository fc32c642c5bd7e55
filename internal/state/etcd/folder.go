package etcd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"hale/internal/core/fault"
)

const (
	// lockName is a file: its lock says that a process uses the folder. In it is the process id of the one that does,
	// or of the last that did.
	lockName = "hale.lock"
	// dataName is the folder in the folder that is etcd's own.
	dataName = "etcd"
	// draftName is where a store is made that is to take its place.
	draftName = "etcd.restoring"
)

// lockFolder makes the folder if need be and takes its lock, or fails at once with
// fault.Conflict. The lock ends with the process, however it ends.
func lockFolder(dir string) (*os.File, error) {
	const op = "state.open"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.New(fault.Permanent, op, dir, err)
	}
	if err := checkRights(dir); err != nil {
		return nil, fault.New(fault.Unauthorised, op, dir, err)
	}
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.New(fault.Permanent, op, dir, err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err := fmt.Errorf("the folder is in use by process %s", holderOf(file))
		_ = file.Close()
		return nil, fault.New(fault.Conflict, op, dir, err)
	}
	if err == nil {
		err = errors.Join(file.Truncate(0), writeAt(file, fmt.Sprintln(os.Getpid())))
	}
	if err != nil && !errors.Is(err, unix.ENOSPC) { // a full disk must not keep the owner out
		_ = file.Close()
		return nil, fault.New(fault.Permanent, op, dir, err)
	}
	return file, nil
}

// holderOf returns the process that has the lock, as it wrote it down itself.
func holderOf(lock *os.File) string {
	id, _ := io.ReadAll(io.LimitReader(lock, 20)) // only to say more
	return strings.TrimSpace(string(id))
}

// checkRights refuses a folder of another user, who could not use what this process writes into it, and one that
// others may write to: what stands in it decides what is destroyed.
func checkRights(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if int(is.Uid) != os.Geteuid() {
		who := strconv.Itoa(int(is.Uid))
		if known, err := user.LookupId(who); err == nil {
			who = known.Username
		}
		return fmt.Errorf("it belongs to user %s, who runs hale there: do this as that user (sudo -u %s hale …)", who,
			who)
	}
	const group, others = 0o020, 0o002
	if mode := info.Mode().Perm(); mode&others != 0 || mode&group != 0 && int(is.Gid) != os.Getegid() {
		return fmt.Errorf("users other than the one that runs hale may write to it (mode %04o): chmod 0700 %s", mode,
			dir)
	}
	return nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// checkSpace refuses to begin a store on a disk that has no room for one. An existing one is
// opened even on a full disk, so that it can be read.
func checkSpace(dir string, s *space) error {
	const op = "state.open"
	switch _, err := os.Stat(filepath.Join(dir, dataName)); {
	case err == nil:
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return fault.New(fault.Permanent, op, dir, err)
	}
	switch _, err := os.Stat(filepath.Join(dir, draftName)); {
	case err == nil: // to begin an empty one now would be to forget all machines
		return fault.New(fault.Permanent, op, dir,
			errors.New("a restore into the folder did not come to its end: give hale restore again"))
	case !errors.Is(err, os.ErrNotExist):
		return fault.New(fault.Permanent, op, dir, err)
	}
	if err := s.check(0); err != nil {
		return fault.New(fault.NoSpace, op, dir, err)
	}
	return nil
}
