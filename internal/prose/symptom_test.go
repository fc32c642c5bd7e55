package prose

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/state/outbox"
)

// A page's subject says what is wrong, and never which step of the ladder came to say so.
func TestTheSubjectOfAPageNamesTheSymptom(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	sick := func(r record.Record) record.Record {
		r.Machine, r.Fleet, r.Kind, r.Verdict, r.At = "web-5", "web", record.Verdict, belief.VerdictUnhealthy,
			noon.Add(
				-15*time.Minute,
			)
		return r
	}
	for want, c := range map[string]struct {
		verdict record.Record
		page    record.Record
		event   policy.NotifyEvent
	}{
		"hale: web-5 has been off for 15m00s: it was stopped from outside": {
			sick(record.Record{Cause: belief.CauseStopped}), record.Record{Reason: fleet.ReasonHoldExpired},
			policy.NotifyPage},
		"hale: still: web-5 has been off for 15m00s: it was stopped from outside": {
			sick(record.Record{Cause: belief.CauseStopped}), record.Record{Reason: fleet.ReasonHoldExpired},
			policy.NotifyReminder},
		"hale: web-5 has been down for 15m00s: check page: no answer in time": {
			sick(record.Record{Cause: belief.CauseChecks, Check: "page", Result: fleet.ResultTimeout}),
			record.Record{Reason: fleet.ReasonStepPage}, policy.NotifyPage},
		"hale: web-5 has been down for 15m00s: it crashed": {
			sick(record.Record{Cause: belief.CauseCrashed}), record.Record{Reason: fleet.ReasonExhausted},
			policy.NotifyPage},
		"hale: web-5 has been down for 15m00s: the old instance could not be proven off, and two must never run": {
			sick(record.Record{Cause: belief.CauseCrashed}), record.Record{Reason: fleet.ReasonNoProof},
			policy.NotifyPage},
		"hale: web-5 could not be built: check page: connection refused or reset": {
			sick(record.Record{Cause: belief.CauseBuild, Check: "page", Result: fleet.ResultRefused}),
			record.Record{Reason: fleet.ReasonAttempts}, policy.NotifyPage},
		"hale: web-5 is not healthy": {
			sick(record.Record{Cause: belief.CauseOrdered}), record.Record{Reason: fleet.ReasonStepPage},
			policy.NotifyPage},
		"hale: web-5: two certified instances of the machine exist": {
			record.Record{}, record.Record{Reason: fleet.ReasonSecondRunning}, policy.NotifyPage},
	} {
		c.page.Machine, c.page.Fleet, c.page.Kind, c.page.At = "web-5", "web", record.Paged, noon
		got := Words{}.Message(outbox.Letter{Event: c.event, Record: c.page}, []record.Record{c.verdict}).Subject
		if got != want {
			t.Errorf("the subject is %q, want %q", got, want)
		}
	}
	down := record.Record{Kind: record.Paged, Fleet: "web", Provider: "lab", Reason: fleet.ReasonDown, At: noon}
	if got := (Words{}).Message(outbox.Letter{Event: policy.NotifyPage, Record: down},
		nil).Subject; got != "hale: provider lab does not answer" {
		t.Errorf("the subject is %q", got)
	}
}

// The first line of a page's text says how the machine is before it says why a person is told.
func TestThePagesFirstLineNamesTheSymptomBeforeTheRung(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	story := []record.Record{{Kind: record.Verdict, Fleet: "web", Machine: "web-2", Verdict: belief.VerdictUnhealthy,
		Cause: belief.CauseChecks, Check: "page", Result: fleet.ResultTimeout, At: noon.Add(-3 * time.Minute)}}
	for _, c := range []struct {
		event  policy.NotifyEvent
		reason fleet.Reason
		want   string
	}{
		{policy.NotifyPage, fleet.ReasonStepPage,
			"web-2 has been down for 3m00s: check page: no answer in time; the ladder asks for a person now.\n"},
		{policy.NotifyReminder, fleet.ReasonExhausted,
			"Still: web-2 has been down for 3m00s: check page: no answer in time; every step of the ladder was " +
				"tried.\n"},
		{policy.NotifyPage, fleet.ReasonNoProof,
			"web-2 has been down for 3m00s: the old instance could not be proven off, and two must never run.\n"},
	} {
		page := record.Record{Kind: record.Paged, Fleet: "web", Machine: "web-2", Reason: c.reason, At: noon}
		got := (Words{}).Message(outbox.Letter{Event: c.event, Record: page}, story).Text
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: it begins otherwise than with %q:\n%s", c.reason, c.want, got)
		}
	}
}
