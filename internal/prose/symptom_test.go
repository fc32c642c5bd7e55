package prose

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/engine"
	"hale/internal/probe"
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

func TestAnAttemptThatFailedSaysByWhatAndWhenTheNextOneFollows(t *testing.T) {
	t.Parallel()
	now := fleet.Now{Mono: fleet.Instant(time.Hour), Wall: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	m := fleet.Machine{
		Name:    "web-1",
		RetryAt: now.Mono.Add(19 * time.Second),
		Waiting: fleet.ReasonBackoff,
		Incident: &fleet.Incident{
			Cause: fleet.CauseBuild, Failed: 1, Last: fleet.Failure{Why: fleet.ReasonNameTaken,
				Detail: "the name web-1 belongs to VM c2d9"}},
	}
	if got, want := Retry(&m, now),
		"it could not be built: the name web-1 belongs to VM c2d9; next try in 19s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e := Explain(engine.FleetStatus{At: now}, fleet.View{Machine: m})
	if len(e.Person) != 1 || e.Person[0] != "rename or remove the instance that has the name" {
		t.Errorf("a person is told %q", e.Person)
	}
	m.Incident.Last = fleet.Failure{}
	if got, want := Retry(&m, now),
		"the last attempt failed, and the next one follows after a pause; next try in 19s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatGetsWellSaysWhichAnswersItLacks(t *testing.T) {
	t.Parallel()
	spec := fleet.Spec{
		Checks: []fleet.Check{
			{Name: "page", UpAfter: 2},
			{Name: "ping", UpAfter: 1},
			{Name: "ssh", UpAfter: 3, UpIn: 5},
		},
	}
	v := fleet.View{
		Checks: []fleet.CheckState{
			{Check: "page", Standing: fleet.StandingDown},
			{Check: "ping", Standing: fleet.StandingUp},
			{Check: "ssh", Standing: fleet.StandingFailing},
		},
	}
	f := engine.FleetStatus{Spec: spec, Good: map[probe.ID]int{{Check: "page"}: 1}}
	if got, want := Lacking(&f, v), "check page needs 2 good answers in a row (1 so far), check ssh needs 3 good "+
		"answers of 5"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
