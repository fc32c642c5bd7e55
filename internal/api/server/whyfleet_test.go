package server_test

import (
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/state/journal"

	"github.com/google/go-cmp/cmp"
)

func TestWhyOfAFleetSaysWhatHoldsIt(t *testing.T) {
	t.Parallel()
	c := open(t).client()
	web, err := c.WhyFleet(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1 machine waits: as many machines are in repair as the fleet allows"},
		web.Holding); diff != "" {
		t.Error(diff)
	}
	db, err := c.WhyFleet(t.Context(), "db")
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(db.Holding, "\n"); !strings.Contains(text, "3 of 4 machines on host h1 fail") ||
		!strings.Contains(text, "hale's own side") {
		t.Errorf("db is held by\n%s", text)
	}
	if _, err := c.WhyFleet(t.Context(), "dbb"); err == nil || !strings.Contains(err.Error(), "did you mean db") {
		t.Errorf("got %v", err)
	}
}

func TestEventsAreThoseThatAreAskedFor(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.write(
		about(
			"web-1",
			record.Record{Kind: record.Verdict, Verdict: belief.VerdictHealthy, At: dawn.Add(-time.Hour)},
		),
		about(
			"web-2",
			record.Record{Kind: record.Verdict, Verdict: belief.VerdictUnhealthy, At: dawn.Add(-time.Minute)},
		),
		about("web-2", record.Record{Kind: record.Paged, Reason: fleet.ReasonStepPage, At: dawn}),
	)
	for name, c := range map[string]struct {
		query api.EventsQuery
		want  int
	}{
		"all":                 {api.EventsQuery{}, 3},
		"of a machine":        {api.EventsQuery{Machine: "web-2"}, 2},
		"since":               {api.EventsQuery{Since: dawn.Add(-time.Minute)}, 2},
		"of a kind":           {api.EventsQuery{Kinds: []string{"verdict"}}, 2},
		"of two kinds":        {api.EventsQuery{Kinds: []string{"verdict", "paged"}}, 3},
		"the last of them":    {api.EventsQuery{Kinds: []string{"verdict"}, Last: 1}, 1},
		"of one that is gone": {api.EventsQuery{Machine: "web-7"}, 0},
	} {
		n := 0
		for _, err := range o.client().Events(t.Context(), c.query) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			n++
		}
		if n != c.want {
			t.Errorf("%s: %d events, want %d", name, n, c.want)
		}
	}
	for said, q := range map[string]api.EventsQuery{
		"there is no machine wbe-2; did you mean web-2": {Machine: "wbe-2"},
		"did you mean verdict? The kinds are: address":  {Kinds: []string{"verdikt"}},
	} {
		for _, err := range o.client().Events(t.Context(), q) {
			if err == nil || !strings.Contains(err.Error(), said) {
				t.Errorf("got %v, want %q", err, said)
			}
		}
	}
}

// Who asks for older events than there are is told where they begin, and only then.
func TestEventsSayWhereTheirBeginningIsCut(t *testing.T) {
	t.Parallel()
	o := open(t)
	verdict := func(name fleet.MachineName, at time.Time) record.Record {
		return about(name, record.Record{Kind: record.Order, At: at})
	}
	o.write(verdict("web-1", dawn.Add(-72*time.Hour)), verdict("db-1", dawn.Add(-2*time.Hour)))
	o.kept = journal.Keep{Now: dawn, For: 24 * time.Hour}
	for range journal.KeepLeast {
		o.write(verdict("web-1", dawn.Add(-time.Hour)))
	}
	o.write(verdict("web-2", dawn))
	for name, c := range map[string]struct {
		query api.EventsQuery
		cut   bool
	}{
		"all of them":               {api.EventsQuery{}, true},
		"a fleet":                   {api.EventsQuery{Fleet: "web"}, true},
		"a fleet without events":    {api.EventsQuery{Fleet: "db"}, false},
		"since before":              {api.EventsQuery{Since: dawn.Add(-48 * time.Hour)}, true},
		"since after":               {api.EventsQuery{Since: dawn.Add(-time.Hour)}, false},
		"the last, which there are": {api.EventsQuery{Fleet: "web", Last: journal.KeepLeast}, false},
		"more than there are":       {api.EventsQuery{Fleet: "web", Last: journal.KeepLeast + 2}, true},
	} {
		var begins time.Time
		c.query.Begins = func(at time.Time) { begins = at }
		for _, err := range o.client().Events(t.Context(), c.query) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		want := time.Time{}
		if c.cut {
			want = dawn.Add(-time.Hour)
		}
		if !begins.Equal(want) {
			t.Errorf("%s: they begin at %s, want %s", name, begins, want)
		}
	}
}
