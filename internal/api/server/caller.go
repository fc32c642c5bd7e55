package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/user"
	"slices"
	"strconv"

	"hale/api"
)

// callerKey is where the context of a request has its caller.
type callerKey struct{}

// caller is the user at the other end of a connection. The zero value: the kernel does not say.
type caller struct {
	name  string // or "user 1000", where it has none
	uid   uint32
	known bool
}

// withCaller notes who is at the other end of a connection, as the kernel says.
func withCaller(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, callerKey{}, peer(c))
}

// callerOf returns the name of the user who sent the request.
func callerOf(ctx context.Context) string {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c.name
}

// peer returns the user at the other end of a unix socket.
func peer(c net.Conn) caller {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return caller{}
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return caller{}
	}
	var uid uint32
	if raw.Control(func(fd uintptr) { uid, err = peerUID(int(fd)) }) != nil || err != nil {
		return caller{}
	}
	return caller{name: userName(uid), uid: uid, known: true}
}

func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if known, err := user.LookupId(id); err == nil {
		return known.Username
	}
	return "user " + id
}

// readable are the calls that a reader may make: what monitoring shows, and nothing that holds what guests wrote.
var readable = []string{
	"GET /v1/status", "GET /v1/machines/{name}/why", "GET /v1/events", "GET /v1/orders", "GET /v1/fleets/{name}/world",
	"GET /v1/pending", "GET /v1/notify/dead", "GET /v1/fences",
}

// forReaders lets root, and the user who runs hale, make all calls, and every other user those that are readable.
// Without a group of readers the socket's mode keeps others out before this does.
func forReaders(mux *http.ServeMux, fail func(http.ResponseWriter, int, api.Problem)) http.Handler {
	owner := uint32(os.Geteuid()) //nolint:gosec // an id of 32 bits
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(callerKey{}).(caller)
		_, pattern := mux.Handler(r)
		if c.known && c.uid != 0 && c.uid != owner && !slices.Contains(readable, pattern) {
			fail(w, http.StatusForbidden, api.Problem{Code: api.CodeForbidden, Message: fmt.Sprintf(
				"%s may only read here; everything else is for root and %s, who runs hale", c.name, userName(owner))})
			return
		}
		mux.ServeHTTP(w, r)
	})
}
