//go:build unix

package api

import (
	"io/fs"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// groupMay are the bits by which the group of a socket, or of its folder, may use it.
const groupMay = 0o020

// allowed says which user, and which group, may use the file.
func allowed(f fs.FileInfo) string {
	owner, ok := f.Sys().(*syscall.Stat_t)
	if !ok {
		return "the user that hale runs as may"
	}
	who := strconv.Itoa(int(owner.Uid))
	if u, err := user.LookupId(who); err == nil {
		who = u.Username
	}
	may := []string{"user " + who}
	if !f.IsDir() && f.Mode()&groupMay != 0 {
		group := strconv.Itoa(int(owner.Gid))
		if g, err := user.LookupGroupId(group); err == nil {
			group = g.Name
		}
		may = append(may, "members of group "+group)
	}
	if owner.Uid != 0 {
		may = append(may, "root")
	}
	last := len(may) - 1
	if last == 0 {
		return may[0] + " may"
	}
	return strings.Join(may[:last], ", ") + " and " + may[last] + " may"
}
