package rabbit

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Lie is what a lying broker does at one moment of a connection, when it has been honest until then. It returns when
// the connection ended, or shall end.
type Lie struct {
	Name string
	at   request
	tell func(*visit)
}

// request is what a client asks for, by the numbers of AMQP 0-9-1: class and method.
type request [2]uint16

var (
	connected = request{}       // it has connected, and asked for nothing yet
	binding   = request{50, 20} // the lie is told in place of the answer
	bound     = request{20, 40} // it has bound its queue, and is done with the channel on which it did
)

const (
	method, header, body, heartbeat = 1, 2, 3, 8

	huge = 0xffffffff // bytes
)

// honest are the answers to requests. Where there is none, none is due.
var honest = map[request]struct {
	answer request
	fields string
}{
	connected: {request{10, 10}, "\x00\x09\x00\x00\x00\x00" + "\x00\x00\x00\x05PLAIN" + "\x00\x00\x00\x05en_US"},
	{10, 11}:  {request{10, 30}, "\x00\x00\x00\x02\x00\x00\x00\x00"}, // the tune
	{10, 40}:  {request{10, 41}, "\x00"},
	{10, 50}:  {request{10, 51}, ""},
	{20, 10}:  {request{20, 11}, "\x00\x00\x00\x00"},
	bound:     {request{20, 41}, ""},
	{50, 10}:  {request{50, 11}, "\x01q" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"},
	binding:   {request{50, 21}, ""},
	{60, 10}:  {request{60, 11}, ""},
	{60, 20}:  {request{60, 21}, "\x04hale"},
}

// leave says nothing more: the connection ends.
func (*visit) leave() {}

// Lies returns all of them. Those that are told to who has bound its queue, to which hale comes back at once, lie
// between the others.
func Lies() []Lie {
	return []Lie{
		{"a notification of more bytes than there are", bound, func(v *visit) {
			_ = v.deliver(1<<63, "", strings.Repeat("x", 100)) // hale may be gone by now; so with the others
		}},
		{"rubbish in place of a greeting", connected, func(v *visit) { _ = v.say("HTTP/1.1 400 Bad Request\r\n\r\n") }},
		{"a frame of four thousand million bytes", bound, func(v *visit) { v.flood(frameHead(body, 1, huge)) }},
		{"a value of less than no bytes", connected, func(v *visit) {
			_ = v.say(say(0, request{10, 10}, "\x00\x09"+long("\x01kx"+"\xff\xff\xff\xff")))
		}},
		{"more notifications than were asked for", binding, func(v *visit) {
			one := strings.Repeat("x", 100<<10)
			for v.deliver(uint64(len(one)), "", one) == nil {
				continue
			}
		}},
		{"notifications of nothing", bound, func(v *visit) {
			for range 10_000 {
				if v.deliver(2, "", "{}") != nil {
					return
				}
			}
		}},
		{"a greeting of two thousand million bytes", connected, func(v *visit) {
			v.flood(frameHead(method, 0, huge) + "\x00\x0a" + "\x00\x0a" + "\x00\x09\x7f\xff\xff\xff")
		}},
		{"properties of two thousand million bytes", bound, func(v *visit) {
			_ = v.deliver(1, "\x7f\xff\xff\xff", "x")
		}},
		{"a body without a notification", bound, func(v *visit) {
			for v.say(frame(body, 1, strings.Repeat("x", 100<<10))) == nil {
				continue
			}
		}},
		{"an end at once", connected, (*visit).leave},
		{"answers to no request", bound, func(v *visit) {
			for v.say(say(1, request{20, 20}, "\x00")) == nil {
				continue
			}
		}},
		{"tables in tables", bound, func(v *visit) {
			inner := ""
			for range 5_000 {
				inner = "\x00F" + long(inner)
			}
			_ = v.deliver(1, long(inner), "x")
		}},
		{"signs of life, and no answer", binding, (*visit).live},
		{"silence", connected, func(v *visit) { <-v.end }},
	}
}

// Liar is a broker that tells each who connects the next of its lies.
type Liar struct {
	Address string // amqp://HOST:PORT

	lies []Lie
	told atomic.Int64
	end  chan struct{}
}

// StartLiar lets one listen on loopback until the test ends.
func StartLiar(t testing.TB, lies ...Lie) *Liar {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Liar{Address: "amqp://" + listener.Addr().String(), lies: lies, end: make(chan struct{})}
	var visits sync.WaitGroup
	visits.Go(func() {
		for n := 0; ; n++ {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			visits.Go(func() { l.receive(c, lies[n%len(lies)]) })
		}
	})
	t.Cleanup(func() {
		close(l.end)
		_ = listener.Close()
		visits.Wait()
	})
	return l
}

// Told is how many lies were begun.
func (l *Liar) Told() int64 { return l.told.Load() }

// receive is honest until it is time for the lie.
func (l *Liar) receive(c net.Conn, lie Lie) {
	ctx, over := context.WithCancel(context.Background())
	defer over()
	v := &visit{Conn: c, end: make(chan struct{})}
	var ending sync.WaitGroup
	defer ending.Wait()
	ending.Go(func() {
		select {
		case <-l.end:
		case <-ctx.Done():
		}
		_ = c.Close()
	})
	defer over()
	greeting := make([]byte, 8)
	if _, err := io.ReadFull(c, greeting); err != nil {
		return
	}
	channel, asked := uint16(0), connected
	for {
		if asked == lie.at {
			l.told.Add(1)
			if asked == bound {
				v.answer(channel, asked)
			}
			go func() { // ends with the connection, at the latest
				defer close(v.end)
				_, _ = io.Copy(io.Discard, c)
			}()
			lie.tell(v)
			over()
			<-v.end
			return
		}
		v.answer(channel, asked)
		var err error
		if channel, asked, err = next(c); err != nil {
			return
		}
	}
}

// next reads the client's next request.
func next(c io.Reader) (channel uint16, asked request, err error) {
	for {
		head := make([]byte, 7)
		if _, err := io.ReadFull(c, head); err != nil {
			return 0, asked, err
		}
		frame := make([]byte, binary.BigEndian.Uint32(head[3:])+1)
		if _, err := io.ReadFull(c, frame); err != nil {
			return 0, asked, err
		}
		if head[0] == method && len(frame) > 4 {
			asked = request{binary.BigEndian.Uint16(frame), binary.BigEndian.Uint16(frame[2:])}
			return binary.BigEndian.Uint16(head[1:]), asked, nil
		}
	}
}

// visit is one client's connection.
type visit struct {
	net.Conn
	end chan struct{} // closed when the client is gone
}

func (v *visit) say(what string) error {
	_, err := io.WriteString(v.Conn, what)
	return err
}

func (v *visit) answer(channel uint16, asked request) {
	if a, due := honest[asked]; due {
		_ = v.say(say(channel, a.answer, a.fields)) // that it is gone, the next read says
	}
}

// deliver announces a notification with so many bytes, with a table of properties where there is one, and sends the
// body.
func (v *visit) deliver(size uint64, table, content string) error {
	flags := "\x00\x00"
	if table != "" {
		flags = "\x20\x00"
	}
	head := "\x00\x3c\x00\x00" + string(binary.BigEndian.AppendUint64(nil, size)) + flags + table
	return v.say(say(1, request{60, 60}, "\x04hale"+"\x00\x00\x00\x00\x00\x00\x00\x01"+"\x00"+"\x04nova"+"\x01k") +
		frame(header, 1, head) + frame(body, 1, content))
}

// flood says what it is given, and goes on until the client closes.
func (v *visit) flood(first string) {
	err := v.say(first)
	for chunk := strings.Repeat("x", 64<<10); err == nil; {
		err = v.say(chunk)
	}
}

// live says that it lives, and nothing else.
func (v *visit) live() {
	beat := time.NewTicker(20 * time.Millisecond)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			if errors.Is(v.say(frame(heartbeat, 0, "")), net.ErrClosed) {
				return
			}
		case <-v.end:
			return
		}
	}
}

func say(channel uint16, m request, fields string) string {
	head := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, m[0]), m[1])
	return frame(method, channel, string(slices.Concat(head, []byte(fields))))
}

func frame(kind byte, channel uint16, payload string) string {
	return frameHead(kind, channel, uint32(len(payload))) + payload + "\xce" //nolint:gosec // ours are short
}

func frameHead(kind byte, channel uint16, size uint32) string {
	head := binary.BigEndian.AppendUint16([]byte{kind}, channel)
	return string(binary.BigEndian.AppendUint32(head, size))
}

// long is what has its length before it.
func long(s string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s //nolint:gosec // ours are short
}
