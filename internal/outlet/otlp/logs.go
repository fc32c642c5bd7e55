package otlp

import (
	"context"
	"encoding/hex"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/outlet"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
)

// Logs sends the journal as logs.
type Logs struct {
	o       Options
	client  client
	refused func(n int, why error)
}

// NewLogs makes the outlet. It connects to nothing yet. refused is told of events that the collector rejects.
func NewLogs(o Options, refused func(n int, why error)) *Logs { return &Logs{o, o.client(), refused} }

// Take implements outlet.Outlet.
func (l *Logs) Take(ctx context.Context, events []outlet.Event) error {
	var why error
	refused, err := outlet.Sift(events, len(events), func(part []outlet.Event) error {
		out, err := l.client.logs(ctx, l.request(part))
		if fault.Is(err, fault.Invalid) {
			why = err
		}
		if p := out.GetPartialSuccess(); err == nil && p.GetRejectedLogRecords() > 0 {
			l.refused(int(p.GetRejectedLogRecords()), rejected(l.o.Name, p.GetErrorMessage()))
		}
		return err
	})
	if len(refused) > 0 {
		l.refused(len(refused), why)
	}
	return err
}

// Close implements outlet.Outlet.
func (l *Logs) Close() { l.client.close() }

func (l *Logs) request(events []outlet.Event) *collogs.ExportLogsServiceRequest {
	scope := &logs.ScopeLogs{Scope: &common.InstrumentationScope{Name: "hale/journal", Version: l.o.Version}}
	installation := ""
	for i := range events {
		e := &events[i]
		installation = e.Installation
		scope.LogRecords = append(scope.LogRecords, logRecord(e))
	}
	return &collogs.ExportLogsServiceRequest{ResourceLogs: []*logs.ResourceLogs{{
		Resource: l.o.resource(installation), ScopeLogs: []*logs.ScopeLogs{scope},
	}}}
}

func logRecord(e *outlet.Event) *logs.LogRecord {
	r := &logs.LogRecord{
		TimeUnixNano: nanos(e.At), ObservedTimeUnixNano: nanos(e.At), SeverityNumber: logs.SeverityNumber_SEVERITY_NUMBER_INFO,
		SeverityText: "INFO", Body: text(e.Text), EventName: "hale.record." + e.Kind,
		Attributes: pairs("hale.event.id", e.ID, "hale.fleet", e.Fleet, "hale.machine", e.Machine, "hale.incident",
			e.Incident, "hale.repair", e.Repair, "hale.kind", e.Kind, "hale.record", string(e.Body)),
		TraceId: unhex(e.Trace), SpanId: unhex(e.Span),
	}
	if e.Severe {
		r.SeverityNumber, r.SeverityText = logs.SeverityNumber_SEVERITY_NUMBER_WARN, "WARN"
	}
	return r
}

// resource says what sends.
func (o Options) resource(installation string) *resource.Resource {
	return &resource.Resource{Attributes: pairs("service.name", "hale", "service.namespace", installation,
		"service.version", o.Version, "host.name", o.Server)}
}

func nanos(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
}

// pairs are attributes of key and value, without those that say nothing.
func pairs(all ...string) []*common.KeyValue {
	var out []*common.KeyValue
	for pair := range slices.Chunk(all, 2) {
		if pair[1] != "" {
			out = append(out, &common.KeyValue{Key: pair[0], Value: text(pair[1])})
		}
	}
	return out
}

// unhex returns the bytes of an id; nil: there is none.
func unhex(id string) []byte {
	b, err := hex.DecodeString(id)
	if err != nil || len(b) == 0 {
		return nil
	}
	return b
}
