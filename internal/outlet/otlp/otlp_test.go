package otlp_test

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/notify"
	"hale/internal/outlet"
	"hale/internal/outlet/otlp"
	"hale/internal/outlet/post"
	"hale/internal/secret"
	"hale/internal/state/courier"
	"hale/internal/testbed/collector"

	"google.golang.org/grpc/codes"
)

const token = "Bearer s3cret-token"

// sender is what is tested, towards one door of a collector.
type sender struct {
	*testing.T
	collector *collector.Collector
	options   otlp.Options
	refused   int
}

// both plays a story over HTTP and over gRPC.
func both(t *testing.T, story func(s *sender)) {
	t.Parallel()
	for _, over := range []string{"http", "grpc"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			c := collector.Start(t)
			s := &sender{T: t, collector: c}
			file := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
				t.Fatal(err)
			}
			kept, err := secret.File(file)
			if err != nil {
				t.Fatal(err)
			}
			s.options = otlp.Options{Endpoint: c.HTTP, Headers: []secret.Named{{Name: "Authorization", Secret: kept}},
				Identity: post.Identity{Name: "test", Timeout: 5 * time.Second, Version: "v1", Server: "s1"}}
			if over == "grpc" {
				s.options.Endpoint, s.options.GRPC = c.GRPC, true
			}
			story(s)
		})
	}
}

func (s *sender) refuse(n int, _ error) { s.refused += n }

func (s *sender) logs() *otlp.Logs {
	l := otlp.NewLogs(s.options, s.refuse)
	s.Cleanup(l.Close)
	return l
}

func (s *sender) traces() *otlp.Traces {
	l := otlp.NewTraces(s.options, "ours", s.refuse)
	s.Cleanup(l.Close)
	return l
}

// events are so many of a page, from the number on.
func events(from, n int) []outlet.Event {
	var out []outlet.Event
	for i := range n {
		out = append(out, outlet.Event{
			ID: fmt.Sprintf("ours/web/%d", from+i), At: time.Unix(1_800_000_000, int64(from+i)), Installation: "ours",
			Fleet: "web", Machine: "web-2", Kind: "paged", Severe: true, Text: "a person must look",
			Trace: strings.Repeat("0a", 16), Span: strings.Repeat("0b", 8), Incident: "web-2/1",
			Body: []byte(`{"seq":1}`),
		})
	}
	return out
}

func TestRecordsAreLogs(t *testing.T) {
	both(t, func(s *sender) {
		if err := s.logs().Take(s.Context(), events(1, 3)); err != nil {
			s.Fatal(err)
		}
		got := s.collector.Logs()
		if len(got) != 3 {
			s.Fatalf("%d came", len(got))
		}
		r := got[1]
		said := collector.Attributes(r.GetAttributes())
		if r.GetTimeUnixNano() != 1_800_000_000_000_000_002 || r.GetBody().GetStringValue() != "a person must look" ||
			r.GetSeverityText() != "WARN" || r.GetEventName() != "hale.record.paged" ||
			collector.ID(r.GetTraceId()) != strings.Repeat("0a", 16) || said["hale.event.id"] != "ours/web/2" ||
			said["hale.incident"] != "web-2/1" || said["hale.record"] != `{"seq":1}` {
			s.Errorf("it is %+v", r)
		}
		if from := s.collector.From()[0]; from["service.name"] != "hale" || from["service.namespace"] != "ours" ||
			from["host.name"] != "s1" || from["service.version"] != "v1" {
			s.Errorf("it is said to come from %v", from)
		}
		if head := s.collector.Heads()[0]; head["Authorization"] != token {
			s.Errorf("the headers are %v", head)
		}
	})
}

// incident is the journal of one that ends healed, with so many calls.
func incident(calls int) []courier.Entry {
	at := time.Unix(1_800_000_000, 0)
	entry := func(after time.Duration, r record.Record) courier.Entry {
		r.At, r.Fleet, r.Machine, r.Incident, r.Repair = at.Add(after), "web", "web-2", "web-2/1", "web-2/r1"
		return courier.Entry{Record: r}
	}
	all := []courier.Entry{
		entry(0, record.Record{Kind: record.IncidentOpen, Began: at.Add(-time.Second), Check: "page"}),
		entry(0, record.Record{Kind: record.RepairStarted}),
	}
	for n := range calls {
		id := fmt.Sprintf("web-2/r1/call%d", n+1)
		all = append(all, entry(0, record.Record{Kind: record.Intent, Op: fleet.OpReboot, Call: id}),
			entry(time.Second, record.Record{Kind: record.Outcome, Op: fleet.OpReboot, Call: id,
				Outcome: fleet.OutcomeRefused, Detail: "a quota"}))
	}
	all = append(all, entry(2*time.Second, record.Record{Kind: record.RepairEnded, Reason: fleet.ReasonHealed}),
		entry(2*time.Second, record.Record{Kind: record.IncidentClosed, Reason: fleet.ReasonHealed}))
	for i := range all {
		all[i].Seq = uint64(i) + 1
	}
	return all
}

func TestAnIncidentIsATrace(t *testing.T) {
	both(t, func(s *sender) {
		if err := s.traces().Take(s.Context(), incident(1)); err != nil {
			s.Fatal(err)
		}
		var names []string
		for _, span := range s.collector.Spans() {
			names = append(names, span.GetName())
		}
		if want := []string{"detect", "call reboot", "repair", "incident"}; !slices.Equal(names, want) {
			s.Fatalf("the spans are %v", names)
		}
		spans := s.collector.Spans()
		call, root := spans[1], spans[3]
		if call.GetKind().String() != "SPAN_KIND_CLIENT" || call.GetStatus().GetMessage() != "a quota" ||
			call.GetEndTimeUnixNano()-call.GetStartTimeUnixNano() != uint64(time.Second) ||
			!bytes.Equal(call.GetParentSpanId(), spans[2].GetSpanId()) ||
			!bytes.Equal(spans[2].GetParentSpanId(), root.GetSpanId()) || len(root.GetParentSpanId()) != 0 {
			s.Errorf("the call is %+v", call)
		}
		if collector.Attributes(root.GetAttributes())["hale.check"] != "page" ||
			root.GetEndTimeUnixNano()-root.GetStartTimeUnixNano() != uint64(3*time.Second) {
			s.Errorf("the root is %+v", root)
		}
	})
}

// What a collector does not take comes again, the same spans, and nothing else meanwhile; what it has is not sent
// again.
func TestACollectorThatIsDownGetsItLater(t *testing.T) {
	both(t, func(s *sender) {
		tr := s.traces()
		s.collector.Feel(collector.Mood{Status: http.StatusServiceUnavailable, Code: codes.Unavailable, After: "7"})
		for range 3 {
			err := tr.Take(s.Context(), incident(1))
			if !fault.Is(err, fault.Transient) {
				s.Fatalf("it is %v", err)
			}
			if !s.options.GRPC && notify.Later(err) != 7*time.Second {
				s.Errorf("it is to come again after %v", notify.Later(err))
			}
		}
		s.collector.Feel(collector.Mood{})
		for range 2 {
			if err := tr.Take(s.Context(), incident(1)); err != nil {
				s.Fatal(err)
			}
		}
		if n := len(s.collector.Spans()); n != 4 || s.refused != 0 {
			s.Errorf("%d spans came, %d were refused", n, s.refused)
		}
	})
}

// A collector that hangs is waited for as long as is configured.
func TestACollectorThatHangs(t *testing.T) {
	both(t, func(s *sender) {
		s.options.Timeout = 100 * time.Millisecond
		s.collector.Feel(collector.Mood{Hangs: true})
		begun := time.Now()
		err := s.logs().Take(s.Context(), events(1, 1))
		if took := time.Since(begun); !fault.Is(err, fault.UnknownOutcome) || took > 3*time.Second {
			s.Errorf("after %v it is %v", took, err)
		}
	})
}

// What the collector says it rejects is counted, and not sent again.
func TestWhatACollectorRejectsIsCounted(t *testing.T) {
	both(t, func(s *sender) {
		s.collector.Feel(collector.Mood{Rejects: 2})
		if err := s.logs().Take(s.Context(), events(1, 3)); err != nil || s.refused != 2 {
			s.Errorf("%d of the logs are counted, %v", s.refused, err)
		}
		if err := s.traces().Take(s.Context(), incident(1)); err != nil || s.refused != 4 {
			s.Errorf("with the spans %d are counted, %v", s.refused, err)
		}
	})
}

// A collector that refuses everything is the wrong one, or set up wrongly: nothing is dropped for that, and no error
// has a secret in it.
func TestACollectorThatRefusesEverything(t *testing.T) {
	both(t, func(s *sender) {
		for code, mood := range map[fault.Kind]collector.Mood{
			fault.Invalid:      {Status: http.StatusBadRequest, Code: codes.InvalidArgument},
			fault.Unauthorised: {Status: http.StatusUnauthorized, Code: codes.Unauthenticated},
			fault.NotFound:     {Status: http.StatusNotFound, Code: codes.Unimplemented},
			fault.Throttled:    {Status: http.StatusTooManyRequests, Code: codes.ResourceExhausted},
		} {
			s.collector.Feel(mood)
			err := s.logs().Take(s.Context(), events(1, 2))
			if !fault.Is(err, code) || s.refused != 0 || strings.Contains(err.Error(), "s3cret") {
				s.Errorf("%s: %v, %d refused", code, err, s.refused)
			}
		}
	})
}

// Without a collector there is an error soon, and without the secret nothing is sent.
func TestWithoutACollector(t *testing.T) {
	both(t, func(s *sender) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.Fatal(err)
		}
		s.options.Endpoint = "http://" + l.Addr().String()
		if err := l.Close(); err != nil {
			s.Fatal(err)
		}
		if err := s.logs().Take(s.Context(), events(1, 1)); err == nil || fault.Is(err, fault.Invalid) {
			s.Errorf("no one is there: %v", err)
		}
		s.options.Endpoint = s.collector.HTTP
		gone, err := secret.File("/nowhere/token")
		if err != nil {
			s.Fatal(err)
		}
		s.options.Headers = []secret.Named{{Name: "Authorization", Secret: gone}}
		if err := s.logs().Take(s.Context(), events(1, 1)); !fault.Is(err, fault.NotFound) ||
			len(s.collector.Logs()) != 0 {
			s.Errorf("without its secret: %v, %d came", err, len(s.collector.Logs()))
		}
	})
}

// TLS is spoken where the endpoint says so, and whom to trust is as configured.
func TestACollectorBehindTLS(t *testing.T) {
	t.Parallel()
	took := make(chan string, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		took <- r.URL.Path
	}))
	t.Cleanup(server.Close)
	o := otlp.Options{Endpoint: server.URL + "/otlp", Identity: post.Identity{Name: "test", Timeout: 5 * time.Second}}
	if err := otlp.NewLogs(o, nil).Take(t.Context(), events(1, 1)); !fault.Is(err, fault.Permanent) {
		t.Errorf("a stranger's certificate: %v", err)
	}
	o.CA = filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(o.CA, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := otlp.NewLogs(o, nil).Take(t.Context(), events(1, 1)); err != nil {
		t.Fatal(err)
	}
	if path := <-took; path != "/otlp/v1/logs" {
		t.Errorf("it went to %s", path)
	}
}

// Nothing in the environment leads the logs elsewhere.
func TestTheEnvironmentSaysNothing(t *testing.T) {
	c := collector.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-other=1")
	o := otlp.Options{Endpoint: c.HTTP, Identity: post.Identity{Timeout: 5 * time.Second}}
	if err := otlp.NewLogs(o, nil).Take(t.Context(), events(1, 1)); err != nil {
		t.Fatal(err)
	}
	if head := c.Heads()[0]; head["X-Other"] != "" {
		t.Errorf("the headers are %v", head)
	}
}

// What was known before is not sent, and what follows from it is.
func TestARestartSendsTheRestOfATrace(t *testing.T) {
	both(t, func(s *sender) {
		all := incident(1)
		for i := range all[:4] {
			all[i].Known = true
		}
		if err := s.traces().Take(s.Context(), all); err != nil {
			s.Fatal(err)
		}
		spans := s.collector.Spans()
		if len(spans) != 2 || spans[0].GetName() != "repair" || spans[1].GetName() != "incident" {
			s.Errorf("the spans are %v", spans)
		}
	})
}

// Many spans go in parts.
func TestManySpans(t *testing.T) {
	both(t, func(s *sender) {
		if err := s.traces().Take(s.Context(), incident(1000)); err != nil {
			s.Fatal(err)
		}
		if n := len(s.collector.Spans()); n != 1003 || len(s.collector.Heads()) != 4 {
			s.Errorf("%d spans came in %d requests", n, len(s.collector.Heads()))
		}
	})
}
