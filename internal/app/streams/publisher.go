package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"hale/api"
	"hale/internal/api/view"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/outlet"
	"hale/internal/state/courier"
	"hale/internal/tracing"
)

// publisher puts the journal's records into words for an outlet.
type publisher struct {
	installation fleet.Installation
	outlet       outlet.Outlet
}

// Take implements courier.Taker.
func (p publisher) Take(ctx context.Context, entries []courier.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	events := make([]outlet.Event, len(entries))
	for i := range entries {
		var err error
		if events[i], err = p.event(&entries[i]); err != nil {
			return fault.New(fault.Permanent, "streams.take", string(entries[i].Fleet), err)
		}
	}
	return p.outlet.Take(ctx, events)
}

// Close implements kinds.Sink.
func (p publisher) Close() { p.outlet.Close() }

// leaving is a record as it leaves hale: as the API has it, and what tells it from those of other installations.
type leaving struct {
	ID           string `json:"id"`
	Installation string `json:"installation"`
	Trace        string `json:"trace,omitempty"`
	api.Event
}

// gap is the word that records are missing.
type gap struct {
	ID           string    `json:"id"`
	Installation string    `json:"installation"`
	At           time.Time `json:"at"`
	Fleet        string    `json:"fleet"`
	Kind         string    `json:"kind"`
	Text         string    `json:"text"`
	Lost         uint64    `json:"lost"`
	After        uint64    `json:"after"`
	Before       uint64    `json:"before"`
}

func (p publisher) event(e *courier.Entry) (outlet.Event, error) {
	out := outlet.Event{
		At: e.At, Installation: string(p.installation), Fleet: string(e.Fleet), Machine: string(e.Machine),
		Kind: string(e.Kind), Incident: e.Incident, Repair: e.Repair, Severe: severe(&e.Record),
		ID: string(p.installation) + "/" + tracing.Identity(&e.Record),
	}
	var body any
	if e.Gap() {
		out.ID = fmt.Sprintf("%s/%s/gap/%d-%d", p.installation, e.Fleet, e.After, e.Seq)
		out.Kind, out.Severe = outlet.KindGap, true
		out.Text = fmt.Sprintf("%d records of %s are missing here: the journal let go of them before they were handed over",
			e.Lost, e.Fleet)
		body = gap{ID: out.ID, Installation: out.Installation, At: out.At, Fleet: out.Fleet, Kind: out.Kind,
			Text: out.Text, Lost: e.Lost, After: e.After, Before: e.Seq + 1}
	} else {
		shown := view.Event(e.Record)
		out.Text = shown.Text
		if t := tracing.TraceOf(p.installation, &e.Record); !t.None() {
			out.Trace, out.Span = t.String(), t.Root().String()
		}
		body = leaving{ID: out.ID, Installation: out.Installation, Trace: out.Trace, Event: shown}
	}
	var err error
	out.Body, err = json.Marshal(body)
	return out, err
}

// severe reports whether the record is for a person, who must look.
func severe(r *record.Record) bool { return r.Kind == record.Paged && !r.Joined() }
