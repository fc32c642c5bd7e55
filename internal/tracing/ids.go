package tracing

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// TraceID names a trace.
type TraceID [16]byte

// String writes it as W3C's Trace Context does.
func (t TraceID) String() string { return hex.EncodeToString(t[:]) }

// None reports whether it names nothing.
func (t TraceID) None() bool { return t == TraceID{} }

// SpanID names a span within its trace.
type SpanID [8]byte

// TraceOf returns the trace that the record belongs to: its incident's, or, of a record about several machines, that
// of the parent incident.
func TraceOf(installation fleet.Installation, r *record.Record) TraceID {
	return traceOf(installation, subject(r))
}

func traceOf(installation fleet.Installation, incident string) TraceID {
	if incident == "" {
		return TraceID{}
	}
	return TraceID(digest("trace", string(installation), incident)[:16])
}

// subject is the incident that the record belongs to.
func subject(r *record.Record) string {
	if r.Incident == "" && r.Machine == "" {
		return r.Parent
	}
	return r.Incident
}

// Root names the trace's root span.
func (t TraceID) Root() SpanID { return t.span("root") }

// String writes it as W3C's Trace Context does.
func (s SpanID) String() string { return hex.EncodeToString(s[:]) }

// span names the span of its kind in the trace.
func (t TraceID) span(of ...string) SpanID {
	return SpanID(digest(append([]string{"span", t.String()}, of...)...)[:8])
}

// Identity is what tells the record from all others of the installation, also from one of the same number in a store
// that was restored.
func Identity(r *record.Record) string {
	return string(r.Fleet) + "/" + strconv.FormatUint(r.Seq, 10) + "/" + strconv.FormatInt(r.At.UnixNano(), 10)
}

func digest(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p)) // so that no two lists of parts read alike
	}
	return h.Sum(nil)
}
