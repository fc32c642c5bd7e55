package prose

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/state/outbox"
)

// A page's subject says what is wrong, and never which step of the ladder came to say so.
func TestTheSubjectOfAPageNamesTheSymptom(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	sick := func(r fleet.Record) fleet.Record {
		r.Machine, r.Fleet, r.Kind, r.Verdict, r.At = "web-5", "web", fleet.RecordVerdict, fleet.VerdictUnhealthy,
			noon.Add(
				-15*time.Minute,
			)
		return r
	}
	for want, c := range map[string]struct {
		verdict fleet.Record
		page    fleet.Record
		event   fleet.NotifyEvent
	}{
		"hale: web-5 has been off for 15m00s: it was stopped from outside": {
			sick(fleet.Record{Cause: fleet.CauseStopped}), fleet.Record{Reason: fleet.ReasonHoldExpired},
			fleet.NotifyPage},
		"hale: still: web-5 has been off for 15m00s: it was stopped from outside": {
			sick(fleet.Record{Cause: fleet.CauseStopped}), fleet.Record{Reason: fleet.ReasonHoldExpired},
			fleet.NotifyReminder},
		"hale: web-5 has been down for 15m00s: check page: no answer in time": {
			sick(fleet.Record{Cause: fleet.CauseChecks, Check: "page", Result: fleet.ResultTimeout}),
			fleet.Record{Reason: fleet.ReasonStepPage}, fleet.NotifyPage},
		"hale: web-5 has been down for 15m00s: it crashed": {
			sick(fleet.Record{Cause: fleet.CauseCrashed}), fleet.Record{Reason: fleet.ReasonExhausted},
			fleet.NotifyPage},
		"hale: web-5 has been down for 15m00s: the old instance could not be proven off, and two must never run": {
			sick(fleet.Record{Cause: fleet.CauseCrashed}), fleet.Record{Reason: fleet.ReasonNoProof}, fleet.NotifyPage},
		"hale: web-5 could not be built: check page: connection refused or reset": {
			sick(fleet.Record{Cause: fleet.CauseBuild, Check: "page", Result: fleet.ResultRefused}),
			fleet.Record{Reason: fleet.ReasonAttempts}, fleet.NotifyPage},
		"hale: web-5 is not healthy": {
			sick(fleet.Record{Cause: fleet.CauseOrdered}), fleet.Record{Reason: fleet.ReasonStepPage},
			fleet.NotifyPage},
		"hale: web-5: two certified instances of the machine exist": {
			fleet.Record{}, fleet.Record{Reason: fleet.ReasonSecondRunning}, fleet.NotifyPage},
	} {
		c.page.Machine, c.page.Fleet, c.page.Kind, c.page.At = "web-5", "web", fleet.RecordPaged, noon
		got := Words{}.Message(outbox.Letter{Event: c.event, Record: c.page}, []fleet.Record{c.verdict}).Subject
		if got != want {
			t.Errorf("the subject is %q, want %q", got, want)
		}
	}
	down := fleet.Record{Kind: fleet.RecordPaged, Fleet: "web", Provider: "lab", Reason: fleet.ReasonDown, At: noon}
	if got := (Words{}).Message(outbox.Letter{Event: fleet.NotifyPage, Record: down},
		nil).Subject; got != "hale: provider lab does not answer" {
		t.Errorf("the subject is %q", got)
	}
}

// The first line of a page's text says how the machine is before it says why a person is told.
func TestThePagesFirstLineNamesTheSymptomBeforeTheRung(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	story := []fleet.Record{{Kind: fleet.RecordVerdict, Fleet: "web", Machine: "web-2", Verdict: fleet.VerdictUnhealthy,
		Cause: fleet.CauseChecks, Check: "page", Result: fleet.ResultTimeout, At: noon.Add(-3 * time.Minute)}}
	for _, c := range []struct {
		event  fleet.NotifyEvent
		reason fleet.Reason
		want   string
	}{
		{fleet.NotifyPage, fleet.ReasonStepPage,
			"web-2 has been down for 3m00s: check page: no answer in time; the ladder asks for a person now.\n"},
		{fleet.NotifyReminder, fleet.ReasonExhausted,
			"Still: web-2 has been down for 3m00s: check page: no answer in time; every step of the ladder was " +
				"tried.\n"},
		{fleet.NotifyPage, fleet.ReasonNoProof,
			"web-2 has been down for 3m00s: the old instance could not be proven off, and two must never run.\n"},
	} {
		page := fleet.Record{Kind: fleet.RecordPaged, Fleet: "web", Machine: "web-2", Reason: c.reason, At: noon}
		got := (Words{}).Message(outbox.Letter{Event: c.event, Record: page}, story).Text
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: it begins otherwise than with %q:\n%s", c.reason, c.want, got)
		}
	}
}
