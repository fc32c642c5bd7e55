package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/prometheus"
)

// wakeful pages at once when a machine does not run.
const wakeful = `
providers: {lab: {type: simulated, boot: 100ms, poll: 500ms}}
fleets:
  web:
    provider: lab
    size: 3
    checks: {page: {http: {}, every: 200ms, timeout: 100ms, down_after: 2, up_after: 1}}
    repair: {attempts: 1 in 1h, steps: [page]}
`

// A real Prometheus reads a running hale: every query of the dashboard is one to it, and what hale cannot heal arrives
// at a real Alertmanager by hale's own rules, beside the sign that hale acts.
func TestAPrometheusSeesHaleAndItsAlertsArrive(t *testing.T) {
	t.Parallel()
	h := newHouse(t, wakeful)
	stop := h.run()
	tcp := httptest.NewServer(h.proxy())
	defer tcp.Close()
	alerts := prometheus.StartAlertmanager(t)
	rules, err := filepath.Abs("../../deploy/prometheus/hale-alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	server := prometheus.Start(t, prometheus.Job{
		Name: "hale", Address: strings.TrimPrefix(tcp.URL, "http://"), Rules: rules, Alerts: alerts,
	})
	h.await("all are well", allWell)
	h.eventually("the scrape", func(ctx context.Context) bool {
		got, err := server.Query(ctx, `sum(hale_machines{verdict="healthy"}) == 3 and sum(up{job="hale"}) == 1`)
		return err == nil && len(got) == 1
	})

	client := api.Dial(h.socket)
	defer client.Close()
	if _, err := client.Break(t.Context(), api.BreakOrder{Machine: "web-2", Way: "crash"}); err != nil {
		t.Fatal(err)
	}
	for name, label := range map[string]string{"HaleHeartbeat": "instance", "HaleMachinesWaitForPerson": "fleet"} {
		h.eventually(name, func(ctx context.Context) bool {
			got, err := alerts.Alerts(ctx, name)
			return err == nil && len(got) == 1 && got[0].Labels[label] != "" && got[0].Annotations["summary"] != ""
		})
	}
	for title, query := range dashboardQueries(t) {
		if _, err := server.Query(t.Context(), query); err != nil {
			t.Errorf("%s: %s: %v", title, query, err)
		}
	}
	_, text := h.get("/metrics")
	if said, err := prometheus.Promtool(t, strings.NewReader(text), "check", "metrics"); err != nil || said != "" {
		t.Errorf("%v: %s", err, said)
	}
	stop()
}

// proxy lets the network in at the socket, for a program that knows no sockets.
func (h *house) proxy() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "hale"}) },
		Transport: h.door().Transport,
	}
}

// eventually polls until something is so.
func (h *house) eventually(what string, is func(context.Context) bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !is(ctx) {
		select {
		case <-ctx.Done():
			h.t.Fatalf("%s: never", what)
		case <-tick.C:
		}
	}
}

// dashboardQueries are those of all panels, with everything chosen, by the panels' titles.
func dashboardQueries(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/grafana/hale.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			out[p.Title+" "+target.RefID] = strings.NewReplacer("$instance", ".*", "$fleet", ".*", "$provider", ".*").
				Replace(target.Expr)
		}
	}
	return out
}
