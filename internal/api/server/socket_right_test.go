package server_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hale/api"
	"hale/internal/api/server"
)

func TestWhoMayNotUseTheSocketLearnsWhoMay(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := server.Listen(t.Context(), socket, "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	denied := api.NotRunning{
		Socket: socket,
		Err:    &net.OpError{Op: "dial", Err: &os.SyscallError{Syscall: "connect", Err: fs.ErrPermission}},
	}
	if said := denied.Error(); !strings.HasPrefix(said, "you may not use the socket ") ||
		!strings.Contains(said, " may; run the command as that user") || strings.Count(said, "root") != 1 {
		t.Errorf("it is said: %s", said)
	}
	if err := os.Chmod(socket, 0o660); err != nil {
		t.Fatal(err)
	}
	if said := denied.Error(); !strings.Contains(said, " members of group ") {
		t.Errorf("of a socket with a group it is said: %s", said)
	}
}
