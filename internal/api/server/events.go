package server

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/feed"
	"hale/internal/api/naming"
	"hale/internal/api/rest"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
	"hale/internal/state/journal"

	"github.com/danielgtaylor/huma/v2"
)

// eventsInput is what is asked for of the journal.
type eventsInput struct {
	Fleet   string    `query:"fleet" maxLength:"253" doc:"Of this fleet only, or of this machine."`
	Machine string    `query:"machine" maxLength:"253" doc:"Of this machine only."`
	Since   time.Time `query:"since" doc:"Not older than this."`
	Kinds   []string  `query:"kind,explode" maxItems:"100" doc:"Of these kinds only."`
	Last    int       `query:"last" default:"-1" minimum:"-1" doc:"So many of those that there are; -1: all."`
	From    string    `query:"from" maxLength:"64" doc:"What lies behind this place only: an event's cursor, a list's revision, or now."`
	Follow  bool      `query:"follow" doc:"And then what comes, a JSON object a line."`
	Watch   bool      `query:"watch" doc:"And then what comes, as server-sent events."`
	LastID  string    `header:"Last-Event-ID" maxLength:"64" doc:"As from; it goes before that."`
	Accept  string    `header:"Accept" hidden:"true"`
}

// wanted is a query that was understood.
type wantedEvents struct {
	fleet   fleet.Name
	machine fleet.MachineName
	since   time.Time
	kinds   []record.Kind // empty: all
	last    int           // -1: all
	from    *feed.Cursor  // nil: the beginning
	follow  bool
	caller  access.Principal
}

// wants reports whether the record was asked for, and the caller may see it.
func (q *wantedEvents) wants(r *record.Record) bool {
	return (q.fleet == "" || r.Fleet == q.fleet) && (q.machine == "" || r.Machine == q.machine) &&
		!r.At.Before(q.since) && (len(q.kinds) == 0 || slices.Contains(q.kinds, r.Kind)) &&
		q.caller.May(access.Viewer, r.Fleet)
}

// beat is how often a quiet stream says that it lives.
const beat = 15 * time.Second

// events streams the journal.
func (s *Server) events(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	q, err := s.understood(ctx, in)
	if err != nil {
		return nil, err
	}
	past, err := s.past(ctx, q)
	if err != nil {
		return nil, err
	}
	encoding := rest.Lines
	if in.Watch || strings.Contains(in.Accept, rest.MediaSSE) {
		encoding = rest.ServerSent
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		out := rest.NewStream(c, encoding)
		if !past.begins.IsZero() {
			c.SetHeader(api.HeaderBegins, past.begins.UTC().Format(time.RFC3339Nano))
		}
		if past.gap {
			out.Gap(oldest(past.items))
		}
		for i := range past.items {
			out.Item(past.items[i].Cursor().String(), past.items[i].JSON)
		}
		if out.Flush(past.next.String()) && q.follow {
			s.follow(c.Context(), out, q, past.next)
		}
	}}, nil
}

// follow sends what is stored behind the cursor, until ctx ends or the reader has gone.
func (s *Server) follow(ctx context.Context, out *rest.Stream, q wantedEvents, at feed.Cursor) {
	for batch, err := range s.feed.After(ctx, q.fleet, at, beat) {
		if err != nil {
			out.Broke(s.router.Problem(ctx, err))
			return
		}
		if batch.Gap {
			out.Gap(oldest(batch.Items))
		}
		sent := 0
		for i := range batch.Items {
			if q.wants(&batch.Items[i].Record) {
				out.Item(batch.Items[i].Cursor().String(), batch.Items[i].JSON)
				sent++
			}
		}
		if (sent > 0 || len(batch.Items) == 0) && !out.Flush(batch.Next.String()) {
			return
		}
	}
}

// oldest is the place of the first of the items; empty: there are none.
func oldest(items []feed.Item) string {
	if len(items) == 0 {
		return ""
	}
	return items[0].Cursor().String()
}

// history is what the journal has of what was asked for.
type history struct {
	items  []feed.Item
	next   feed.Cursor // behind all that was read
	gap    bool        // older ones were asked for from a place in the journal
	begins time.Time   // older ones were asked for; from this time on the journals are whole. Zero: they were not
}

// past reads the journal.
func (s *Server) past(ctx context.Context, q wantedEvents) (history, error) {
	if q.from != nil && q.follow {
		return history{next: *q.from}, nil
	}
	stored, revision, err := journal.List(ctx, s.opts.Store, q.fleet)
	if err != nil {
		return history{}, err
	}
	h := history{next: feed.Cursor{Revision: revision}}
	if q.from != nil {
		h.gap = feed.Holed(stored, *q.from)
	}
	begins := beginning(stored)
	stored = slices.DeleteFunc(stored, func(r journal.Stored) bool {
		return !q.wants(&r.Record) || q.from != nil && !q.from.Before(&r)
	})
	if q.from == nil && q.reaches(begins, len(stored)) {
		h.begins = begins
	}
	slices.SortStableFunc(stored, byTime(stored))
	if q.last >= 0 {
		stored = stored[max(0, len(stored)-q.last):]
	}
	h.items, err = feed.Items(stored)
	return h, err
}

// byTime orders records of several fleets by time; each fleet's stay in their order, whatever the clock did.
func byTime(stored []journal.Stored) func(a, b journal.Stored) int {
	type key struct {
		fleet fleet.Name
		seq   uint64
	}
	latest := map[fleet.Name]time.Time{}
	shown := make(map[key]time.Time, len(stored))
	for _, r := range stored {
		if r.At.After(latest[r.Fleet]) {
			latest[r.Fleet] = r.At
		}
		shown[key{r.Fleet, r.Seq}] = latest[r.Fleet]
	}
	return func(a, b journal.Stored) int {
		return shown[key{a.Fleet, a.Seq}].Compare(shown[key{b.Fleet, b.Seq}])
	}
}

// beginning returns from when on the journals are whole at their beginnings; zero: nothing older was ever removed.
func beginning(stored []journal.Stored) time.Time {
	var begins time.Time
	seen := map[fleet.Name]bool{}
	for _, r := range stored {
		if !seen[r.Fleet] && r.Seq > 1 && r.At.After(begins) {
			begins = r.At
		}
		seen[r.Fleet] = true
	}
	return begins
}

// reaches reports whether the query asks for more than there is, where so many of the records are wanted.
func (q *wantedEvents) reaches(begins time.Time, wanted int) bool {
	return !begins.IsZero() && q.since.Before(begins) && (q.last < 0 || wanted < q.last)
}

// understood makes a query of what was asked.
func (s *Server) understood(ctx context.Context, in *eventsInput) (wantedEvents, error) {
	q := wantedEvents{
		fleet: fleet.Name(in.Fleet), machine: fleet.MachineName(in.Machine), since: in.Since, last: in.Last,
		follow: in.Follow || in.Watch, caller: access.Of(ctx),
	}
	for _, k := range in.Kinds {
		if q.kinds = append(q.kinds, record.Kind(k)); !slices.Contains(api.EventKinds(), k) {
			return q, rest.BadRequest("kind: " + words.UnknownKind(k, api.EventKinds()).Error())
		}
	}
	from := in.From
	if in.LastID != "" {
		from = in.LastID
	}
	if from != "" {
		at, err := s.place(ctx, from)
		if err != nil {
			return q, err
		}
		q.from = &at
	}
	if q.from != nil && (!q.since.IsZero() || q.last >= 0) {
		return q, rest.BadRequest("from: is not for use with since or last")
	}
	if err := s.aboutMachine(ctx, &q); err != nil {
		return q, err
	}
	err := s.aboutFleet(ctx, &q)
	return q, err
}

// place is where in the journal the text says.
func (s *Server) place(ctx context.Context, text string) (feed.Cursor, error) {
	if text == "now" {
		return s.now(ctx)
	}
	at, err := feed.ParseCursor(text)
	if err != nil {
		return at, rest.BadRequest("from: " + err.Error())
	}
	return at, nil
}

// aboutFleet makes sure that there is the fleet, or was.
func (s *Server) aboutFleet(ctx context.Context, q *wantedEvents) error {
	if q.fleet == "" {
		return nil
	}
	if _, err := fleetNamed(string(q.fleet), s.seen(ctx, access.Viewer)); err == nil {
		return nil
	}
	_, is, err := s.releasedFleet(ctx, q.fleet)
	if is || err != nil {
		return err
	}
	_, err = fleetNamed(string(q.fleet), s.seen(ctx, access.Viewer))
	return err
}

// aboutMachine finds the machine that the query means, by its name or what its provider calls it; it may stand in the
// place of a fleet. One that has gone is still in the journal: its name is taken as it is where a fleet could have had
// it.
func (s *Server) aboutMachine(ctx context.Context, q *wantedEvents) error {
	status := s.seen(ctx, access.Viewer)
	if q.machine == "" {
		text, err := naming.Meant(string(q.fleet), status)
		if err == nil && text != string(q.fleet) {
			q.fleet, q.machine = "", fleet.MachineName(text)
		}
		return err
	}
	text, err := naming.Meant(string(q.machine), status)
	if err != nil {
		return err
	}
	q.machine = fleet.MachineName(text)
	var names []string
	for _, f := range status {
		names = append(names, naming.Aliases(f)...)
		for _, v := range f.Machines {
			names = append(names, string(v.Machine.Name))
		}
		if rest, of := strings.CutPrefix(text, string(f.Spec.Name)+"-"); of {
			if _, err := strconv.ParseUint(rest, 10, 32); err == nil {
				return nil
			}
		}
	}
	if slices.Contains(names, text) {
		return nil
	}
	if _, is, err := s.releasedFleet(ctx, q.fleet); err == nil && is {
		return nil
	}
	if gone, is, err := s.releasedWith(ctx, text); q.fleet == "" && err == nil && is {
		q.fleet = gone.name
		return nil
	}
	return api.Unknown(api.CodeUnknownMachine, "machine "+text, text, names)
}
