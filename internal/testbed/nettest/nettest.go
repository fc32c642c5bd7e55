// Package nettest serves connections for as long as a test runs.
package nettest

import (
	"context"
	"net"
	"sync"
)

// T is what of a test is needed here.
type T interface {
	Cleanup(func())
	Context() context.Context
}

// Serve has each connection to l served in a goroutine of its own, until the test ends. The connection is closed when
// serve returns, or when the test ends; then the context ends, too, and the test waits until all have returned.
func Serve(t T, l net.Listener, serve func(context.Context, net.Conn)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var serving sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = c.Close() }() // a second time is no harm
				stop := context.AfterFunc(ctx, func() { _ = c.Close() })
				defer stop()
				serve(ctx, c)
			})
		}
	})
}
