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
