package server_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/server"
	"hale/internal/api/socket"
	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/state"
	"hale/internal/state/inbox"
	"hale/internal/state/journal"
	"hale/internal/state/memory"
	"hale/internal/state/starts"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var dawn = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// office is a server on a socket, with a store of its own and fleets that stand still.
type office struct {
	t      *testing.T
	socket string
	store  state.Store
	books  map[fleet.Name]*journal.Journal
	kept   journal.Keep
	stop   context.CancelFunc
	ended  chan error
}

func open(t *testing.T) *office {
	t.Helper()
	o := &office{
		t: t, socket: filepath.Join(t.TempDir(), "s"), store: memory.New(memory.Options{}).Open(nil),
		ended: make(chan error, 1), books: map[fleet.Name]*journal.Journal{},
	}
	l, err := socket.Listen(t.Context(), o.socket, "")
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, o.stop = context.WithCancel(t.Context())
	server := server.New(server.Options{
		Version: "1", Server: "h", Status: standing, Store: o.store, Logger: slog.New(slog.DiscardHandler),
	})
	go func() { o.ended <- server.Serve(ctx, doorAt(l)) }()
	t.Cleanup(o.close)
	return o
}

// close ends the server and waits for it.
func (o *office) close() {
	if o.stop == nil {
		return
	}
	o.stop()
	o.stop = nil
	if err := <-o.ended; err != nil {
		o.t.Errorf("the server did not end well: %v", err)
	}
}

func (o *office) client() *api.Client {
	c := api.Dial(o.socket)
	o.t.Cleanup(c.Close)
	return c
}

// write appends records to their fleet's journal.
func (o *office) write(records ...record.Record) {
	o.t.Helper()
	for _, r := range records {
		book, ok := o.books[r.Fleet]
		if !ok {
			var err error
			if book, err = journal.Open(o.t.Context(), o.store, r.Fleet); err != nil {
				o.t.Fatal(err)
			}
			o.books[r.Fleet] = book
		}
		batch := []record.Record{r}
		writes, err := book.Writes(batch, o.kept)
		if err != nil {
			o.t.Fatal(err)
		}
		if _, err := o.store.Commit(o.t.Context(), state.Txn{Then: writes}); err != nil {
			o.t.Fatal(err)
		}
		book.Advance(batch)
	}
}

// standing is two fleets: web, with its second machine down and held, and db.
func standing() []published.Fleet {
	now := fleet.Now{Mono: fleet.Instant(time.Hour), Wall: dawn}
	view := func(name fleet.MachineName) situation.View {
		return situation.View{Machine: belief.Machine{
			Name: name, Address: netip.MustParseAddr("10.0.0.1"),
			Current: belief.Incarnation{ID: "i-" + fleet.InstanceID(name), Generation: 1, Certified: true},
			Health:  belief.Health{Verdict: belief.VerdictHealthy, Since: dawn.Add(-time.Minute)},
		}}
	}
	sick := view("web-2")
	sick.Machine.Health = belief.Health{
		Verdict: belief.VerdictUnhealthy,
		Cause:   belief.CauseCrashed,
		Since:   dawn.Add(-time.Minute),
	}
	sick.Machine.Incident = &belief.Incident{ID: "web-2/2", Cause: belief.CauseCrashed, Opened: dawn.Add(-time.Minute)}
	sick.Machine.Waiting = fleet.ReasonBudget
	child := view("db-1")
	child.Machine.Alias = "main"
	child.Machine.Incident = &belief.Incident{ID: "db-1/1", Cause: belief.CauseChecks, Opened: dawn, Parent: "db/p1"}
	whole := belief.Whole{
		Parents: []belief.Parent{
			{ID: "db/p1", Domain: fleet.Domain{Kind: fleet.DomainHost, Name: "h1"}, Opened: dawn, Failing: 3,
				Members: 4, Chance: 0.004},
		},
		Doubt: belief.Doubt{Reason: fleet.ReasonVantageDoubtful, Since: dawn},
	}
	up := fleet.ProviderState{Standing: fleet.ProviderUp, Since: now.Mono.Add(-time.Minute)}
	sick.Machine.Snapshots = []belief.DiskSnapshot{
		{ID: "r1", Instance: "i-0", Generation: 1, Whole: true, Where: "/pool/r1", Bytes: 7},
	}
	return []published.Fleet{
		{
			State: situation.State{
				Now: now, Spec: policy.Spec{Name: "web", Provider: "lab", Size: 2, Mode: policy.ModeAct}, Provider: up,
			},
			Machines: []situation.View{view("web-1"), sick}, Lease: time.Minute,
		},
		{
			State: situation.State{
				Now: now, Provider: up, Vantage: fleet.Vantage{Standing: fleet.VantageUnknown}, Whole: whole,
				Spec: policy.Spec{
					Name: "db", Provider: "lab", Size: 1, Mode: policy.ModeAct,
					SharedFate: policy.SharedFate{Then: policy.FatePage},
				},
			},
			Machines: []situation.View{child}, Lease: time.Minute,
		},
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	s, err := open(t).client().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Fleets) != 2 || s.Fleets[0].Healthy != 1 || !s.Fleets[0].Acting || s.PID != os.Getpid() {
		t.Errorf("got %+v", s)
	}
	m := s.Fleets[0].Machines[1]
	if m.Verdict != "unhealthy" || m.Text != "the provider says it crashed" || m.Waiting.Code != "budget" ||
		m.Waiting.Text == "" {
		t.Errorf("got %+v", m)
	}
	if want := dawn.Add(-time.Minute); !s.Fleets[0].Provider.Since.Equal(want) {
		t.Errorf("the provider stands since %v, want %v", s.Fleets[0].Provider.Since, want)
	}
}

func TestWhyTellsTheOpenIncidentAlone(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.write(
		about("web-2", record.Record{Kind: record.IncidentOpen, Cause: belief.CauseOff, Incident: "web-2/1"}),
		about("web-2", record.Record{
			Kind:     record.IncidentClosed,
			Reason:   fleet.ReasonHealed,
			Incident: "web-2/1",
		}),
		about("web-2", record.Record{Kind: record.Verdict, Verdict: belief.VerdictHealthy}),
		about("web-2", record.Record{
			Kind:    record.Verdict,
			Verdict: belief.VerdictUnhealthy,
			Cause:   belief.CauseCrashed,
		}),
		about("web-1", record.Record{Kind: record.Verdict, Verdict: belief.VerdictHealthy}),
		about("web-2", record.Record{Kind: record.IncidentOpen, Cause: belief.CauseCrashed, Incident: "web-2/2"}),
		about("web-2", record.Record{Kind: record.Held, Reason: fleet.ReasonBudget, Incident: "web-2/2"}),
	)
	w, err := o.client().Why(t.Context(), "web-2")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, e := range w.Timeline {
		told = append(told, e.Text)
	}
	want := []string{
		"web-2 is unhealthy: the provider says it crashed",
		"web-2: incident web-2/2 is open: the provider says it crashed",
		"web-2 is held: as many machines are in repair as the fleet allows",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	if w.Incident != "web-2/2" || len(w.Doing) != 1 || len(w.Person) != 1 {
		t.Errorf("got %+v", w)
	}
}

func TestWhyOfAHealthyMachineTellsItsLastIncident(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.write(
		about("web-1", record.Record{Kind: record.Verdict, Verdict: belief.VerdictHealthy}),
		about("web-1", record.Record{
			Kind:    record.Verdict,
			Verdict: belief.VerdictUnhealthy,
			Cause:   belief.CauseOff,
		}),
		about("web-1", record.Record{Kind: record.IncidentOpen, Cause: belief.CauseOff, Incident: "web-1/1"}),
		about("web-1", record.Record{
			Kind:     record.IncidentClosed,
			Reason:   fleet.ReasonHealed,
			Incident: "web-1/1",
		}),
		about("web-1", record.Record{Kind: record.Address, Address: netip.MustParseAddr("10.0.0.9")}),
	)
	w, err := o.client().Why(t.Context(), "web-1")
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Timeline) != 3 || w.Timeline[0].Verdict != "unhealthy" || w.Timeline[2].Kind != "incident-closed" {
		t.Errorf("got %+v", w.Timeline)
	}
	if diff := cmp.Diff([]string{"nothing to do"}, w.Doing); diff != "" {
		t.Error(diff)
	}
}

// S74: the chain of a machine that shares its fate tells of the parent incident, too, and so does the status.
func TestS74WhyAndStatusTellOfTheParent(t *testing.T) {
	t.Parallel()
	o := open(t)
	rack := fleet.Domain{Kind: fleet.DomainRack, Name: "r1"}
	o.write(
		about("web-2", record.Record{Kind: record.IncidentOpen, Cause: belief.CauseChecks, Incident: "web-2/2"}),
		record.Record{
			Fleet: "web", At: dawn, Kind: record.ParentOpen, Parent: "web/p3", Domain: rack, Failing: 20, Size: 20,
			Chance: 1e-9,
		},
		record.Record{
			Fleet: "web", At: dawn, Kind: record.Paged, Reason: fleet.ReasonSharedFate, Parent: "web/p3",
			Domain: rack, Failing: 20, Size: 20,
		},
		about("web-1", record.Record{
			Kind:     record.ChildJoined,
			Incident: "web-1/1",
			Parent:   "web/p3",
			Domain:   rack,
		}),
		about("web-2", record.Record{
			Kind:     record.ChildJoined,
			Incident: "web-2/2",
			Parent:   "web/p3",
			Domain:   rack,
		}),
		record.Record{Fleet: "web", At: dawn, Kind: record.ParentOpen, Parent: "web/p4"},
	)
	w, err := o.client().Why(t.Context(), "web-2")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, e := range w.Timeline {
		told = append(told, e.Text)
	}
	want := []string{
		"web-2: incident web-2/2 is open: its checks are down",
		"fleet web: incident web/p3 is open: 20 of 20 machines on rack r1 fail, too many together (1 in 10^9 by chance)",
		"a person must look at rack r1: 20 of 20 machines on rack r1 fail",
		"web-2 shares the fate of rack r1: its incident belongs to web/p3",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	if e := w.Timeline[1]; e.Parent != "web/p3" || e.Domain != (api.Domain{Kind: "rack", Name: "r1"}) ||
		e.Chance != 1e-9 {
		t.Errorf("got %+v", e)
	}
	s, err := o.client().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parents := []api.Parent{{
		ID: "db/p1", Domain: api.Domain{Kind: "host", Name: "h1"}, Opened: dawn, Then: "page", Failing: 3, Members: 4,
		Chance: 0.004, Children: []string{"db-1"}, Text: "3 of 4 machines on host h1 fail (1 in 250 by chance)",
	}}
	if diff := cmp.Diff(parents, s.Fleets[1].Parents); diff != "" {
		t.Error(diff)
	}
	if v := s.Fleets[1].Vantage; v.Standing != "unknown" || v.Doubt.Code != "vantage-doubtful" || v.Doubt.Text == "" ||
		!v.DoubtSince.Equal(dawn) {
		t.Errorf("got %+v", v)
	}
}

func TestWhyOfNobodyNamesWhoIsNear(t *testing.T) {
	t.Parallel()
	_, err := open(t).client().Why(t.Context(), "wbe-2")
	var p api.Problem
	if !errors.As(err, &p) || p.Code != api.CodeUnknownMachine || len(p.Near) == 0 || p.Near[0] != "web-2" {
		t.Errorf("got %v", err)
	}
}

func TestEventsOfSeveralFleetsComeInOrderAndGoOn(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.write(
		about("web-1", record.Record{Kind: record.Verdict, Verdict: belief.VerdictUnknown, At: dawn}),
		about("web-1", record.Record{
			Kind:    record.Verdict,
			Verdict: belief.VerdictHealthy,
			At:      dawn.Add(2 * time.Second),
		}),
		about("db-1", record.Record{
			Kind:    record.Verdict,
			Verdict: belief.VerdictHealthy,
			At:      dawn.Add(time.Second),
		}),
	)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var got []string
	for e, err := range o.client().Events(ctx, api.EventsQuery{Follow: true, Last: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Text)
		if len(got) == 2 {
			o.write(about("db-1", record.Record{
				Kind:    record.Verdict,
				Verdict: belief.VerdictUnknown,
				At:      dawn.Add(3 * time.Second),
			}))
		}
		if len(got) == 3 {
			break
		}
	}
	want := []string{"db-1 is healthy", "web-1 is healthy", "db-1 is unknown: nothing was heard of it yet"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAFollowerLearnsThatTheControllerEnded(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.write(about("web-1", record.Record{Kind: record.Verdict, Verdict: belief.VerdictHealthy}))
	var last error
	for _, err := range o.client().Events(t.Context(), api.EventsQuery{Fleet: "web", Follow: true}) {
		if last = err; err == nil {
			o.close()
		}
	}
	if !errors.Is(last, api.ErrStreamEnded) {
		t.Errorf("got %v", last)
	}
}

func TestEventsOfAnUnknownFleet(t *testing.T) {
	t.Parallel()
	for _, err := range open(t).client().Events(t.Context(), api.EventsQuery{Fleet: "wbe"}) {
		var p api.Problem
		if !errors.As(err, &p) || p.Code != api.CodeUnknownFleet || len(p.Near) == 0 {
			t.Errorf("got %v", err)
		}
		return
	}
	t.Error("events of an unknown fleet: no error")
}

func TestStateHasBeliefsButNeitherJournalNorLeases(t *testing.T) {
	t.Parallel()
	o := open(t)
	lease, err := o.store.Grant(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.store.Commit(t.Context(), state.Txn{Then: []state.Write{
		state.Put("installation", []byte("x")), state.Put("fleets/web/machines/web-1", []byte("{}")),
		state.Put("providers/lab/identity", []byte("{}")), state.PutLeased("fleets/web/owner", []byte("h"), lease.ID()),
	}})
	if err != nil {
		t.Fatal(err)
	}
	o.write(about("web-1", record.Record{Kind: record.Verdict}))
	s, err := o.client().State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, e := range s.Entries {
		keys = append(keys, e.Key)
	}
	if diff := cmp.Diff([]string{"installation", "fleets/web/machines/web-1", "providers/lab/identity"},
		keys); diff != "" {
		t.Error(diff)
	}
	if string(s.Entries[0].Value) != "x" {
		t.Errorf("the value came as %q", s.Entries[0].Value)
	}
}

func TestEventsOfAMachineAreFoundByWhatItsProviderCallsIt(t *testing.T) {
	t.Parallel()
	o := open(t)
	verdict := record.Record{Kind: record.Verdict}
	o.write(about("web-1", verdict), about("db-1", verdict))
	// A name that is given without a flag may be a fleet's.
	for _, q := range []api.EventsQuery{{Machine: "main"}, {Fleet: "main"}} {
		var about []string
		for e, err := range o.client().Events(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			about = append(about, e.Machine)
		}
		if diff := cmp.Diff([]string{"db-1"}, about); diff != "" {
			t.Errorf("%+v: %s", q, diff)
		}
	}
}

// A plan reads the notes of the starts at the provider, too. A start that this hale noted itself must not prove to the
// plan that the store is older.
func TestS73StateHasTheStartsThatWereNotedAtProviders(t *testing.T) {
	t.Parallel()
	o := open(t)
	name := fleet.NameStart(4, "3qgiyblzlxol")
	if err := starts.Note(t.Context(), o.store, "lab", name); err != nil {
		t.Fatal(err)
	}
	s, err := o.client().State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	planned := memory.New(memory.Options{}).Open(nil)
	for _, e := range s.Entries {
		put := state.Txn{Then: []state.Write{state.Put(e.Key, e.Value)}}
		if _, err := planned.Commit(t.Context(), put); err != nil {
			t.Fatal(err)
		}
	}
	noted, err := starts.Noted(t.Context(), planned)
	if diff := cmp.Diff(map[fleet.StartName][]fleet.ProviderName{name: {"lab"}}, noted); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	c := api.Dial(socket)
	defer c.Close()
	_, err := c.Status(t.Context())
	var absent api.NotRunning
	if !errors.As(err, &absent) || absent.Socket != socket || !strings.Contains(err.Error(), "hale run") {
		t.Errorf("got %v", err)
	}
}

func TestOnlyTheOwnerMayOpenTheSocket(t *testing.T) {
	t.Parallel()
	o := open(t)
	info, err := os.Stat(o.socket)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	o.close()
	if _, err := os.Stat(o.socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket was left: %v", err)
	}
}

func TestALiveSocketIsRefused(t *testing.T) {
	t.Parallel()
	o := open(t)
	if _, err := socket.Listen(t.Context(), o.socket, ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("got %v", err)
	}
	if _, err := o.client().Status(t.Context()); err != nil {
		t.Errorf("the first server suffered: %v", err)
	}
}

// about completes a record about a machine.
func about(machine fleet.MachineName, r record.Record) record.Record {
	r.Machine, r.Fleet = machine, machine.Fleet()
	if r.At.IsZero() {
		r.At = dawn
	}
	return r
}

// A recovery says how many machines fail, and its owner stores what follows for each of them after that. The answer has
// all of it.
func TestARecoveryTellsOfEachMachine(t *testing.T) {
	t.Parallel()
	o := open(t)
	taken := make(chan error, 1)
	go func() {
		for letter, err := range inbox.Follow(t.Context(), o.store, "web", 0) {
			if err != nil {
				taken <- err
				return
			}
			book, opened := journal.Open(t.Context(), o.store, "web")
			id := letter.Order.ID
			found := []record.Record{{Fleet: "web", Kind: record.Order, Command: fleet.OrderRecover, Order: id},
				{Fleet: "web", Kind: record.Found, Size: 5, Failing: 2, Order: id}}
			writes, made := book.Writes(found, journal.Keep{})
			held, take := letter.Taken()
			_, err = o.store.Commit(t.Context(), state.Txn{If: []state.Compare{held}, Then: append(writes, take)})
			book.Advance(found)
			o.books["web"] = book
			<-time.After(100 * time.Millisecond) // the client reads what there is meanwhile
			o.write(record.Record{Fleet: "web", Machine: "web-1", Kind: record.Found, Order: id},
				record.Record{Fleet: "web", Machine: "web-2", Kind: record.Found, Order: id})
			err = errors.Join(err, opened, made)
			taken <- err
			return
		}
	}()
	order := api.OrderRequest{Kind: string(fleet.OrderRecover), Subjects: []string{"web"}, DryRun: true}
	order.Wait = api.Duration(10 * time.Second)
	out, err := o.client().Order(t.Context(), order)
	if err := errors.Join(err, <-taken); err != nil {
		t.Fatal(err)
	}
	if len(out.Orders) != 1 || len(out.Orders[0].Events) != 4 {
		t.Errorf("it tells %+v, and not of the order, of what was found, and of two machines", out.Orders)
	}
}

// doorAt is the socket.
func doorAt(l net.Listener) server.Door { return server.Door{Listener: l} }

// asAdmin are the calls of a caller who may make them all.
func asAdmin(s *server.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		admin := access.Principal{Kind: access.ByToken, Name: "ana", Grants: []access.Grant{{Role: access.Admin}}}
		s.Handler().ServeHTTP(w, r.WithContext(access.With(r.Context(), admin)))
	})
}
