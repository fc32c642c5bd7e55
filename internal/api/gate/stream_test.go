package gate_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/token"
	"hale/internal/api/gate"
	"hale/internal/state"
	"hale/internal/state/memory"
)

// pipes is a listener without a network, for bubbles.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p.conns <- far
	return near, nil
}

// inBubble serves a stream behind a gate, and calls what the test does with it.
func inBubble(t *testing.T, stream http.HandlerFunc, do func(t *testing.T, s state.Store, text string, client *http.Client)) {
	t.Helper()
	var plain http.Protocols
	plain.SetHTTP1(true)
	inBubbleBy(t, &plain, stream, do)
}

// inBubbleBy is inBubble by other protocols.
func inBubbleBy(t *testing.T, by *http.Protocols, stream http.HandlerFunc,
	do func(t *testing.T, s state.Store, text string, client *http.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{}).Open(nil)
		log := slog.New(slog.DiscardHandler)
		g := gate.New(gate.Options{Store: s, Logger: log,
			Refused: func(context.Context, access.Principal, string, api.Problem) {}})
		g.Take(&gate.Rules{Requests: 100, Strangers: 100, Connections: 100, Streams: 100})
		root := access.Principal{Kind: access.BySocket, Persons: []string{"root"}, Grants: []access.Grant{{Role: access.Admin}}}
		text, _, err := token.Make(t.Context(), s, root, token.Wish{
			Name: "t", For: 5 * time.Minute, Grants: []access.Grant{{Role: access.Viewer}},
		}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		l := pipes{make(chan net.Conn), make(chan struct{})}
		server := &http.Server{Handler: g.Guard(stream), Protocols: by}
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(l) }()
		transport := &http.Transport{DialContext: l.dial, DisableCompression: true, Protocols: by}
		do(t, s, text, &http.Client{Transport: transport})
		transport.CloseIdleConnections()
		_ = server.Close()
		<-ended
	})
}

func beats(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			_, _ = io.WriteString(w, ".")
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func opened(t *testing.T, text string, client *http.Client) io.ReadCloser {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+text)
	resp, err := client.Do(q)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	return resp.Body
}

func TestAStreamEndsWithWhatItsCallerShowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		revoke      bool
		least, most time.Duration
	}{"revoked": {true, 30 * time.Second, 61 * time.Second}, "over": {false, 299 * time.Second, 301 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, beats, func(t *testing.T, s state.Store, text string, client *http.Client) {
				begun := time.Now()
				body := opened(t, text, client)
				defer body.Close()
				if c.revoke {
					time.Sleep(30*time.Second + 1)
					listed, err := token.List(t.Context(), s)
					if err == nil {
						_, err = token.Revoke(t.Context(), s, listed[0].ID)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				_, _ = io.Copy(io.Discard, body)
				if took := time.Since(begun); took < c.least || took > c.most {
					t.Errorf("it ends after %v", took)
				}
			})
		})
	}
}

// TestAReaderThatDoesNotReadIsLeft, although the stream as a whole has no limit.
func TestAReaderThatDoesNotReadIsLeft(t *testing.T) {
	t.Parallel()
	var left chan time.Duration // of the bubble
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
		begun := time.Now()
		for range 100 {
			_, err := w.Write(make([]byte, 1<<20))
			if err == nil {
				err = http.NewResponseController(w).Flush()
			}
			if err != nil {
				break
			}
		}
		left <- time.Since(begun)
	}, func(t *testing.T, _ state.Store, text string, client *http.Client) {
		left = make(chan time.Duration, 1)
		body := opened(t, text, client)
		took := <-left
		if took < 29*time.Second || took > 31*time.Second {
			t.Errorf("it is left after %v", took)
		}
		body.Close()
	})
}

// TestAQuietStreamStaysOpen, however long it says nothing, also by HTTP/2, in which a deadline that passes ends a stream
// that nothing is written to; and whatever deadlines the call sets by itself.
func TestAQuietStreamStaysOpen(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*http.Protocols){
		"HTTP/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
		"HTTP/2":   func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var by http.Protocols
			set(&by)
			inBubbleBy(t, &by, func(w http.ResponseWriter, r *http.Request) {
				control := http.NewResponseController(w)
				for range 3 {
					_ = control.SetWriteDeadline(time.Now().Add(10 * time.Second))
					_, _ = io.WriteString(w, ".")
					_ = control.Flush()
					select {
					case <-time.After(time.Minute):
					case <-r.Context().Done():
						return
					}
				}
			}, func(t *testing.T, _ state.Store, text string, client *http.Client) {
				body := opened(t, text, client)
				defer body.Close()
				if got, err := io.ReadAll(body); err != nil || string(got) != "..." {
					t.Errorf("%q, %v", got, err)
				}
			})
		})
	}
}
