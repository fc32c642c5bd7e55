package tracing

import (
	"log/slog"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// Logged are the ids by which a line of the log about the record is found among traces and records. What the record is
// not about is left out.
func Logged(installation fleet.Installation, r *record.Record) []slog.Attr {
	trace := ""
	if t := TraceOf(installation, r); !t.None() {
		trace = t.String()
	}
	var out []slog.Attr
	for _, a := range []slog.Attr{
		slog.String("fleet", string(r.Fleet)), slog.String("machine", string(r.Machine)),
		slog.String("incident", r.Incident), slog.String("parent", r.Parent), slog.String("repair", r.Repair),
		slog.String("trace", trace),
	} {
		if a.Value.String() != "" {
			out = append(out, a)
		}
	}
	return out
}

// About is Logged for a line about a machine's incident in a log that names the fleet.
func About(installation fleet.Installation, machine fleet.MachineName, incident string) slog.Attr {
	return slog.Attr{Value: slog.GroupValue(Logged(installation,
		&record.Record{Machine: machine, Incident: incident})...)}
}
