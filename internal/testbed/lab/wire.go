package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// request is what a Lab asks of its warden: one JSON value per connection, answered by one reply.
type request struct {
	Op   op     `json:"op"`
	Name string `json:"name,omitempty"` // a domain for opKill, a bridge for opTune
	URL  string `json:"url,omitempty"`  // for opGet
}

// op names what the warden can do.
type op string

const (
	opKillDaemon   op = "kill libvirtd"
	opStartDaemon  op = "start libvirtd"
	opFreezeDaemon op = "freeze libvirtd"
	opThawDaemon   op = "thaw libvirtd"
	opProcesses    op = "processes"
	opKill         op = "kill"
	opTune         op = "tune bridge"
	opGet          op = "get"
	opStop         op = "stop"
)

// reply carries the outcome; Error is empty on success.
type reply struct {
	Error     string    `json:"error,omitempty"`
	Processes []Process `json:"processes,omitempty"`
	Status    int       `json:"status,omitempty"` // HTTP status
	Body      string    `json:"body,omitempty"`   // HTTP body, cut at 64 KiB
}

// Process is one running QEMU of the lab.
type Process struct {
	Domain string `json:"domain"` // libvirt name
	UUID   string `json:"uuid"`   // libvirt UUID
	MAC    string `json:"mac"`    // of the first network interface, empty without one
	PID    int    `json:"pid"`    // inside the lab's PID namespace
}

func controlSocket(dir string) string { return filepath.Join(dir, "lab.sock") }

// call sends one request to the warden of dir and waits for the reply until ctx ends.
func call(ctx context.Context, dir string, q request) (reply, error) {
	conn, err := dialControl(ctx, dir)
	if err != nil {
		return reply{}, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	var r reply
	err = json.NewEncoder(conn).Encode(q)
	if err == nil {
		err = json.NewDecoder(conn).Decode(&r)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return r, fmt.Errorf("lab %s: %w", q.Op, ctx.Err())
	case err != nil:
		return r, fmt.Errorf("lab %s: %w", q.Op, err)
	case r.Error != "":
		return r, fmt.Errorf("lab %s: %w", q.Op, errors.New(r.Error))
	}
	return r, nil
}

func dialControl(ctx context.Context, dir string) (*net.UnixConn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", controlSocket(dir))
	if err != nil {
		return nil, fmt.Errorf("no lab answers in %s: %w", dir, err)
	}
	return conn.(*net.UnixConn), nil
}

// peerPID returns the process at the other end, as numbered in the caller's PID namespace.
func peerPID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, credErr); err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}
