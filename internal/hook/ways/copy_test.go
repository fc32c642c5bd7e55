package ways_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/policy"
	"hale/internal/testbed/lab/labtest"
)

// copies is a hook that puts one file on the machine.
func copies(s labtest.SSHD, port int, known, from, to string) policy.Hook {
	return policy.Hook{Kind: policy.HookCopy, Copy: policy.Copying{Files: []policy.File{{From: from, To: to,
		Mode: 0o640}},
		Login: policy.Login{User: "root", Key: s.Key, Port: port, KnownHosts: known}}}
}

// file writes one of a few MiB, of which each has content of its own.
func file(t *testing.T, name string, content byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, bytes.Repeat([]byte{content}, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func portOf(t *testing.T, addr string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(addr)
	port, bad := strconv.Atoi(text)
	if err != nil || bad != nil {
		t.Fatal(err, bad)
	}
	return port
}

// A real sshd takes a file whole, with its permissions, and again; one with another key than the known one gets none.
func TestAFileIsPutOnAMachine(t *testing.T) {
	t.Parallel()
	s := labtest.StartSSHD(t, nil, "")
	from, to := file(t, "app.conf", 'a'), filepath.Join(t.TempDir(), "it's there")
	for range 2 {
		if _, err := here.Run(t.Context(), errand(copies(s, portOf(t, s.Addr), s.Known, from, to))); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.Stat(to)
	if err != nil || is.Size() != 4<<20 || is.Mode() != 0o640 {
		t.Fatalf("it is %+v, %v", is, err)
	}
	other := filepath.Join(t.TempDir(), "other")
	_, err = here.Run(t.Context(), errand(copies(s, portOf(t, s.Addr), s.Impostor(t), from, other)))
	if !fault.Is(err, fault.Permanent) {
		t.Errorf("another key: %v", err)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a machine with another key was given the file")
	}
}

// A connection that breaks in the middle leaves the file as it was.
func TestAFileThatIsCutOffIsNotPutInPlace(t *testing.T) {
	t.Parallel()
	s := labtest.StartSSHD(t, nil, "")
	old, to := file(t, "old.conf", 'a'), filepath.Join(t.TempDir(), "app.conf")
	if _, err := here.Run(t.Context(), errand(copies(s, portOf(t, s.Addr), s.Known, old, to))); err != nil {
		t.Fatal(err)
	}
	port := cutAfter(t, s.Addr, 2<<20)
	if _, err := here.Run(t.Context(), errand(copies(s, port, "", file(t, "new.conf", 'b'), to))); err == nil {
		t.Fatal("it says that the file was put there")
	}
	hasEnded(t, to) // what runs on the machine sees the end of its input only later
	is, err := os.ReadFile(to)
	if err != nil || len(is) != 4<<20 || is[0] != 'a' {
		t.Errorf("there are %d bytes of %q: %v", len(is), is[:1], err)
	}
}

// hasEnded waits until no command runs that names the file.
func hasEnded(t *testing.T, name string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(10 * time.Second); ; {
		commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(commands, func(path string) bool {
			words, err := os.ReadFile(path)
			return err == nil && bytes.Contains(words, []byte(name)) // or it has ended
		}) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it still runs after 10 s")
		}
	}
}

// cutAfter is a way to the address that breaks once so many bytes went there. It returns its port.
func cutAfter(t *testing.T, addr string, most int64) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { carry(t, in, addr, most) })
		}
	})
	return portOf(t, l.Addr().String())
}

// carry takes so many bytes to the address, and all that comes back.
func carry(t *testing.T, in net.Conn, addr string, most int64) {
	out, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		_ = in.Close()
		return
	}
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(in, out) })
	_, _ = io.CopyN(out, in, most)
	_ = out.(*net.TCPConn).CloseWrite() // what came is all that the machine sees
	back.Wait()
	_, _ = in.Close(), out.Close()
}
