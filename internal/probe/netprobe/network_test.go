package netprobe_test

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
)

// network returns the real transport, closed when the test ends.
func network(t *testing.T) *netprobe.Net {
	t.Helper()
	n := netprobe.Network()
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// eventually awaits a condition of the world outside.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline, tick := time.NewTimer(10*time.Second), time.NewTicker(5*time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("in 10 s: not %s", what)
		}
	}
}

func TestPingLoopback(t *testing.T) {
	t.Parallel()
	n := network(t)
	for _, address := range []string{"127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if err := n.Ping(ctx, netip.MustParseAddr(address)); err != nil {
			t.Errorf("ping %s: %v", address, err)
		}
		cancel()
	}
}

func TestManyPingsShareASocket(t *testing.T) {
	t.Parallel()
	n := network(t)
	const pings = 2000
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	failed := make(chan error, pings)
	for i := range pings {
		address := netip.AddrFrom4([4]byte{127, 0, byte(1 + i>>8), byte(1 + i&0x7f)})
		go func() { failed <- n.Ping(ctx, address) }()
	}
	for range pings {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
}

func TestPingAfterCloseIsLocal(t *testing.T) {
	t.Parallel()
	n := netprobe.Network()
	if err := n.Ping(t.Context(), netip.MustParseAddr("127.0.0.1")); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	var local probe.LocalError
	if err := n.Ping(t.Context(), netip.MustParseAddr("127.0.0.1")); !errors.As(err, &local) {
		t.Errorf("ping on a closed transport: %v, want a local error", err)
	}
}

func TestTCPOnLoopback(t *testing.T) {
	t.Parallel()
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	e := start(t, network(t), netprobe.Options{})
	for _, tc := range []struct {
		at   net.Addr
		want fleet.ResultReason
	}{{open.Addr(), fleet.ResultOK}, {closed.Addr(), fleet.ResultRefused}} {
		target := page("127.0.0.1", portOf(t, tc.at.String()), policy.HTTPCheck{})
		target.Spec.Kind = policy.CheckTCP
		if got := e.Look(t.Context(), target); got.Result != tc.want {
			t.Errorf("look says %+v, want %s", got, tc.want)
		}
	}
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return int(ap.Port())
}

func TestHTTPSOnLoopback(t *testing.T) {
	t.Parallel()
	var moved atomic.Bool
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/elsewhere":
			moved.Store(true)
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "/broken":
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // it hears of refused certificates
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	trusting := start(t, network(t), netprobe.Options{Roots: roots})
	wary := start(t, network(t), netprobe.Options{Roots: x509.NewCertPool()})
	port := portOf(t, server.Listener.Addr().String())
	for _, tc := range []struct {
		engine *netprobe.Engine
		path   string
		want   fleet.ResultReason
		detail string
	}{
		{trusting, "/", fleet.ResultOK, ""},
		{trusting, "/broken", fleet.ResultStatus, "503"},
		{trusting, "/moved", fleet.ResultStatus, "302"},
		{wary, "/", fleet.ResultTLS,
			"tls: failed to verify certificate: x509: certificate signed by unknown authority"},
	} {
		target := page("127.0.0.1", port, policy.HTTPCheck{Scheme: "https", Path: tc.path, Host: "example.com"})
		target.Spec.Timeout = 4 * time.Second
		if got := tc.engine.Look(t.Context(), target); got.Result != tc.want || got.Detail != tc.detail {
			t.Errorf("%s: %+v, want %s (%s)", tc.path, got, tc.want, tc.detail)
		}
	}
	if moved.Load() {
		t.Error("the redirect was followed")
	}
}

// TestEngineOnLoopback watches a real server die and return.
func TestEngineOnLoopback(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	e := start(t, network(t), netprobe.Options{})
	target := page("127.0.0.1", portOf(t, address), policy.HTTPCheck{})
	target.Spec.Kind, target.Spec.DownAfter = policy.CheckTCP, 3
	target.Spec.Every, target.Spec.Timeout = 50*time.Millisecond, 40*time.Millisecond
	e.Set(target)
	becomes := func(want fleet.Standing) {
		t.Helper()
		eventually(t, string(want), func() bool { return e.Standings()[0].Standing == want })
	}
	becomes(fleet.StandingUp)
	listener.Close()
	becomes(fleet.StandingDown)
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	becomes(fleet.StandingUp)
}

func TestProgramsRun(t *testing.T) {
	t.Parallel()
	n := network(t)
	for name, tc := range map[string]struct {
		argv   []string
		code   int
		output string
	}{
		"success":             {[]string{"true"}, 0, ""},
		"an exit code":        {[]string{"sh", "-c", "echo out; echo err >&2; exit 3"}, 3, "out\nerr\n"},
		"a signal of its own": {[]string{"sh", "-c", "kill -TERM $$"}, -1, ""},
		"no shell":            {[]string{"echo", "$HOME; exit 1"}, 0, "$HOME; exit 1\n"},
		"too much output": {[]string{"sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x"}, 0,
			strings.Repeat("x", 4096)},
		"a small environment": {[]string{"sh", "-c", "echo ${HOME-none}"}, 0, "none\n"},
		"nothing to read":     {[]string{"cat"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, output, err := n.Run(t.Context(), probe.Program{Args: tc.argv})
			if err != nil || code != tc.code || output != tc.output {
				t.Errorf("code %d, output %q, error %v; want %d, %q", code, output, err, tc.code, tc.output)
			}
		})
	}
}

func TestProgramThatDoesNotExistIsLocal(t *testing.T) {
	t.Parallel()
	n := network(t)
	for _, argv := range [][]string{nil, {"/nowhere/at/all"}, {"no-such-program"}, {t.TempDir()}} {
		var local probe.LocalError
		if _, _, err := n.Run(t.Context(), probe.Program{Args: argv}); !errors.As(err, &local) {
			t.Errorf("%q: %v, want a local error", argv, err)
		}
	}
}

// TestTimeoutKillsTheWholeGroup (S05) runs a program with children that hold its pipes and would live on.
func TestTimeoutKillsTheWholeGroup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	n := network(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, _, err := n.Run(ctx, probe.Program{Args: []string{
		"sh", "-c",
		`sleep 1000 & a=$!; (trap "" TERM INT HUP; sleep 1000) & echo $$ $a $! >"$0.new"; mv "$0.new" "$0"; wait`, file,
	}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a program that hangs: %v, want its context's error", err)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pids := strings.Fields(string(written))
	if len(pids) != 3 {
		t.Fatalf("pids %q", pids)
	}
	for _, p := range pids {
		eventually(t, "gone: process "+p, func() bool { return !alive(t, p) })
	}
}

// TestLeftBehindChildrenAreKilled runs a program that ends well while its child holds its pipes.
func TestLeftBehindChildrenAreKilled(t *testing.T) {
	t.Parallel()
	n := network(t)
	begun := time.Now()
	code, output, err := n.Run(t.Context(), probe.Program{Args: []string{"sh", "-c", "sleep 1000 & echo $!"}})
	if err != nil || code != 0 {
		t.Fatalf("code %d, error %v", code, err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("waited %v for pipes", took)
	}
	eventually(t, "gone: the child", func() bool { return !alive(t, strings.TrimSpace(output)) })
}

// alive reports whether the process runs; a zombie that was not reaped yet does not.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(n, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

// TestTooManyProgramsAreLocal fills all places: who gets none says nothing about its target.
func TestTooManyProgramsAreLocal(t *testing.T) {
	t.Parallel()
	const places = 64
	n := network(t)
	file := filepath.Join(t.TempDir(), "running")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, places)
	for range places {
		// Ends with its context; awaited below.
		go func() {
			_, _, err := n.Run(ctx, probe.Program{Args: []string{"sh", "-c", `echo x >>"$0"; exec sleep 1000`, file}})
			ended <- err
		}()
	}
	eventually(t, "64 programs", func() bool {
		running, _ := os.ReadFile(file)
		return len(running) == 2*places
	})
	var local probe.LocalError
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, _, err := n.Run(short, probe.Program{Args: []string{"true"}}); !errors.As(err, &local) {
		t.Errorf("a program that got no place: %v, want a local error", err)
	}

	cancel()
	for range places {
		if err := <-ended; !errors.Is(err, context.Canceled) || errors.As(err, &local) {
			t.Errorf("a program that was cut short: %v", err)
		}
	}
	if code, _, err := n.Run(t.Context(), probe.Program{Args: []string{"true"}}); code != 0 || err != nil {
		t.Errorf("afterwards: code %d, %v", code, err)
	}
}
