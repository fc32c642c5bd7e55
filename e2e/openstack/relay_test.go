package openstack

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// relay is a way to the message bus that can be cut.
type relay struct {
	t       *testing.T
	to      string
	address string

	mu       sync.Mutex
	listener net.Listener // nil: cut
	conns    map[net.Conn]bool
	serving  sync.WaitGroup
}

// relayTo listens, and passes on what comes.
func relayTo(t *testing.T, to string) *relay {
	t.Helper()
	r := &relay{t: t, to: to, address: "127.0.0.1:0", conns: map[net.Conn]bool{}}
	r.mend()
	t.Cleanup(r.cut)
	return r
}

// mend listens again, at the same address.
func (r *relay) mend() {
	r.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(r.t.Context()), "tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.address, r.listener = listener.Addr().String(), listener
	r.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.serving.Go(func() { r.pass(conn) })
		}
	})
}

// pass connects the two ends, until one of them ends or cut.
func (r *relay) pass(near net.Conn) {
	far, err := (&net.Dialer{}).DialContext(context.WithoutCancel(r.t.Context()), "tcp", r.to)
	if err != nil {
		near.Close()
		return
	}
	if !r.hold(near, far) {
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // it ends with either connection
			way[0].Close()
			way[1].Close()
		})
	}
	both.Wait()
}

// hold keeps the connections, so that they can be cut; after a cut it closes them.
func (r *relay) hold(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		if r.listener == nil {
			c.Close()
		}
		r.conns[c] = true
	}
	return r.listener != nil
}

// cut ends all connections, and refuses new ones until mend.
func (r *relay) cut() {
	r.mu.Lock()
	if r.listener != nil {
		r.listener.Close()
		r.listener = nil
	}
	for c := range r.conns {
		c.Close()
	}
	clear(r.conns)
	r.mu.Unlock()
	r.serving.Wait()
}
