package nettest

import (
	"net"
	"testing"
)

// Free returns an address on loopback that nothing listens at, for a program that is told where to listen.
func Free(t testing.TB) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
