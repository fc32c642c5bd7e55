package netprobe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"hale/internal/core/fleet"
)

// healthStream is what a server writes that answers the first question with the body, and ends it with the status.
func healthStream(tb testing.TB, body []byte, status string) []byte {
	tb.Helper()
	var stream, head bytes.Buffer
	f := http2.NewFramer(&stream, nil)
	encoder := hpack.NewEncoder(&head)
	fields := func(pairs ...string) []byte {
		head.Reset()
		for i := 0; i < len(pairs); i += 2 {
			if err := encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}); err != nil {
				tb.Fatal(err)
			}
		}
		return bytes.Clone(head.Bytes())
	}
	for _, err := range []error{
		f.WriteHeaders(http2.HeadersFrameParam{
			StreamID:      1,
			BlockFragment: fields(":status", "200", "content-type", "application/grpc"),
			EndHeaders:    true,
		}),
		f.WriteData(1, false, body),
		f.WriteHeaders(http2.HeadersFrameParam{
			StreamID:      1,
			BlockFragment: fields("grpc-status", status, "grpc-message", "so%20it%20is"),
			EndHeaders:    true,
			EndStream:     true,
		}),
	} {
		if err != nil {
			tb.Fatal(err)
		}
	}
	return stream.Bytes()
}

// askedOf asks a server that writes the stream and hangs up: one that begins as it should waits for the question first,
// another one does not.
func askedOf(begins bool, stream []byte) error {
	here, there := net.Pipe()
	ended := make(chan struct{})
	go func() { // it ends with the connection
		defer close(ended)
		defer there.Close()
		asked, gone := make(chan struct{}), make(chan struct{})
		go listenFor(there, asked, gone)
		if begins {
			f := http2.NewFramer(there, nil)
			_, _ = f.WriteSettings(), f.WriteSettingsAck()
			select {
			case <-asked:
			case <-gone:
			}
		}
		_, _ = there.Write(stream)
		_ = there.Close()
		<-gone
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l := &call{conn: &witness{Conn: here}, authority: "192.0.2.1:50051"}
	err := l.check(ctx)
	<-ended
	return err
}

// listenFor reads what a client says, until it has gone, and tells when the question was there.
func listenFor(conn net.Conn, asked, gone chan<- struct{}) {
	defer close(gone)
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f, told := http2.NewFramer(io.Discard, conn), false
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			break
		}
		if _, question := frame.(*http2.DataFrame); question && !told {
			told = true
			close(asked)
		}
	}
	_, _ = io.Copy(io.Discard, conn)
}

// TestStreamOfHealth: the seeds of the fuzz test are what they are meant to be.
func TestStreamOfHealth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body   []byte
		status string
		want   string
	}{
		"cut off in the message": {[]byte{0, 0, 0, 0, 9, 8, 1}, "0", "unexpected EOF"},
		"the server's own word":  {nil, "14", "UNAVAILABLE: so it is"},
		"an unknown service":     {nil, "5", "NOT_FOUND: the server does not know the service"},
		"nothing but a status":   {nil, "0", "no response message"},
		"too long":               {append([]byte{0, 0, 0, 0x20, 0}, make([]byte, 0x2000)...), "0", "larger than max"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known failure
			if err := askedOf(true, healthStream(t, c.body, c.status)); !errors.As(err, &known) ||
				!strings.Contains(known.detail, c.want) {
				t.Errorf("it says %v, want %s", err, c.want)
			}
		})
	}
}

// FuzzHealth: whatever a server writes, the question ends, with an answer or with a failure that has words.
func FuzzHealth(f *testing.F) {
	f.Add(healthStream(f, []byte{0, 0, 0, 0, 2, 8, 1}, "0"), true)
	f.Add(healthStream(f, []byte{0, 0, 0, 0, 2, 8, 2}, "0"), true)
	f.Add(healthStream(f, nil, "12"), true)
	f.Add([]byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), false)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, stream []byte, begins bool) {
		err := askedOf(begins, stream)
		var known failure
		switch {
		case err == nil:
		case !errors.As(err, &known) || known.reason != fleet.ResultProtocol && known.reason != fleet.ResultStatus ||
			known.detail == "" || len(known.detail) > 200:
			t.Errorf("it ends with %v", err)
		}
	})
}
