package app

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"hale/internal/testbed/nettest"
)

// liars answer in place of everything that hale speaks with. Each does another wrong thing with each request.
type liars struct {
	stranger *httptest.Server // where they send hale
	reached  atomic.Int64     // how often it went
	turns    atomic.Int64
	end      chan struct{} // what stalls ends
	stop     func()        // closes it
}

func newLiars(t *testing.T) *liars {
	t.Helper()
	l := &liars{end: make(chan struct{})}
	l.stop = sync.OnceFunc(func() { close(l.end) })
	l.stranger = l.serve(t, func(http.ResponseWriter, *http.Request) { l.reached.Add(1) })
	return l
}

// serve starts a server over TLS that keeps quiet of what it meets.
func (l *liars) serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.StartTLS()
	t.Cleanup(func() {
		l.stop()
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// lie answers a request over HTTP.
func (l *liars) lie(w http.ResponseWriter, q *http.Request) {
	switch l.turns.Add(1) % 7 {
	case 0:
		http.Redirect(w, q, l.stranger.URL+q.URL.Path, http.StatusTemporaryRedirect)
	case 1:
		l.flood(w)
	case 2:
		select {
		case <-q.Context().Done():
		case <-l.end:
		}
	case 3:
		fmt.Fprintf(w,
			`{"@odata.id": %[1]q, "Members": [{"@odata.id": %[1]q}], "next": %[1]q, `+
				`"servers_links": [{"rel": "next", "href": %[1]q}]}`,
			l.stranger.URL+"/redfish/v1")
	case 4:
		fmt.Fprintf(w, `{"@odata.id": %[1]q, "Members": [{"@odata.id": %[1]q}], "Members@odata.nextLink": %[1]q}`,
			q.URL.Path)
	case 5:
		_, _ = io.WriteString(w, strings.Repeat(`{"a":[`, 50_000))
	default:
		w.WriteHeader(http.StatusInternalServerError)
		l.flood(w)
	}
}

// flood writes until the connection fails.
func (l *liars) flood(w io.Writer) {
	chunk := []byte(strings.Repeat(" ", 64<<10))
	_, _ = io.WriteString(w, `{"servers": [`)
	for sent := 0; sent < 1<<30; sent += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// daemon listens as libvirtd does.
func (l *liars) daemon(t *testing.T) (address string) {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nettest.Serve(t, listener, func(_ context.Context, c net.Conn) { l.talk(c) })
	t.Cleanup(l.stop)
	return listener.Addr().String()
}

// talk answers each call of a connection with a header that fits it, and with what does not.
func (l *liars) talk(c net.Conn) {
	done := make(chan struct{})
	defer close(done)
	go func() { // ends with the talk
		select {
		case <-l.end:
			_ = c.Close()
		case <-done:
		}
	}()
	head := make([]byte, 28)
	for {
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		if n := int64(binary.BigEndian.Uint32(head)) - 28; n > 0 {
			if _, err := io.CopyN(io.Discard, c, n); err != nil {
				return
			}
		}
		binary.BigEndian.PutUint32(head[16:], 1) // a reply
		switch l.turns.Add(1) % 5 {
		case 0: // an array of four thousand million
			body := []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1}
			binary.BigEndian.PutUint32(head, uint32(28+len(body)))
			_, _ = c.Write(slices.Concat(head, body))
		case 1: // a message of four thousand million bytes
			binary.BigEndian.PutUint32(head, 0xffffffff)
			_, _ = c.Write(head)
			l.flood(c)
		case 2: // silence
			<-l.end
			return
		case 3:
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			return
		default: // what was not asked for
			binary.BigEndian.PutUint32(head, 28)
			binary.BigEndian.PutUint32(head[20:], 0x7fffffff)
			for range 100_000 {
				if _, err := c.Write(head); err != nil {
					return
				}
			}
		}
	}
}
