package socket_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hale/api"
	"hale/internal/api/socket"
	"hale/internal/core/fault"
)

func TestWhoMayNotUseTheSocketLearnsWhoMay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := socket.Listen(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	denied := api.NotRunning{
		Socket: path,
		Err:    &net.OpError{Op: "dial", Err: &os.SyscallError{Syscall: "connect", Err: fs.ErrPermission}},
	}
	if said := denied.Error(); !strings.HasPrefix(said, "you may not use the socket ") ||
		!strings.Contains(said, " may; run the command as that user") || strings.Count(said, "root") != 1 {
		t.Errorf("it is said: %s", said)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		t.Fatal(err)
	}
	if said := denied.Error(); !strings.Contains(said, " members of group ") {
		t.Errorf("of a socket with a group it is said: %s", said)
	}
}

func TestTheSocketOfADeadProcessIsReplaced(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	next, err := socket.Listen(t.Context(), at, "")
	if err != nil {
		t.Fatal(err)
	}
	next.Close()
}

func TestWhatCannotBeASocket(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(t.TempDir(), strings.Repeat("x", 120))} {
		if _, err := socket.Listen(t.Context(), path, ""); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "precious" {
		t.Errorf("the file was harmed: %q, %v", data, err)
	}
}
