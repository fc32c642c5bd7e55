package otlp_test

import (
	"testing"

	"hale/internal/core/record"
	"hale/internal/testbed/collector"
	"hale/internal/tracing"
)

// OpenTelemetry's own collector takes traces and logs, by both ways, as what they are.
func TestARealCollector(t *testing.T) {
	theirs := collector.StartReal(t)
	both(t, func(s *sender) {
		s.options.Endpoint = theirs.HTTP
		if s.options.GRPC {
			s.options.Endpoint = theirs.GRPC
		}
		s.options.Server = "by-" + map[bool]string{false: "http", true: "grpc"}[s.options.GRPC]
		if err := s.traces().Take(s.Context(), incident(1)); err != nil {
			s.Fatal(err)
		}
		if err := s.logs().Take(s.Context(), events(1, 2)); err != nil {
			s.Fatal(err)
		}
		r := record.Record{Machine: "web-2", Incident: "web-2/1"}
		want := []string{tracing.TraceOf("ours", &r).String(), "Name           : call reboot",
			"Name           : incident",
			"hale.check: Str(page)", "host.name: Str(" + s.options.Server + ")", "Status message : a quota",
			"EventName: hale.record.paged", "Body: Str(a person must look)", "hale.event.id: Str(ours/web/2)"}
		if !theirs.Await(want...) || s.refused != 0 {
			s.Errorf("%d were refused; the collector wrote\n%s", s.refused, theirs.Said())
		}
	})
}
