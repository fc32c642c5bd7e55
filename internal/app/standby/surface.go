package standby

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"hale/api"
	"hale/internal/doorway"
)

// standing is for what a server waits.
type standing struct {
	mu   sync.Mutex
	what string
}

// set reports whether that is another thing than before.
func (s *standing) set(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.what
	s.what = what
	return was != what
}

func (s *standing) get() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.what == "" {
		return "hale is starting"
	}
	return s.what
}

const (
	headersWithin = 5 * time.Second
	endsWithin    = 200 * time.Millisecond
)

// Answer tells all who ask at the listener, until ctx ends, that this server stands by, and why.
func Answer(ctx context.Context, l net.Listener, waits func() string) error {
	srv := &http.Server{ReadHeaderTimeout: headersWithin,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // what strangers do
		Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/healthz" {
					w.WriteHeader(http.StatusNoContent) // the process lives
					return
				}
				p := api.NewProblem(api.CodeStandby, "this server does not look after the fleets: "+waits())
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(p.Status)
				_ = json.NewEncoder(w).Encode(p)
			})}
	return doorway.Serve(ctx, srv, l, endsWithin)
}
