package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"

	"github.com/google/go-cmp/cmp"
)

// watch opens a stream of server-sent events, and returns what reads its next message, by its fields.
func (o *office) watch(query, lastID string) (next func() map[string]string, hangUp func()) {
	o.t.Helper()
	return o.watchAt("/v1/events?watch=true"+query, lastID)
}

// watchAt is watch, of what is at the path.
func (o *office) watchAt(path, lastID string) (next func() map[string]string, hangUp func()) {
	o.t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", o.socket)
	}}}
	q, err := http.NewRequestWithContext(o.t.Context(), http.MethodGet, "http://hale"+path, http.NoBody)
	if err != nil {
		o.t.Fatal(err)
	}
	if lastID != "" {
		q.Header.Set("Last-Event-ID", lastID)
	}
	said, err := client.Do(q)
	if err != nil {
		o.t.Fatal(err)
	}
	if media := said.Header.Get("Content-Type"); said.StatusCode != http.StatusOK || media != "text/event-stream" {
		o.t.Fatalf("answered %d as %s", said.StatusCode, media)
	}
	lines := bufio.NewScanner(said.Body)
	hangUp = func() {
		said.Body.Close()
		client.CloseIdleConnections()
	}
	o.t.Cleanup(hangUp)
	return func() map[string]string {
		o.t.Helper()
		message := map[string]string{}
		for lines.Scan() {
			name, value, field := strings.Cut(lines.Text(), ": ")
			switch {
			case field:
				message[name] = value
			case message["event"] != "":
				return message
			}
		}
		o.t.Fatalf("the stream ended: %v", lines.Err())
		return nil
	}, hangUp
}

func verdict(machine fleet.MachineName, v belief.Verdict) record.Record {
	return about(machine, record.Record{Kind: record.Verdict, Verdict: v, At: dawn})
}

// A browser that lost its stream goes on with the id of the last event that it had: it gets the next one, and only
// that.
func TestAWatcherGoesOnBehindTheLastEventThatItHad(t *testing.T) {
	t.Parallel()
	o := open(t)
	next, hangUp := o.watch("&from=now", "")
	o.write(verdict("web-1", belief.VerdictHealthy), verdict("web-2", belief.VerdictHealthy))
	first := next()
	hangUp()
	o.write(verdict("db-1", belief.VerdictUnknown))
	next, _ = o.watch("", first["id"])
	var got []string
	for range 2 {
		got = append(got, next()["data"])
	}
	if !strings.Contains(first["data"], `"web-1"`) || !strings.Contains(got[0], `"web-2"`) ||
		!strings.Contains(got[1], `"db-1"`) {
		t.Errorf("first %v, then %v", first, got)
	}
}

// A list says from where on a stream tells all that the list does not show.
func TestAStreamGoesOnBehindAList(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.write(verdict("web-1", belief.VerdictUnknown))
	l, err := o.client().Machines(t.Context(), api.MachinesQuery{Fleet: "web"})
	if err != nil {
		t.Fatal(err)
	}
	o.write(verdict("web-2", belief.VerdictHealthy))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for e, err := range o.client().Events(ctx, api.EventsQuery{From: l.Revision, Follow: true}) {
		if err != nil || e.Machine != "web-2" && e.Machine != "web-1" {
			t.Errorf("%+v, %v", e, err)
		}
		if e.Machine == "web-2" {
			return
		}
	}
	t.Error("the stream ended")
}

// Where an owner wrote what it does not show yet, the list's revision is the one that it does show: a stream from there
// tells the rest.
func TestAFleetThatLagsBehindItsJournalHoldsTheListBack(t *testing.T) {
	t.Parallel()
	o := open(t)
	before, err := o.client().Fleets(t.Context(), api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	o.write(verdict("web-1", belief.VerdictHealthy)) // standing() shows the fleets as of no write at all
	for range 100 {
		l, err := o.client().Fleets(t.Context(), api.Page{})
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for e, err := range o.client().Events(t.Context(), api.EventsQuery{From: l.Revision}) {
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, e.Machine)
		}
		if diff := cmp.Diff([]string{"web-1"}, told); diff != "" {
			t.Fatalf("before %s, now %s: %s", before.Revision, l.Revision, diff)
		}
	}
}

func TestPagesHaveEachMachineOnceInTheirNaturalOrder(t *testing.T) {
	t.Parallel()
	o := open(t)
	var got []string
	for m, err := range api.All(func(p api.Page) (api.List[api.Machine], error) {
		p.Limit = 1
		return o.client().Machines(t.Context(), api.MachinesQuery{Page: p})
	}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Name)
	}
	if diff := cmp.Diff([]string{"db-1", "web-1", "web-2"}, got); diff != "" {
		t.Error(diff)
	}
	l, err := o.client().Machines(t.Context(), api.MachinesQuery{Verdict: "unhealthy"})
	if err != nil || l.Total != 1 || len(l.Items) != 1 || l.Items[0].Name != "web-2" || l.Next != "" {
		t.Errorf("%+v, %v", l, err)
	}
}

// What is known already is not sent again until something changes.
func TestAListThatIsKnownIsNotSentAgain(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	who := everywhere(access.Viewer)
	first := h.call(t, who, http.MethodGet, "/v1/machines", "")
	tag := first.Header().Get("ETag")
	again := h.callWith(t, who, http.MethodGet, "/v1/machines", "", http.Header{"If-None-Match": {tag}})
	if tag == "" || again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("tag %q, then %d %s", tag, again.Code, again.Body)
	}
	if other := h.callWith(t, who, http.MethodGet, "/v1/machines", "",
		http.Header{"If-None-Match": {`"x"`}}); other.Code != 200 {
		t.Errorf("another tag: %d", other.Code)
	}
}

// Who watches machines is shown each as it stands, once its owner shows what was recorded of it.
func TestAWatcherOfMachinesIsShownEachThatChanges(t *testing.T) {
	t.Parallel()
	o := open(t)
	next, _ := o.watchAt("/v1/fleets/web/machines?watch=true", "")
	o.write(verdict("db-1", belief.VerdictUnknown), verdict("web-2", belief.VerdictUnhealthy),
		verdict("web-9", belief.VerdictUnknown))
	shown, left := next(), next()
	if shown["event"] != "machine" || !strings.Contains(shown["data"], `"name":"web-2"`) ||
		!strings.Contains(shown["data"], `"verdict":"unhealthy"`) {
		t.Errorf("shown %v", shown)
	}
	if left["event"] != "gone" || left["data"] != `{"name":"web-9"}` {
		t.Errorf("a machine that is not there is %v", left)
	}
	fleets, _ := o.watchAt("/v1/fleets?watch=true&from=0", "")
	var names []string
	for range 2 {
		var f api.FleetSummary
		if m := fleets(); m["event"] != "fleet" || json.Unmarshal([]byte(m["data"]), &f) != nil {
			t.Errorf("shown %v", m)
		}
		names = append(names, f.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"db", "web"}, names); diff != "" {
		t.Error(diff)
	}
}
