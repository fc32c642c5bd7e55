package server_test

import (
	"errors"
	"strings"
	"testing"

	"hale/api"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// The journal of a fleet that left the configuration can be read, by the fleet and by a machine, and why says since
// when nothing looks after it.
func TestTheJournalOfAReleasedFleetCanBeRead(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.write(
		about("old-2", record.Record{Kind: record.Verdict, Verdict: belief.VerdictHealthy}),
		about("web-1", record.Record{Kind: record.Verdict, Verdict: belief.VerdictHealthy}),
		record.Record{Fleet: "old", Kind: record.Owner, Reason: fleet.ReasonFleetLeft, At: dawn},
	)
	for _, q := range []struct {
		api.EventsQuery
		want int
	}{
		{api.EventsQuery{Fleet: "old"}, 2},
		{api.EventsQuery{Fleet: "old", Machine: "old-2"}, 1},
		{api.EventsQuery{Machine: "old-2"}, 1},
	} {
		n := 0
		for e, err := range o.client().Events(t.Context(), q.EventsQuery) {
			if err != nil || e.Fleet != "old" {
				t.Errorf("%+v: %+v, %v", q, e, err)
			}
			n++
		}
		if n != q.want {
			t.Errorf("%+v: %d events, want %d", q.EventsQuery, n, q.want)
		}
	}
	since := dawn.UTC().Format("2006-01-02 15:04")
	for name, events := range map[string]string{"old": "--fleet old", "old-2": "--fleet old --machine old-2"} {
		_, err := o.client().Why(t.Context(), name)
		var p api.Problem
		if !errors.As(err, &p) || !strings.Contains(p.Detail, "was let go at "+since) ||
			!strings.HasSuffix(p.Detail, events) {
			t.Errorf("why %s: %v", name, err)
		}
	}
}
