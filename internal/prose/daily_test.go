package prose_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/notify"
	"hale/internal/notify/webhook"
	"hale/internal/prose"
	"hale/internal/secret"
	"hale/internal/state/outbox"
	"hale/internal/strict"
)

// S24: from the judgement to the wire: at seven in the morning in Berlin, and at no other time of the day, a receiver
// of webhooks is told what was healed since the day before, and nothing of what it was told already.
func TestTheSummaryOfTheDayReachesAWebhook(t *testing.T) {
	t.Parallel()
	var taken []notify.Message
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		var m notify.Message
		if err := json.NewDecoder(q.Body).Decode(&m); err != nil || q.Header.Get("Idempotency-Key") != m.Key {
			t.Errorf("%v: %v", err, q.Header)
		}
		taken = append(taken, m)
	}))
	defer server.Close()
	hook := webhook.New(webhook.Options{Name: "team", URL: secret.Value{Plain: server.URL}, Timeout: time.Minute,
		Format: webhook.FormatHale, Version: "1", Reach: strict.Reach{netip.MustParsePrefix("127.0.0.1/32")}})

	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	spec := policy.Spec{Name: "web"}
	spec.Notify.To = []policy.Recipient{{Target: "team", Events: []policy.NotifyEvent{policy.NotifyDaily},
		Daily: policy.Daily{At: 7 * time.Hour, Zone: berlin}}}
	midnight := time.Date(2026, 11, 21, 0, 0, 0, 0, berlin)
	whole := belief.Whole{Summaries: []belief.Summary{belief.Summary{Target: "team",
		Since: midnight.Add(-17 * time.Hour)}.
		With(belief.HealedNote{Member: belief.Member{Machine: "web-2"}, At: midnight, Took: time.Minute,
			Step: fleet.StepReboot})}}
	for at := time.Duration(0); at < 48*time.Hour; at += 30 * time.Minute {
		d := decide.Decide(situation.Situation{State: situation.State{Spec: spec, Whole: whole,
			Now: fleet.Now{Mono: fleet.Instant(time.Hour + at), Wall: midnight.Add(at)}}})
		whole = d.Whole
		for _, rec := range d.Records {
			if l, some := outbox.Compose(&spec, "installed", "n", rec); some {
				if _, err := hook.Send(t.Context(), prose.Words{Server: "h"}.Message(l, nil)); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if len(taken) != 1 {
		t.Fatalf("%d summaries in two days, of which one had a repair: %+v", len(taken), taken)
	}
	m := taken[0]
	if m.Event != notify.EventDaily || !m.At.Equal(midnight.Add(7*time.Hour)) || m.Fleet != "web" ||
		!strings.HasPrefix(m.Subject, "hale: fleet web: since 2026-11-20 06:00 UTC hale healed ") ||
		!strings.Contains(m.Text, "web-2 by reboot, after 1m00s") {
		t.Errorf("%+v", m)
	}
}
