package api

import (
	"context"
	"net"
	"os/user"
	"strconv"
)

// callerKey is where the context of a request has its caller.
type callerKey struct{}

// withCaller notes who is at the other end of a connection, as the kernel says.
func withCaller(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, callerKey{}, peer(c))
}

// callerOf returns the name of the user who sent the request.
func callerOf(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

// peer returns the name of the user at the other end of a unix socket, or the number where it has no name; empty: nobody knows.
func peer(c net.Conn) string {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return ""
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return ""
	}
	var uid uint32
	if raw.Control(func(fd uintptr) { uid, err = peerUID(int(fd)) }) != nil || err != nil {
		return ""
	}
	id := strconv.FormatUint(uint64(uid), 10)
	if known, err := user.LookupId(id); err == nil {
		return known.Username
	}
	return "user " + id
}
