package socket

import (
	"context"
	"net"
	"os"
	"os/user"
	"strconv"

	"hale/internal/access"
)

// WithCaller notes who is at the other end of a connection to the socket, as the kernel says: root, and the user who
// runs hale, govern; the members of a group of readers read. Without such a group the socket's mode keeps others out
// before this does.
func WithCaller(ctx context.Context, c net.Conn) context.Context {
	uid, known := peer(c)
	p := access.Principal{Kind: access.BySocket, Grants: []access.Grant{{Role: access.Admin}}}
	if known {
		p.Name, p.ID = userName(uid), strconv.FormatUint(uint64(uid), 10)
		if uid != 0 && uid != uint32(os.Geteuid()) { //nolint:gosec // an id of 32 bits
			p.Grants = []access.Grant{{Role: access.Viewer}}
		}
	}
	p.Persons = []string{"socket user " + p.ID} // several people may be one user
	return access.With(ctx, p)
}

// peer returns the user at the other end of a unix socket; false: the kernel does not say.
func peer(c net.Conn) (uid uint32, known bool) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, false
	}
	if raw.Control(func(fd uintptr) { uid, err = peerUID(int(fd)) }) != nil || err != nil {
		return 0, false
	}
	return uid, true
}

func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if known, err := user.LookupId(id); err == nil {
		return known.Username
	}
	return "user " + id
}
