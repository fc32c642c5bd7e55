package prose_test

import (
	"strings"
	"testing"

	"hale/internal/fleet"
	"hale/internal/outbox"
	"hale/internal/prose"
)

func TestAMessageAboutSeveralFleetsNamesThem(t *testing.T) {
	t.Parallel()
	down := fleet.Record{
		Kind:     fleet.RecordPaged,
		Fleet:    "web",
		Provider: "lab",
		Reason:   fleet.ReasonDown,
		Detail:   "timeout",
	}
	words := prose.Words{Server: "h"}
	m := words.Message(
		outbox.Letter{Key: "k", Event: fleet.NotifyPage, Record: down, Fleets: []fleet.Name{"db", "web"}},
		nil,
	)
	if m.Subject != "hale: provider lab does not answer" || m.Fleet != "" ||
		!strings.Contains(m.Text, "Fleets on it:\n  db, web\n") || strings.Contains(m.Text, "--fleet") {
		t.Errorf("%s, %q\n%s", m.Subject, m.Fleet, m.Text)
	}
	alone := words.Message(outbox.Letter{Key: "k", Event: fleet.NotifyPage, Record: down}, nil)
	if alone.Fleet != "web" || strings.Contains(alone.Text, "Fleets on it") {
		t.Errorf("%q\n%s", alone.Fleet, alone.Text)
	}
}

func TestAMessageAboutTheStoreNamesNoFleet(t *testing.T) {
	t.Parallel()
	words := prose.Words{Server: "h"}
	full := words.Message(outbox.Letter{Key: "k", Event: fleet.NotifyPage, Record: fleet.Record{
		Kind: fleet.RecordPaged, Reason: fleet.ReasonStoreFull, Detail: "0 MiB free"}}, nil)
	over := words.Message(outbox.Letter{Key: "k", Event: fleet.NotifyHealed, Record: fleet.Record{
		Kind: fleet.RecordStore, Reason: fleet.ReasonStoreTakes, Paged: true}}, nil)
	if !strings.HasPrefix(full.Subject, "hale: hale's store: the data folder's disk is full") ||
		strings.Contains(full.Text, "fleet ") || over.Subject != "hale: hale's store takes what is written again" {
		t.Errorf("%s\n%s\n%s", full.Subject, full.Text, over.Subject)
	}
}

// The page of a machine that nothing heals says what helps it: a paused one is resumed, not started, and one that is
// gone is made anew.
func TestAPageSaysWhatHelpsTheMachineAsItIs(t *testing.T) {
	t.Parallel()
	const expired = fleet.ReasonHoldExpired
	for name, c := range map[string]struct {
		cause  fleet.Cause
		reason fleet.Reason
		alias  string
		story  fleet.RecordKind
		says   string
	}{
		"L10 paused":    {cause: fleet.CausePaused, reason: expired, says: "resume it at the provider, or"},
		"L10 shut down": {cause: fleet.CauseShutdown, reason: expired, says: "start it at the provider, or"},
		"rescued":       {cause: fleet.CauseRescued, reason: expired, says: "end the rescue"},
		"adopted and gone": {cause: fleet.CauseGone, reason: fleet.ReasonStepPage, alias: "db-two",
			says: "make it anew at the provider, called db-two as before"},
		"its own and gone": {cause: fleet.CauseGone, reason: fleet.ReasonStepPage,
			says: "mend it by hand at the provider"},
		"in quarantine": {cause: fleet.CauseCrashed, reason: fleet.ReasonAttempts, story: fleet.RecordQuarantined,
			says: "when it is mended: hale retry db-3\n"},
	} {
		sick := fleet.Record{Kind: fleet.RecordVerdict, Fleet: "db", Machine: "db-3", Alias: c.alias,
			Verdict: fleet.VerdictUnhealthy, Cause: c.cause}
		page := fleet.Record{Kind: fleet.RecordPaged, Fleet: "db", Machine: "db-3", Alias: c.alias, Reason: c.reason}
		m := prose.Words{}.Message(outbox.Letter{Key: "k", Event: fleet.NotifyPage, Record: page},
			[]fleet.Record{sick, {Kind: c.story, Fleet: "db", Machine: "db-3", Reason: c.reason}})
		if _, help, _ := strings.Cut(m.Text, "What you can do:\n"); !strings.Contains(help, c.says) {
			t.Errorf("%s: %q is missing in\n%s", name, c.says, help)
		}
		if c.reason == fleet.ReasonHoldExpired && strings.Contains(m.Text, "a person, or a program") {
			t.Errorf("%s: it is said who did it, which is unknown:\n%s", name, m.Text)
		}
	}
}
