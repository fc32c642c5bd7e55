package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hale/internal/config"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

// TestMachinesReportToTheirFleet: what comes in at the configured place gets to the fleet's probe engine, through the
// large one where there is one.
func TestMachinesReportToTheirFleet(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, token := l.Addr().String(), filepath.Join(t.TempDir(), "token")
	l.Close()
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := &policy.Check{
		Name: "beat", Kind: policy.CheckHeartbeat, Every: time.Second, Timeout: 500 * time.Millisecond, DownAfter: 2,
		UpAfter: 1, Heartbeat: policy.HeartbeatCheck{Token: fleet.Secret{File: token}},
	}
	s, err := newSite(&config.Config{
		Heartbeats: config.Heartbeats{Listen: address},
		Fleets:     []policy.Spec{{Name: "web", Checks: []policy.Check{*check}}},
	}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	w := s.watch(&policy.Spec{Name: "web"}, adapter{}, s.network, nil)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	parts := []func(context.Context) error{w.Run, func(ctx context.Context) error { s.receiver.Run(ctx); return nil }}
	if s.pool != nil {
		parts = append(parts, s.pool.Run)
	}
	ended := make(chan error, len(parts))
	for _, part := range parts {
		go func() { ended <- part(ctx) }()
	}
	t.Cleanup(func() {
		stop()
		for range parts {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	w.Set(probe.Target{ID: probe.ID{Machine: "web-1", Check: "beat"}, Instance: "a", Epoch: 1, Spec: check})
	pause := time.NewTicker(200 * time.Millisecond)
	defer pause.Stop()
	for deadline := time.Now().Add(30 * time.Second); ; <-pause.C {
		report(t, "http://"+address+"/heartbeat/web/web-1/beat")
		edges := w.Standings()
		if len(edges) == 1 && edges[0].Standing == fleet.StandingUp {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is not up: %+v", edges)
		}
	}
}

func report(t *testing.T, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	req.Close = true
	if resp, err := (&http.Client{Timeout: 10 * time.Second}).Do(req); err == nil {
		resp.Body.Close()
	}
}
