package libvirt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// Bounds of a message, in bytes, its length word and header included.
const (
	minMessage = 28
	// maxMessage is half of what the protocol allows. The longest honest answer is the leases of a network: the daemon
	// lists up to 65,536, each below 200 bytes.
	maxMessage = 16 << 20
	// maxEvent is ample for the names that an event bears.
	maxEvent = 64 << 10
	// maxUnread bounds how many events wait for the watch: the RPC client keeps whatever comes.
	maxUnread = 16 << 10
)

// header is that of each message, after its length.
type header struct {
	Program, Version, Procedure, Type, Serial, Status uint32
}

// wire is the connection beneath the RPC client. It can be cut at any time, which is the only way to end a call that a
// frozen daemon does not answer. And it judges each message before the RPC client sees it: the client allocates as much
// as a message says, and gives an answer to the call that the message names.
type wire struct {
	net.Conn
	in     *bufio.Reader
	down   chan struct{} // closed when nothing will be read any more
	downed sync.Once
	unread atomic.Int64 // events that were handed on and not yet taken by the watch

	mu    sync.Mutex
	cause error // why we cut it; nil while we did not
	asked map[uint32]procedure

	ready bytes.Buffer // what was judged and is to be read by the client

	// Of what the client writes: the message's beginning so far, and how much of it is still to come.
	begun  []byte
	unsaid uint32
}

func newWire(c net.Conn) *wire {
	return &wire{Conn: c, in: bufio.NewReader(c), down: make(chan struct{}), asked: map[uint32]procedure{}}
}

// cut ends the connection: calls under way return at once. The first cause is kept.
func (w *wire) cut(cause error) {
	w.mu.Lock()
	first := w.cause == nil
	if first {
		w.cause = cause
	}
	w.mu.Unlock()
	if first {
		_ = w.Conn.Close() // there is nothing to flush
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
	if w.ready.Len() == 0 {
		if err := w.receive(); err != nil {
			w.downed.Do(func() { close(w.down) })
			w.cut(err) // a half-closed connection is of no use
			return 0, err
		}
	}
	n, err := w.ready.Read(p)
	if w.ready.Len() == 0 && w.ready.Cap() > maxEvent {
		w.ready = bytes.Buffer{} // long answers are rare, and idle connections many
	}
	return n, err
}

// receive makes the next message ready, if it is one that the client may see.
func (w *wire) receive() error {
	h, size, err := readHeader(w.in)
	if err != nil {
		return err
	}
	expected, err := w.expect(h, size)
	if err != nil {
		return err
	}
	w.ready.Reset()
	writeHeader(&w.ready, h, size)
	if _, err := io.CopyN(&w.ready, w.in, int64(size)); err != nil { // grows with what comes, not with what was said
		return err
	}
	if err := expected.check(w.ready.Bytes()[minMessage:], h.Status); err != nil {
		return fmt.Errorf("the daemon's message is malformed: %s: %w", expected.name, err)
	}
	return nil
}

// expect returns what the message must be: an event that a watch asks for, or the answer to a call under way.
func (w *wire) expect(h header, size uint32) (described, error) {
	p := procedure{h.Program, h.Procedure}
	if event, ok := events[p]; ok {
		if h.Status == statusError { // the client decodes it as an event all the same
			return described{}, fmt.Errorf("the daemon sent %s that is an error", event.name)
		}
		if size > maxEvent {
			return described{}, fmt.Errorf("the daemon sent an event of %d bytes", size)
		}
		if w.unread.Add(1) > maxUnread {
			return described{}, fmt.Errorf("the daemon sent %d events faster than they can be looked at", maxUnread)
		}
		return event, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if asked, ok := w.asked[h.Serial]; !ok || asked != p || h.Type != typeReply {
		return described{}, fmt.Errorf("the daemon sent an unexpected message (program %#x, procedure %d)",
			h.Program, h.Procedure)
	}
	delete(w.asked, h.Serial)
	return calls[p], nil
}

// Write is called by the RPC client, one call at a time, with any part of a message.
func (w *wire) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if w.unsaid > 0 {
			n := min(w.unsaid, uint32(len(rest))) //nolint:gosec // a call is far below 4 GiB
			w.unsaid -= n
			rest = rest[n:]
			continue
		}
		n := min(minMessage-len(w.begun), len(rest))
		w.begun = append(w.begun, rest[:n]...)
		rest = rest[n:]
		if len(w.begun) < minMessage {
			break
		}
		h, size, err := readHeader(bytes.NewReader(w.begun))
		if err == nil {
			err = w.ask(h)
		}
		if err != nil {
			return 0, err
		}
		w.begun, w.unsaid = w.begun[:0], size
	}
	return w.Conn.Write(p)
}

// ask notes a call, so that its answer is known.
func (w *wire) ask(h header) error {
	p := procedure{h.Program, h.Procedure}
	if _, ok := calls[p]; !ok {
		return fmt.Errorf("no call of the adapter's: program %#x, procedure %d", h.Program, h.Procedure)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[h.Serial] = p
	return nil
}

// readHeader reads the beginning of a message, and returns how many bytes come after it.
func readHeader(r io.Reader) (header, uint32, error) {
	var begin struct {
		Length uint32
		header
	}
	var b [minMessage]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return header{}, 0, err
	}
	if _, err := binary.Decode(b[:], binary.BigEndian, &begin); err != nil {
		return header{}, 0, err
	}
	if begin.Length < minMessage || begin.Length > maxMessage {
		return header{}, 0, fmt.Errorf("a message of %d bytes: the peer does not speak libvirt's protocol",
			begin.Length)
	}
	return begin.header, begin.Length - minMessage, nil
}

// writeHeader writes the beginning of a message that goes on for size bytes.
func writeHeader(b *bytes.Buffer, h header, size uint32) {
	putUint(b, minMessage+size, h.Program, h.Version, h.Procedure, h.Type, h.Serial, h.Status)
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
func connect(ctx context.Context, a reach) (*link, error) {
	c, err := a.dial(ctx)
	if err != nil {
		return nil, err
	}
	w := newWire(c)
	stop := context.AfterFunc(ctx, func() { w.cut(context.Cause(ctx)) })
	defer stop()
	l := &link{Libvirt: golibvirt.NewWithDialer(handed{w}), wire: w}
	if err := l.ConnectToURI(a.uri); err != nil {
		if cause := w.whyCut(); cause != nil && !errors.Is(err, cause) {
			err = errors.Join(cause, err)
		}
		w.cut(err)
		return nil, err
	}
	return l, nil
}
