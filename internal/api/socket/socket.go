// Package socket is where users of this machine call hale: a unix socket, by whose file rights, and by the kernel's word
// for who is at the other end, it is known who may do what.
//
// It promises that what a dead controller left there is replaced, and a live one is not.
package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"hale/internal/core/fault"
)

// longestSocket is how long the path of a unix socket may be.
const longestSocket = 107

// dialLimit bounds the attempt to connect to a socket that may be in use.
const dialLimit = time.Second

// Listen opens the socket: mode 0600, or 0660 for a group of readers, where one is named; package api lets its members
// read. What a dead controller left there is replaced; a live one is fault.Conflict. A path that cannot be a socket,
// and a group that does not exist, are fault.Invalid. Closing the listener removes the socket.
func Listen(ctx context.Context, path, readers string) (net.Listener, error) {
	const op = "api.listen"
	admit, err := admission(readers)
	if err != nil {
		return nil, fault.New(fault.Invalid, op, path, err)
	}
	if len(path)+len(suffix) > longestSocket {
		return nil, fault.New(fault.Invalid, op, path,
			fmt.Errorf("the path is longer than the %d characters that a socket may have: choose another with --socket",
				longestSocket-len(suffix)))
	}
	if err := ownFolder(filepath.Dir(path), admit); err != nil {
		return nil, fault.New(fault.Permanent, op, path, err)
	}
	if err := vacant(ctx, path); err != nil {
		return nil, err
	}
	// Made under another name and moved, so that it has its mode before a client can find it.
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
	if err := errors.Join(admit(draft, 0o600), os.Rename(draft, path)); err != nil {
		return nil, fault.New(fault.Permanent, op, path, errors.Join(err, l.Close()))
	}
	return &listener{Listener: l, path: path}, nil
}

const suffix = "~"

// admission returns what gives a file its mode, and the group, where one is named, the same rights as the owner but to
// write to a folder.
func admission(group string) (func(path string, mode os.FileMode) error, error) {
	if group == "" {
		return os.Chmod, nil
	}
	if !knowsPeers {
		return nil, errors.New("this system does not tell who calls: leave out --socket-group")
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return nil, fmt.Errorf("there is no group %s: make it with groupadd, or name another with --socket-group",
			group)
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		return nil, fmt.Errorf("group %s has no number", group)
	}
	return func(path string, mode os.FileMode) error {
		if err := os.Chown(path, -1, gid); err != nil {
			return fmt.Errorf("the user who runs hale must be a member of group %s to give the socket to it: %w",
				group, err)
		}
		if mode&0o100 != 0 {
			return os.Chmod(path, mode|0o050)
		}
		return os.Chmod(path, mode|mode>>3)
	}, nil
}

// ownFolder makes the socket's folder, if it is not there. One that is there is left as it is.
func ownFolder(dir string, admit func(string, os.FileMode) error) error {
	_, err := os.Stat(dir)
	if err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return admit(dir, 0o700)
}

// vacant reports whether the path may be taken: nothing is there, or a socket without a listener.
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
	return fault.New(fault.Conflict, op, path, fmt.Errorf("another controller may listen there: %w", err))
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
