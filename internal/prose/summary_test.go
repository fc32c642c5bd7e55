package prose_test

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/notify"
	"hale/internal/prose"
	"hale/internal/state/outbox"
)

func TestTheMessageOfTheDay(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	s := belief.Summary{Target: "team", Since: at.Add(-24 * time.Hour)}
	for n := range 52 {
		step := fleet.StepStart
		if n == 0 {
			step = fleet.StepRecreate
		}
		s = s.With(belief.HealedNote{Member: belief.Member{Machine: "web-2"}, At: at.Add(-time.Hour), Took: time.Minute,
			Step: step})
	}
	rec := record.Record{Kind: record.Summary, Fleet: "web", At: at, Target: "team", Summary: &s}
	m := prose.Words{Server: "h"}.Message(outbox.Letter{Key: "k", Event: policy.NotifyDaily, Record: rec}, nil)
	if m.Event != notify.EventDaily || m.Subject !=
		"hale: fleet web: since 2026-11-20 06:00 UTC hale healed 52 times (recreate 1, start 51; 52m00s down in all)" {
		t.Errorf("%s %s", m.Event, m.Subject)
	}
	for _, want := range []string{"2026-11-21 05:00:00  web-2 by recreate, after 1m00s\n", "and 2 more\n"} {
		if !strings.Contains(m.Text, want) {
			t.Errorf("%q is missing in\n%s", want, m.Text)
		}
	}
	if strings.Contains(m.Text, "What you can do") {
		t.Errorf("nothing is to be done:\n%s", m.Text)
	}
	rec.Summary = &belief.Summary{Since: s.Since}
	if said := prose.Sentence(rec); said != "fleet web: since 2026-11-20 06:00 UTC hale healed nothing" {
		t.Error(said)
	}
}

func TestARepairThatWorkedIsTold(t *testing.T) {
	t.Parallel()
	rec := record.Record{Kind: record.IncidentClosed, Reason: fleet.ReasonHealed, Fleet: "web", Machine: "web-2",
		Step: fleet.StepReboot, Took: 40 * time.Second, Cause: belief.CauseChecks}
	event, _ := rec.Notifies()
	m := prose.Words{Server: "h"}.Message(outbox.Letter{Key: "k", Event: event, Record: rec}, nil)
	if m.Event != notify.EventRepair || m.Subject != "hale: healed web-2 by reboot after 40s (its checks are down)" {
		t.Errorf("%s %s", m.Event, m.Subject)
	}
}
