package prose_test

import (
	"strings"
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/prose"
	"hale/internal/state/outbox"
)

func TestAMessageAboutSeveralFleetsNamesThem(t *testing.T) {
	t.Parallel()
	down := record.Record{
		Kind:     record.Paged,
		Fleet:    "web",
		Provider: "lab",
		Reason:   fleet.ReasonDown,
		Detail:   "timeout",
	}
	words := prose.Words{Server: "h"}
	m := words.Message(
		outbox.Letter{Key: "k", Event: policy.NotifyPage, Record: down, Fleets: []fleet.Name{"db", "web"}},
		nil,
	)
	if m.Subject != "hale: provider lab does not answer" || m.Fleet != "" ||
		!strings.Contains(m.Text, "Fleets on it:\n  db, web\n") || strings.Contains(m.Text, "--fleet") {
		t.Errorf("%s, %q\n%s", m.Subject, m.Fleet, m.Text)
	}
	alone := words.Message(outbox.Letter{Key: "k", Event: policy.NotifyPage, Record: down}, nil)
	if alone.Fleet != "web" || strings.Contains(alone.Text, "Fleets on it") {
		t.Errorf("%q\n%s", alone.Fleet, alone.Text)
	}
}

func TestAMessageAboutTheStoreNamesNoFleet(t *testing.T) {
	t.Parallel()
	words := prose.Words{Server: "h"}
	full := words.Message(outbox.Letter{Key: "k", Event: policy.NotifyPage, Record: record.Record{
		Kind: record.Paged, Reason: fleet.ReasonStoreFull, Detail: "0 MiB free"}}, nil)
	over := words.Message(outbox.Letter{Key: "k", Event: policy.NotifyHealed, Record: record.Record{
		Kind: record.Store, Reason: fleet.ReasonStoreTakes, Paged: true}}, nil)
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
		cause  belief.Cause
		reason fleet.Reason
		alias  string
		story  record.Kind
		says   string
	}{
		"L10 paused":    {cause: belief.CausePaused, reason: expired, says: "resume it at the provider, or"},
		"L10 shut down": {cause: belief.CauseShutdown, reason: expired, says: "start it at the provider, or"},
		"rescued":       {cause: belief.CauseRescued, reason: expired, says: "end the rescue"},
		"adopted and gone": {cause: belief.CauseGone, reason: fleet.ReasonStepPage, alias: "db-two",
			says: "make it anew at the provider, called db-two as before"},
		"its own and gone": {cause: belief.CauseGone, reason: fleet.ReasonStepPage,
			says: "mend it by hand at the provider"},
		"in quarantine": {cause: belief.CauseCrashed, reason: fleet.ReasonAttempts, story: record.Quarantined,
			says: "when it is mended: hale retry db-3\n"},
	} {
		sick := record.Record{Kind: record.Verdict, Fleet: "db", Machine: "db-3", Alias: c.alias,
			Verdict: belief.VerdictUnhealthy, Cause: c.cause}
		page := record.Record{Kind: record.Paged, Fleet: "db", Machine: "db-3", Alias: c.alias, Reason: c.reason}
		m := prose.Words{}.Message(outbox.Letter{Key: "k", Event: policy.NotifyPage, Record: page},
			[]record.Record{sick, {Kind: c.story, Fleet: "db", Machine: "db-3", Reason: c.reason}})
		if _, help, _ := strings.Cut(m.Text, "What you can do:\n"); !strings.Contains(help, c.says) {
			t.Errorf("%s: %q is missing in\n%s", name, c.says, help)
		}
		if c.reason == fleet.ReasonHoldExpired && strings.Contains(m.Text, "a person, or a program") {
			t.Errorf("%s: it is said who did it, which is unknown:\n%s", name, m.Text)
		}
	}
}

// Who gets a machine that hale could not heal reads how often hale tried, and what.
func TestThePageOfAQuarantineSaysWhatWasTried(t *testing.T) {
	t.Parallel()
	told := func(k record.Kind, why fleet.Reason, step fleet.StepKind, tries int) record.Record {
		return record.Record{Kind: k, Fleet: "web", Machine: "web-2", Incident: "web-2/4", Reason: why, Step: step,
			Tries: tries}
	}
	begun, failed := fleet.Reason(belief.RepairHeal), fleet.ReasonNotVerified
	last := []record.Record{
		told(record.RepairStarted, begun, "", 0),
		told(record.StepFailed, failed, fleet.StepReboot, 0),
		told(record.StepFailed, failed, fleet.StepRecreate, 0),
	}
	quarantined := func(tries int) record.Record {
		return told(record.Quarantined, fleet.ReasonAttempts, "", tries)
	}
	const both = "  reboot: it did not become healthy in time; recreate: it did not become healthy in time\n"
	for want, story := range map[string][]record.Record{
		"What hale tried:\n  once, and none of that made it healthy for good\n" + both: append(
			last[:3:3], quarantined(1)),
		"What hale tried:\n  3 times, and none of that made it healthy for good\n" +
			"  2 times before this: hale events web-2\n" + both: append(last[:3:3], quarantined(3)),
	} {
		page := told(record.Paged, fleet.ReasonAttempts, "", 0)
		m := (prose.Words{}).Message(outbox.Letter{Event: policy.NotifyPage, Record: page}, story)
		if !strings.Contains(m.Text, want) {
			t.Errorf("%q is missing in\n%s", want, m.Text)
		}
		m = (prose.Words{}).Message(outbox.Letter{Event: policy.NotifyPage, Record: page}, last)
		if strings.Contains(m.Text, "hale tried") {
			t.Errorf("nobody gave it to a person:\n%s", m.Text)
		}
	}
}

// A page about several machines names the first ten of them, says how they are, and has the same incident in its
// reminders and in its end.
func TestAPageAboutSeveralMachinesNamesThem(t *testing.T) {
	t.Parallel()
	page := record.Record{Kind: record.Paged, Fleet: "db", Joint: "db/j3", Failing: 12,
		Reason: fleet.ReasonHoldExpired, Cause: belief.CausePaused}
	for n := 1; n <= 10; n++ {
		page.Of = append(page.Of, belief.Member{Machine: page.Fleet.Machine(n)})
	}
	page.Of[1].Alias = "db-two"
	const names = "db-1, db-2 (db-two), db-3, db-4, db-5, db-6, db-7, db-8, db-9, db-10 and 2 more"
	words := prose.Words{Server: "h"}
	m := words.Message(outbox.Letter{Key: "k", Event: policy.NotifyPage, Record: page}, nil)
	if m.Subject != "hale: 12 machines of fleet db are paused: "+names || m.Incident != "db/j3" || m.Fleet != "db" {
		t.Errorf("%+v", m)
	}
	for _, says := range []string{
		"A person must look at 12 machines of fleet db (" + names + "), each for the same reason: it was left alone",
		"resume it at the provider", "hale events --fleet db",
	} {
		if !strings.Contains(m.Text, says) {
			t.Errorf("%q is missing in\n%s", says, m.Text)
		}
	}
	over := record.Record{Kind: record.JointOver, Fleet: "db", Joint: "db/j3", Paged: true}
	end := words.Message(outbox.Letter{Key: "k", Event: policy.NotifyHealed, Record: over}, nil)
	if end.Incident != "db/j3" ||
		end.Subject != "hale: fleet db: what a person was told of several machines together is over (db/j3)" {
		t.Errorf("%+v", end)
	}
	page.Kind, page.Machine, page.Of, page.Failing = record.Paged, "db-1", nil, 0
	if _, some := page.Notifies(); some {
		t.Error("what is about one of them is a message, too")
	}
}
