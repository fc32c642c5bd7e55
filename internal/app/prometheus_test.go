package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/nettest"
	"hale/internal/testbed/prometheus"
)

// wakeful pages at once when a machine does not run.
const wakeful = `
providers: {lab: {type: simulated, boot: 100ms, poll: 500ms}}
fleets:
  web:
    provider: lab
    size:
      min: 3
      max: 5
      metrics: {queue: {command: [/nowhere/at/all]}}
      opinions: {backlog: {metric: queue, target: 100, per: fleet}}
    checks: {page: {http: {}, every: 200ms, timeout: 100ms, down_after: 2, up_after: 1}}
    repair: {attempts: 1 in 1h, steps: [page]}
`

// A real Prometheus reads a running hale over the network, with a viewer's token: every query of the dashboard is one
// to it, and what hale cannot heal arrives at a real Alertmanager by hale's own rules, beside the sign that hale acts.
func TestAPrometheusSeesHaleAndItsAlertsArrive(t *testing.T) {
	t.Parallel()
	address := nettest.Free(t)
	h := newHouse(t, wakeful+"api: {listen: \""+address+"\"}\n")
	stop := h.run()
	h.await("all are well", allWell)
	client := api.Dial(h.socket)
	defer client.Close()
	token, err := client.MakeToken(t.Context(), api.TokenRequest{
		Name: "prometheus", Role: "viewer", For: api.Duration(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/readyz": http.StatusUnauthorized, "/metrics": http.StatusUnauthorized,
	} {
		if code := stranger(t, "http://"+address+path); code != want {
			t.Errorf("a stranger gets %d at %s", code, path)
		}
	}
	alerts := prometheus.StartAlertmanager(t)
	rules, err := filepath.Abs("../../deploy/prometheus/hale-alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	server := prometheus.Start(t, prometheus.Job{
		Name: "hale", Address: address, Rules: rules, Alerts: alerts, Token: token.Text,
	})
	h.eventually("the scrape", func(ctx context.Context) bool {
		got, err := server.Query(ctx, `sum(hale_machines{verdict="healthy"}) == 3 and sum(up{job="hale"}) == 1
			and sum(hale_fleet_size_max) == 5 and count(hale_opinion_none{reason="metric-silent"}) == 1`)
		return err == nil && len(got) == 1
	})

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

// stranger returns what a caller without a token is answered.
func stranger(t *testing.T, at string) int {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
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
