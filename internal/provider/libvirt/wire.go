package libvirt

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// Bounds of a message: its length word and header, and the protocol's VIR_NET_MESSAGE_MAX.
const (
	minMessage = 28
	maxMessage = 32<<20 + 4
)

// wire is the connection beneath the RPC client. It can be cut at any time, which is the only way to end a call that a
// frozen daemon does not answer, and it checks message lengths, because the RPC client allocates what it is told to.
type wire struct {
	net.Conn
	down   chan struct{} // closed when nothing will be read any more
	downed sync.Once

	mu    sync.Mutex
	cause error // why we cut it; nil while we did not

	// Of the stream from the daemon: how much of the current message is still to come, and the length word so far.
	rest   uint32
	length []byte
}

func newWire(c net.Conn) *wire { return &wire{Conn: c, down: make(chan struct{})} }

// cut ends the connection: calls under way return at once. The first cause is kept.
func (w *wire) cut(cause error) {
	w.mu.Lock()
	first := w.cause == nil
	if first {
		w.cause = cause
	}
	w.mu.Unlock()
	if first {
		_ = w.Conn.Close() // there is nothing to flush, and nobody to tell
	}
}

// whyCut returns the cause of the first cut, or nil.
func (w *wire) whyCut() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cause
}

// Close is for the RPC client, which gives up after a failed greeting.
func (w *wire) Close() error {
	w.cut(net.ErrClosed)
	return nil
}

// Read is called by the RPC client's single reader, which ends at the first error.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if err == nil {
		err = w.follow(p[:n])
	}
	if err != nil {
		w.downed.Do(func() { close(w.down) })
		w.cut(err) // a half-closed connection is of no use
		return 0, err
	}
	return n, nil
}

// follow checks the message lengths in the next piece of the stream.
func (w *wire) follow(p []byte) error {
	for len(p) > 0 {
		if w.rest > 0 {
			skip := min(w.rest, uint32(len(p))) //nolint:gosec // a read is far below 4 GiB
			w.rest -= skip
			p = p[skip:]
			continue
		}
		w.length = append(w.length, p[0])
		p = p[1:]
		if len(w.length) < 4 {
			continue
		}
		length := binary.BigEndian.Uint32(w.length)
		if length < minMessage || length > maxMessage {
			return fmt.Errorf("a message of %d bytes: the peer does not speak libvirt's protocol", length)
		}
		w.length, w.rest = w.length[:0], length-4
	}
	return nil
}

// link is one connection with its RPC client.
type link struct {
	*golibvirt.Libvirt
	wire *wire
}

// handed is a dialer that hands out a connection that is there already.
type handed struct{ w *wire }

func (d handed) Dial() (net.Conn, error) { return d.w, nil }

// connect dials the daemon and opens the hypervisor, within ctx. When ctx ends the connection is cut.
func connect(ctx context.Context, a address) (*link, error) {
	c, err := a.dial(ctx)
	if err != nil {
		return nil, err
	}
	w := newWire(c)
	stop := context.AfterFunc(ctx, func() { w.cut(context.Cause(ctx)) })
	defer stop()
	l := &link{Libvirt: golibvirt.NewWithDialer(handed{w}), wire: w}
	if err := l.ConnectToURI(a.uri); err != nil {
		w.cut(err)
		return nil, err
	}
	return l, nil
}
