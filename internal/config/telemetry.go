package config

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/secret"
)

// Where the traces of incidents go, and where the journal streams out to.

// Telemetry is where they go. The zero value: nowhere.
type Telemetry struct {
	Traces  Traces
	Journal []Outlet // sorted by name
}

// TracesStream is the name of the stream of traces.
const TracesStream = "traces"

// JournalStream is the name of the outlet's stream.
func JournalStream(outlet string) string { return "journal " + outlet }

// Secrets are those that the streams need, by the names of these, in their order.
func (t Telemetry) Secrets() iter.Seq2[string, []secret.Secret] {
	return func(yield func(string, []secret.Secret) bool) {
		if t.Traces.Settings != nil && !yield(TracesStream, t.Traces.Settings.Secrets()) {
			return
		}
		for _, o := range t.Journal {
			if !yield(JournalStream(o.Name), o.Settings.Secrets()) {
				return
			}
		}
	}
}

// Traces is where the traces of incidents go.
type Traces struct {
	Timeout  time.Duration // of one try
	Settings kinds.Weaving // nil: nowhere
}

// Outlet is one place where the journal streams out to.
type Outlet struct {
	Name     string
	Kind     string        // a word of kinds.All
	Timeout  time.Duration // of one try
	Settings kinds.Streaming
}

type telemetryDraft struct {
	traces  keys.At[tracesDraft]
	journal keys.At[[]keys.Named[outletDraft]]
}

type tracesDraft struct {
	own     keys.Own // what the way brings
	timeout keys.At[time.Duration]
}

type outletDraft struct {
	own     keys.Own // what the kinds bring
	timeout keys.At[time.Duration]
}

const defaultOutletTimeout = 10 * time.Second

func patience[T any](of func(*T) *keys.At[time.Duration]) keys.Field[T] {
	return keys.Or("timeout", defaultOutletTimeout, "When no answer is a failure: it is tried again, with growing pauses.",
		keys.Duration(100*time.Millisecond, time.Minute), of)
}

func telemetryShape(all kinds.All) keys.Object[telemetryDraft] {
	traces := keys.Within(all.Traces.Key.Fields, func(t *tracesDraft) *keys.Own { return &t.own })
	ways := keys.Within(kinds.WayFields(all.Outlets, "An outlet has one of"),
		func(o *outletDraft) *keys.Own { return &o.own })
	return keys.Object[telemetryDraft]{Fields: []keys.Field[telemetryDraft]{
		keys.May("traces", "One OpenTelemetry trace for each incident, from the first failed probe to the verified "+
			"machine, with every call to the provider.",
			keys.Object[tracesDraft]{Fields: append(traces,
				patience(func(t *tracesDraft) *keys.At[time.Duration] { return &t.timeout }))},
			func(t *telemetryDraft) *keys.At[tracesDraft] { return &t.traces }),
		keys.May("journal", "Where the journal streams out to, by name. The name is that of the position: under another "+
			"name, an outlet begins with the oldest record that there is.",
			keys.Mapping[outletDraft]{Key: "OUTLET", Each: keys.Object[outletDraft]{Fields: append(ways,
				patience(func(o *outletDraft) *keys.At[time.Duration] { return &o.timeout }))},
				Names: keys.KeyForm{Noun: "the name of an outlet", Pattern: "^[a-z0-9][a-z0-9-]*$"}},
			func(t *telemetryDraft) *keys.At[[]keys.Named[outletDraft]] { return &t.journal }),
	}}
}

func compileTelemetry(t keys.At[telemetryDraft], all kinds.All, f *keys.Finder) Telemetry {
	var out Telemetry
	d := t.Value
	if d.traces.Written() {
		words, settings := kinds.TakeWays([]kinds.Tracing{all.Traces}, &d.traces.Value.own, f)
		out.Traces = Traces{Timeout: d.traces.Value.timeout.Value, Settings: settings}
		if len(words) == 0 && d.traces.Given() {
			f.Add(d.traces.Spot, "does not say where to", "add otlp: {endpoint: https://collector.example.org:4318}")
		}
	}
	for _, n := range d.journal.Value {
		words, settings := kinds.TakeWays(all.Outlets, &n.Value.own, f)
		switch {
		case len(words) == 0 && n.OK:
			f.Add(n.Spot, "does not say where to", "add one of "+kinds.WayExamples(all.Outlets))
		case len(words) > 1:
			f.Add(n.Spot, fmt.Sprintf("is both %s and %s", words[0], words[1]), "make it two outlets")
		}
		out.Journal = append(out.Journal, Outlet{Name: n.Name, Kind: cmp.Or(words...), Timeout: n.Value.timeout.Value,
			Settings: settings})
	}
	slices.SortFunc(out.Journal, func(a, b Outlet) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
