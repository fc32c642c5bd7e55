// Package cloudevents sends the journal as CloudEvents 1.0 over HTTP: many in one request, or each in one of its own.
//
// An event has the record's own id, the installation as its source, and `hale.record.KIND` as its type; traceparent is
// set by the extension for distributed tracing. What it promises beside that is said by package post.
package cloudevents

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"hale/internal/core/fault"
	"hale/internal/outlet"
	"hale/internal/outlet/post"

	"github.com/cloudevents/sdk-go/v2/event"
)

// Mode is how events go into requests.
type Mode string

// The modes.
const (
	ModeBatched    Mode = "batched"    // application/cloudevents-batch+json
	ModeStructured Mode = "structured" // application/cloudevents+json, one request for each
)

// Outlet sends.
type Outlet struct {
	post    *post.Post
	mode    Mode
	refused func(n int, why error)
}

// New makes the outlet. refused is told of events that the receiver takes to be wrong.
func New(p *post.Post, mode Mode, refused func(n int, why error)) *Outlet {
	return &Outlet{p, mode, refused}
}

// Take implements outlet.Outlet.
func (o *Outlet) Take(ctx context.Context, events []outlet.Event) error {
	all := make([]event.Event, len(events))
	for i := range events {
		e, err := wrapped(&events[i])
		if err != nil {
			return fault.New(fault.Invalid, "cloudevents.send", events[i].ID, err)
		}
		all[i] = e
	}
	var why error
	most := len(all)
	if o.mode == ModeStructured {
		most = 1
	}
	refused, err := outlet.Sift(all, most, func(part []event.Event) error {
		err := o.send(ctx, part)
		if fault.Is(err, fault.Invalid) {
			why = err
		}
		return err
	})
	if len(refused) > 0 {
		o.refused(len(refused), why)
	}
	return err
}

// Close implements outlet.Outlet.
func (o *Outlet) Close() { o.post.Close() }

func (o *Outlet) send(ctx context.Context, events []event.Event) error {
	kind, what := event.ApplicationCloudEventsBatchJSON, any(events)
	if o.mode == ModeStructured {
		kind, what = event.ApplicationCloudEventsJSON, events[0]
	}
	body, err := json.Marshal(what)
	if err != nil {
		return fault.New(fault.Invalid, "cloudevents.send", "", err)
	}
	_, err = o.post.Send(ctx, "", http.Header{"Content-Type": {kind}}, body)
	return err
}

// wrapped puts the event into its envelope.
func wrapped(e *outlet.Event) (event.Event, error) {
	out := event.New()
	out.SetID(e.ID)
	out.SetSource("/hale/" + url.PathEscape(e.Installation))
	out.SetType("hale.record." + e.Kind)
	out.SetTime(e.At)
	subject := e.Fleet
	if e.Machine != "" {
		subject += "/" + e.Machine
	}
	out.SetSubject(subject)
	if e.Trace != "" {
		out.SetExtension("traceparent", "00-"+e.Trace+"-"+e.Span+"-01")
	}
	if err := out.SetData(event.ApplicationJSON, e.Body); err != nil {
		return event.Event{}, err
	}
	return out, out.Validate()
}
