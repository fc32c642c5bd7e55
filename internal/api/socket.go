package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"hale/internal/fault"
)

// longestSocket is how long the path of a unix socket may be.
const longestSocket = 107

// dialLimit bounds the question whether somebody listens.
const dialLimit = time.Second

// Listen opens the socket, mode 0600. What a dead controller left there is replaced; a live one is fault.Conflict.
// A path that cannot be a socket is fault.Invalid. Closing the listener removes the socket.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	const op = "api.listen"
	if len(path)+len(suffix) > longestSocket {
		return nil, fault.New(fault.Invalid, op, path,
			fmt.Errorf("the path is longer than the %d characters that a socket may have: choose another with --socket", longestSocket-len(suffix)))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fault.New(fault.Permanent, op, path, err)
	}
	if err := vacant(ctx, path); err != nil {
		return nil, err
	}
	// Made under another name and moved, so that nobody meets it before its mode is set.
	draft := path + suffix
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Permanent, op, path, err)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", draft)
	if err != nil {
		return nil, fault.New(fault.Permanent, op, path, err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	if err := errors.Join(os.Chmod(draft, 0o600), os.Rename(draft, path)); err != nil {
		return nil, fault.New(fault.Permanent, op, path, errors.Join(err, l.Close()))
	}
	return &listener{Listener: l, path: path}, nil
}

const suffix = "~"

// vacant reports whether the path may be taken: nothing is there, or a socket that nobody listens on.
func vacant(ctx context.Context, path string) error {
	const op = "api.listen"
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fault.New(fault.Permanent, op, path, err)
	case info.Mode().Type() != fs.ModeSocket:
		return fault.New(fault.Invalid, op, path, errors.New("it exists and is not a socket"))
	}
	dialer := net.Dialer{Timeout: dialLimit}
	conn, err := dialer.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		conn.Close()
		return fault.New(fault.Conflict, op, path, errors.New("another controller listens there"))
	case errors.Is(err, syscall.ECONNREFUSED): // what listened is dead
		return nil
	}
	return fault.New(fault.Conflict, op, path, fmt.Errorf("nobody knows whether another controller listens there: %w", err))
}

// listener removes its socket when it is closed.
type listener struct {
	net.Listener
	path string
}

// Close implements net.Listener.
func (l *listener) Close() error {
	err := l.Listener.Close()
	if gone := os.Remove(l.path); gone != nil && !errors.Is(gone, fs.ErrNotExist) && err == nil {
		err = gone
	}
	return err
}
