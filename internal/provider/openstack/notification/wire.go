package notification

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
)

// Bounds of what a broker may send, in bytes unless said otherwise.
const (
	maxFrame       = 128 << 10 // of a frame, its head and end included; hale asks for it, and RabbitMQ proposes as much
	maxTalk        = 4 << 10   // of a frame before both agreed on a size: the protocol's own limit
	maxMessage     = 16 << 20  // of a message's body, as RabbitMQ has it; those of OpenStack have some dozen KiB
	maxUnread      = 256       // messages that hale has not read: its prefetch
	maxUnreadBytes = 32 << 20  // of their bodies
)

// Of AMQP 0-9-1.
const (
	frameMethod    = 1
	frameHeader    = 2
	frameBody      = 3
	frameHeartbeat = 8
	frameHead      = 7 // bytes: kind, channel, size
	frameEnd       = 0xCE
	classBasic     = 60
	lengthOfHeader = 14 // bytes: class, weight, the body's size, which properties follow
)

// method is what a broker says, or asks for.
type method struct{ class, method uint16 }

// methods are those that a listener may hear, with the fields of each: a number of bytes, t for a short string, T for a
// long one, F for a table.
var methods = map[method]string{
	{10, 10}: "2FTT", {10, 30}: "242", {10, 41}: "t", // start, tune, open-ok
	{10, 50}: "2t22", {10, 51}: "", {10, 60}: "t", {10, 61}: "", // close, close-ok, blocked, unblocked
	{20, 11}: "T", {20, 40}: "2t22", {20, 41}: "", // channel: open-ok, close, close-ok
	{50, 11}: "t44", {50, 21}: "", // queue: declare-ok, bind-ok
	{classBasic, 11}: "", {classBasic, 21}: "t", {classBasic, 30}: "t1", // qos-ok, consume-ok, cancel
	deliver: "t81tt",
}

var deliver = method{classBasic, 60}

// properties are the fields of those that a message may have, the one of the highest bit first.
const properties = "ttF11tttt8tttt"

// values are the fields of what a table holds, by kind.
var values = map[byte]string{
	't': "1", 'b': "1", 'B': "1", 's': "2", 'u': "2", 'I': "4", 'i': "4", 'f': "4", 'l': "8", 'd': "8", 'T': "8",
	'D': "14",
	'S': "T", 'x': "T", 'A': "A", 'F': "F", 'V': "",
}

// wire is the connection beneath the AMQP client. It judges each frame before the client sees it. The client allocates
// whatever a frame announces, keeps as many messages as come, and panics over an impossible length. It panics in a
// goroutine of its own, which would end hale.
type wire struct {
	net.Conn
	in    *bufio.Reader
	ready bytes.Buffer // what was judged and is to be read by the client

	// Of the message that is coming.
	channel uint16
	coming  stage
	missing uint64 // bytes of its body

	unread, unreadBytes atomic.Int64 // messages that the client was given and hale has not read
}

// stage is what of a message comes next.
type stage int

const (
	stageNone stage = iota
	stageHeader
	stageBody
)

func newWire(c net.Conn) *wire { return &wire{Conn: c, in: bufio.NewReader(c)} }

// Read is called by the AMQP client's single reader, which ends at the first error.
func (w *wire) Read(p []byte) (int, error) {
	if w.ready.Len() == 0 {
		if err := w.receive(); err != nil {
			w.ready.Reset()
			return 0, err
		}
	}
	return w.ready.Read(p)
}

// took counts a message with a body of so many bytes as read.
func (w *wire) took(size int) {
	w.unread.Add(-1)
	w.unreadBytes.Add(-int64(size))
}

// receive makes the next frame ready, if it is one that the client may see.
func (w *wire) receive() error {
	var head [frameHead]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		return err
	}
	kind, channel, size := head[0], binary.BigEndian.Uint16(head[1:]), binary.BigEndian.Uint32(head[3:])
	most := uint32(maxTalk)
	switch kind {
	case frameMethod, frameHeader:
	case frameBody:
		most = maxFrame - frameHead - 1
	case frameHeartbeat:
		most = 0
	default:
		return errors.New("the broker does not speak AMQP 0-9-1")
	}
	if size > most {
		return fmt.Errorf("the broker announced a frame of %d bytes, more than the %d that it may have", size, most)
	}
	w.ready.Reset()
	w.ready.Write(head[:])
	if _, err := io.CopyN(&w.ready, w.in, int64(size)+1); err != nil { // grows with what comes
		return err
	}
	frame := w.ready.Bytes()
	if frame[len(frame)-1] != frameEnd {
		return errors.New("the broker sent a frame without its end")
	}
	return w.judge(kind, channel, frame[frameHead:len(frame)-1])
}

// judge says why the client may not see the frame.
func (w *wire) judge(kind byte, channel uint16, body []byte) error {
	switch {
	case kind == frameHeartbeat:
		return nil
	case kind == frameMethod && (w.coming == stageNone || channel != w.channel):
		return w.judgeMethod(channel, body)
	case kind == frameHeader && w.coming == stageHeader && channel == w.channel:
		return w.judgeHeader(body)
	case kind == frameBody && w.coming == stageBody && channel == w.channel && uint64(len(body)) <= w.missing:
		w.expect(uint64(len(body)))
		return nil
	}
	return errors.New("the broker sent a frame out of order")
}

// expect notes how much of the body came.
func (w *wire) expect(came uint64) {
	w.missing -= came
	w.coming = stageBody
	if w.missing == 0 {
		w.coming = stageNone
	}
}

func (w *wire) judgeMethod(channel uint16, body []byte) error {
	r := rest{left: body}
	m := method{uint16(r.number(2)), uint16(r.number(2))} //nolint:gosec // of two bytes
	fields, known := methods[m]
	if r.short || !known {
		return fmt.Errorf("the broker sent an unexpected method (class %d, method %d)", m.class, m.method)
	}
	if r.fields(fields); r.short || len(r.left) > 0 {
		return fmt.Errorf("the broker's message is malformed (class %d, method %d)", m.class, m.method)
	}
	if m != deliver {
		return nil
	}
	if w.coming != stageNone {
		return errors.New("the broker sent two notifications at a time")
	}
	w.channel, w.coming = channel, stageHeader
	return nil
}

func (w *wire) judgeHeader(body []byte) error {
	if len(body) < lengthOfHeader {
		return errors.New("the broker sent a notification without a beginning")
	}
	size, flags := binary.BigEndian.Uint64(body[4:]), binary.BigEndian.Uint16(body[12:])
	r := rest{left: body[lengthOfHeader:]}
	for i := range len(properties) {
		if flags&(1<<(15-i)) != 0 {
			r.fields(properties[i : i+1])
		}
	}
	switch {
	case r.short || flags&3 != 0: // two bits mean nothing
		return errors.New("the properties of the broker's notification are malformed")
	case size > maxMessage:
		return fmt.Errorf("the broker announced a notification of %d bytes, more than the %d that hale reads", size,
			maxMessage)
	case w.unread.Add(1) > maxUnread || w.unreadBytes.Add(int64(size)) > maxUnreadBytes:
		return errors.New("the broker sent more notifications than hale asked for")
	}
	w.missing = size
	w.expect(0)
	return nil
}

// rest is what is left of a frame.
type rest struct {
	left  []byte
	short bool // something was longer than what was left, or of no known kind
}

// fields passes over the fields, as methods has them.
func (r *rest) fields(kinds string) {
	for i := range len(kinds) {
		switch kind := kinds[i]; kind {
		case 't':
			r.take(r.number(1))
		case 'T':
			r.take(r.number(4))
		case 'F':
			r.table()
		case 'A':
			for inner := r.inner(); len(inner.left) > 0 && !r.short; r.short = inner.short {
				inner.value()
			}
		default:
			r.take(uint64(kind - '0'))
		}
	}
}

// table passes over names with their values.
func (r *rest) table() {
	for inner := r.inner(); len(inner.left) > 0 && !r.short; r.short = inner.short {
		inner.fields("t")
		inner.value()
	}
}

// inner is what a length of four bytes says that is within.
func (r *rest) inner() rest { return rest{left: r.take(r.number(4))} }

// value skips one value. Its kind comes first.
func (r *rest) value() {
	kind := r.take(1)
	if r.short {
		return
	}
	fields, known := values[kind[0]]
	if !known {
		r.short = true
		return
	}
	r.fields(fields)
}

func (r *rest) number(bytes uint64) uint64 {
	var n uint64
	for _, b := range r.take(bytes) {
		n = n<<8 | uint64(b)
	}
	return n
}

func (r *rest) take(n uint64) []byte {
	if r.short || n > uint64(len(r.left)) {
		r.short = true
		return nil
	}
	taken := r.left[:n]
	r.left = r.left[n:]
	return taken
}
