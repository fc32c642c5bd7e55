package server_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hale/api"
	"hale/internal/api/server"
	"hale/internal/api/socket"
	"hale/internal/state/memory"

	"golang.org/x/sys/unix"
)

// A member of the readers' group sees what monitoring shows, and neither gives orders nor reads what guests wrote.
func TestReadersReadAndGiveNoOrders(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 { // who alone can become another user
		return
	}
	group, err := user.LookupGroupId("65534")
	if err != nil {
		t.Fatal(err)
	}
	outer, err := os.MkdirTemp("/tmp", "hale-readers-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(outer) })
	if err := os.Chmod(outer, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(outer, "run", "s")
	l, err := socket.Listen(t.Context(), path, group.Name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := server.New(server.Options{
		Version: "1", Server: "h", Status: standing, Store: memory.New(memory.Options{}).Open(nil),
		Logger: slog.New(slog.DiscardHandler),
	})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, doorAt(l)) }()

	for call, want := range map[string]int{
		"GET /v1/status": 200, "GET /v1/machines/web-2/why": 200, "GET /v1/events": 200, "GET /v1/nothing": 404,
		"POST /v1/orders": 403, "POST /v1/reload": 403, "GET /v1/backup": 403, "GET /v1/state": 403,
		"GET /v1/machines/web-2/evidence": 403, "GET /debug/pprof/": 403,
	} {
		if got, said := asReader(t, path, call); got != want ||
			got == 403 && !strings.Contains(said, "may only read here") {
			t.Errorf("%s by a reader: %d %s, want %d", call, got, said, want)
		}
	}
	if conn, err := dialAs(path, 12345, 12345); err == nil {
		conn.Close()
		t.Error("a user outside the group reached the socket")
	}
	mine := api.Dial(path)
	defer mine.Close()
	if _, err := mine.State(t.Context()); err != nil {
		t.Errorf("root may read the state: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// asReader makes the call as a user who is only a member of the group 65534.
func asReader(t *testing.T, socket, call string) (status int, said string) {
	t.Helper()
	method, path, _ := strings.Cut(call, " ")
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return dialAs(socket, 12345, 65534)
		},
	}}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://hale"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// dialAs connects as the user and the group. The kernel keeps both per thread: one takes them on, connects and ends.
func dialAs(socket string, uid, gid uintptr) (net.Conn, error) {
	var conn net.Conn
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		_, _, groups := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0)
		_, _, first := unix.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid)
		_, _, second := unix.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid)
		if groups != 0 || first != 0 || second != 0 {
			done <- errors.Join(groups, first, second)
			return
		}
		var err error
		conn, err = net.Dial("unix", socket)
		done <- err
	}()
	err := <-done
	return conn, err
}
