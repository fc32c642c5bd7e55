package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// mood is how the proxy treats what comes.
type mood int32

const (
	passing  mood = iota // to Nova and back
	lost                 // 404 to everything, as a proxy without its backend
	shutting             // connections are refused
)

// proxy stands between hale and Nova, counts, and makes trouble.
type proxy struct {
	url     string
	address string
	backend *url.URL
	mood    atomic.Int32
	created atomic.Pointer[func()] // called once when Nova has accepted a server
	mu      sync.Mutex
	calls   map[string]int
	server  *http.Server
	serving sync.WaitGroup
}

func newProxy(ctx context.Context, backend string) (*proxy, error) {
	u, err := url.Parse(backend)
	if err != nil {
		return nil, err
	}
	p := &proxy{backend: u, address: "127.0.0.1:0", calls: map[string]int{}}
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	p.url = "http://" + p.address
	return p, nil
}

// open listens, at the same address as before.
func (p *proxy) open(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.address)
	if err != nil {
		return err
	}
	p.address = listener.Addr().String()
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(p.backend)
			r.Out.Host = r.In.Host // its links lead back here
		},
		ModifyResponse: p.look,
		ErrorLog:       slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // that hale gave up is no news
	}
	p.server = &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.count(r)
			if mood(p.mood.Load()) == lost {
				http.NotFound(w, r)
				return
			}
			forward.ServeHTTP(w, r)
		}),
	}
	server := p.server
	p.serving.Go(func() { _ = server.Serve(listener) }) // it ends with close, and says so
	return nil
}

// close ends all connections, and refuses new ones.
func (p *proxy) close() {
	_ = p.server.Close()
	p.serving.Wait()
}

// count counts the call by what it is for.
func (p *proxy) count(r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v2.1")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range parts {
		if len(part) >= 32 {
			parts[i] = "ID"
		}
	}
	what := r.Method + " /" + strings.Join(parts, "/")
	if r.URL.Query().Has("changes-since") {
		what += "?changes-since"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[what]++
}

// counted returns the counts, and begins anew.
func (p *proxy) counted() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := p.calls
	p.calls = map[string]int{}
	return calls
}

// look sees the answers. One that says that a server will be made may be the moment for something.
func (p *proxy) look(resp *http.Response) error {
	if resp.Request.Method != http.MethodPost || !strings.HasSuffix(resp.Request.URL.Path, "/servers") ||
		resp.StatusCode != http.StatusAccepted {
		return nil
	}
	if do := p.created.Swap(nil); do != nil {
		(*do)()
		return errors.New("the client was killed before its answer")
	}
	return nil
}
