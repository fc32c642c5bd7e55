package app_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"hale/api"
)

// door is a client of everything that the running controller answers on its socket.
func (h *house) door() *http.Client {
	through := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", h.socket)
		}}
	return &http.Client{Transport: through}
}

// get returns what the controller answers at the path.
func (h *house) get(path string) (int, string) {
	h.t.Helper()
	q, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "http://hale"+path, http.NoBody)
	if err != nil {
		h.t.Fatal(err)
	}
	answer, err := h.door().Do(q)
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// metric returns the value of a series; -1: it is not there.
func (h *house) metric(series string) float64 {
	h.t.Helper()
	_, text := h.get("/metrics")
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		return -1
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

// awaitMetric polls until the series has a value as wanted.
func (h *house) awaitMetric(series string, wanted func(float64) bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		v := h.metric(series)
		if wanted(v) {
			return
		}
		select {
		case <-ctx.Done():
			h.t.Fatalf("%s is %v", series, v)
		case <-tick.C:
		}
	}
}

// What happens in a running controller is seen by monitoring: calls and writes, a failure and its repair, the heartbeat.
func TestMonitoringSeesWhatHaleDoes(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick)
	stop := h.run()
	h.await("all are well", allWell)
	if code, body := h.get("/readyz"); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	if code, body := h.get("/healthz"); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	client := api.Dial(h.socket)
	defer client.Close()
	if _, err := client.Break(t.Context(), api.BreakOrder{Machine: "web-2", Way: "crash"}); err != nil {
		t.Fatal(err)
	}
	h.awaitMetric(`hale_incidents_closed_total{fleet="web",reason="healed"}`, func(v float64) bool { return v == 1 })
	for series, least := range map[string]float64{
		`hale_incidents_opened_total{cause="crashed",fleet="web"}`:            1,
		`hale_repair_steps_total{fleet="web",result="verified",step="start"}`: 1,
		`hale_failure_to_healed_seconds_count{fleet="web",reason="healed"}`:   1,
		`hale_provider_calls_total{call="start",provider="lab",result="ok"}`:  1,
		`hale_provider_calls_total{call="list",provider="lab",result="ok"}`:   1,
		`hale_provider_last_listing_timestamp_seconds{provider="lab"}`:        float64(time.Now().Add(-time.Hour).Unix()),
		`hale_store_transactions_total{result="ok"}`:                          1,
		`hale_store_disk_free_bytes`:                                          1,
		`hale_fleet_lease_remaining_seconds{fleet="web"}`:                     1,
		`hale_machines{fleet="web",verdict="healthy"}`:                        1,
		`hale_heartbeat_timestamp_seconds`:                                    float64(time.Now().Add(-time.Minute).Unix()),
		`hale_config_last_reload_successful`:                                  1,
		`hale_probe_targets`:                                                  0,
	} {
		if v := h.metric(series); v < least {
			t.Errorf("%s is %v, want %v at least", series, v, least)
		}
	}
	stop()
}
