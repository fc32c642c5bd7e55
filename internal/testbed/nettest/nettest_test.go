package nettest_test

import (
	"context"
	"net"
	"testing"

	"hale/internal/testbed/nettest"
)

// A connection that the other side leaves open does not outlive the test, nor does what serves it.
func TestNothingIsServedAfterTheTest(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served, ended := make(chan struct{}), false
	var near net.Conn
	t.Run("a test", func(t *testing.T) {
		nettest.Serve(t, l, func(ctx context.Context, c net.Conn) {
			close(served)
			_, err := c.Read(make([]byte, 1))
			ended = err != nil && ctx.Err() != nil
		})
		if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		<-served
	})
	defer near.Close()
	if !ended {
		t.Error("the connection is still served")
	}
	if _, err := near.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
}
