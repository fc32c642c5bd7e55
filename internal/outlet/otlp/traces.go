package otlp

import (
	"context"
	"errors"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/notify"
	"hale/internal/outlet"
	"hale/internal/state/courier"
	"hale/internal/tracing"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Traces weaves the records of the journal into traces, and sends these. It is for a courier that recalls.
type Traces struct {
	o            Options
	client       client
	installation fleet.Installation
	weaver       *tracing.Weaver
	waiting      []tracing.Span
	refused      func(n int, why error)
}

// NewTraces makes it for the journal of the installation. It connects to nothing yet. refused is told of spans that the
// collector rejects.
func NewTraces(o Options, installation fleet.Installation, refused func(n int, why error)) *Traces {
	return &Traces{o: o, client: o.client(), installation: installation, weaver: tracing.New(installation),
		refused: refused}
}

// mostSpans is how many go into one request.
const mostSpans = 256

// Take implements courier.Taker. What ended before the courier began, or was sent, is not sent.
func (t *Traces) Take(ctx context.Context, entries []courier.Entry) error {
	for i := range entries {
		e := &entries[i]
		if e.Gap() {
			continue // what is missing of a trace is missing in it; the courier tells
		}
		spans := t.weaver.Weave(&e.Record)
		if !e.Known {
			t.waiting = append(t.waiting, spans...)
		}
	}
	if len(entries) == 0 {
		t.waiting = append(t.waiting, t.weaver.Overdue(time.Now())...)
	}
	for len(t.waiting) > 0 {
		n := min(len(t.waiting), mostSpans)
		if err := t.send(ctx, t.waiting[:n]); err != nil {
			return err
		}
		t.waiting = t.waiting[n:]
	}
	t.waiting = nil
	return nil
}

// Close lets go of the connection.
func (t *Traces) Close() { t.client.close() }

func (t *Traces) send(ctx context.Context, spans []tracing.Span) error {
	var why error
	refused, err := outlet.Sift(spans, len(spans), func(part []tracing.Span) error {
		out, err := t.client.traces(ctx, t.request(part))
		if fault.Is(err, fault.Invalid) {
			why = err
		}
		if p := out.GetPartialSuccess(); err == nil && p.GetRejectedSpans() > 0 {
			t.refused(int(p.GetRejectedSpans()), rejected(t.o.Name, p.GetErrorMessage()))
		}
		return err
	})
	if len(refused) > 0 {
		t.refused(len(refused), why)
	}
	return err
}

func rejected(name, why string) error {
	return fault.New(fault.Invalid, op, name, errors.New(notify.Clean(why)))
}

func (t *Traces) request(spans []tracing.Span) *coltrace.ExportTraceServiceRequest {
	scope := &trace.ScopeSpans{Scope: &common.InstrumentationScope{Name: "hale/incidents", Version: t.o.Version}}
	for i := range spans {
		scope.Spans = append(scope.Spans, span(&spans[i]))
	}
	return &coltrace.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{
		Resource: t.o.resource(string(t.installation)), ScopeSpans: []*trace.ScopeSpans{scope},
	}}}
}

func span(s *tracing.Span) *trace.Span {
	out := &trace.Span{
		TraceId: s.Trace[:], SpanId: s.ID[:], Name: s.Name, Kind: trace.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: nanos(s.Start), EndTimeUnixNano: nanos(s.End), Attributes: values(s.Attributes),
		DroppedEventsCount: s.Dropped, Status: ended(s),
	}
	if s.Parent != (tracing.SpanID{}) {
		out.ParentSpanId = s.Parent[:]
	}
	if s.Calls {
		out.Kind = trace.Span_SPAN_KIND_CLIENT
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, &trace.Span_Event{TimeUnixNano: nanos(e.At), Name: e.Name,
			Attributes: values(e.Attributes)})
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, &trace.Span_Link{TraceId: l.Trace[:], SpanId: l.Span[:]})
	}
	return out
}

func ended(s *tracing.Span) *trace.Status {
	switch s.State {
	case tracing.StateOK:
		return &trace.Status{Code: trace.Status_STATUS_CODE_OK}
	case tracing.StateFailed:
		return &trace.Status{Code: trace.Status_STATUS_CODE_ERROR, Message: s.Why}
	case tracing.StateUnset:
	}
	return nil
}

func values(all []tracing.Attribute) []*common.KeyValue {
	out := make([]*common.KeyValue, 0, len(all))
	for _, a := range all {
		v := &common.AnyValue{}
		switch is := a.Value.(type) {
		case string:
			v = text(is)
		case int64:
			v.Value = &common.AnyValue_IntValue{IntValue: is}
		case bool:
			v.Value = &common.AnyValue_BoolValue{BoolValue: is}
		}
		out = append(out, &common.KeyValue{Key: a.Key, Value: v})
	}
	return out
}
