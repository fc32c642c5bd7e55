package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"hale/internal/fault"
)

// ours fails if a folder belongs to another user, who could not read what we write into it. A folder that is not there will be ours.
func ours(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.New(fault.Permanent, "app.restore", dir, err)
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(is.Uid) == os.Geteuid() {
		return nil
	}
	who := strconv.Itoa(int(is.Uid))
	if known, err := user.LookupId(who); err == nil {
		who = known.Username
	}
	return fault.New(fault.Unauthorised, "app.restore", dir, fmt.Errorf("it belongs to user %s, who runs hale there: restore as that user (sudo -u %s hale restore …)", who, who))
}
