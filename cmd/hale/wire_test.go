package main

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"hale/internal/testbed/nettest"
)

// wire is the way to a server, through which nothing goes in one direction, or in none, while its connections live: as
// where packets are lost.
type wire struct {
	at         string
	there, way gate // to the server, and back
}

// gate is open, or holds what comes until it is.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // until this one is closed; nil: it is open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

// pass returns when it is open.
func (g *gate) pass(ctx context.Context) {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed == nil {
		return
	}
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

// stretch lays one to the address.
func stretch(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{at: l.Addr().String()}
	nettest.Serve(t, l, func(ctx context.Context, from net.Conn) {
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer server.Close()
		stop := context.AfterFunc(ctx, func() { _ = server.Close() })
		defer stop()
		var back sync.WaitGroup
		back.Go(func() {
			w.way.carry(ctx, from, server)
			_ = from.Close()
		})
		w.there.carry(ctx, server, from)
		_ = server.Close()
		back.Wait()
	})
	return w
}

// carry copies through the gate until one end is closed.
func (g *gate) carry(ctx context.Context, to io.Writer, from io.Reader) {
	some := make([]byte, 32<<10)
	for {
		n, err := from.Read(some)
		g.pass(ctx)
		if n > 0 {
			if _, err := to.Write(some[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
