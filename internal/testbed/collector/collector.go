// Package collector receives OpenTelemetry's protocol in tests, over real HTTP and gRPC, with or without TLS, and keeps
// what came. It takes everything, unless it is told to refuse, to hang or to reject a part.
package collector

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Collector is one that receives.
type Collector struct {
	// HTTP and GRPC are the addresses of its two doors.
	HTTP, GRPC string

	mu    sync.Mutex
	mood  Mood
	spans []*trace.Span
	logs  []*logs.LogRecord
	heads []map[string]string
	from  []map[string]string // of each request, what sent it
	came  chan struct{}
}

// Mood is how it answers. The zero value takes everything.
type Mood struct {
	Status int // of HTTP, and Code of gRPC: what it refuses everything with; 0: it does not
	Code   codes.Code
	Hangs  bool
	// Rejects is how many of each request's it says that it rejects.
	Rejects int64
	After   string // Retry-After
}

// Start has one receive until the test ends.
func Start(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{came: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		serve(c, w, r, &coltrace.ExportTraceServiceRequest{}, c.takeTraces)
	})
	mux.HandleFunc("POST /v1/logs", func(w http.ResponseWriter, r *http.Request) {
		serve(c, w, r, &collogs.ExportLogsServiceRequest{}, c.takeLogs)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	c.HTTP = s.URL

	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	coltrace.RegisterTraceServiceServer(g, traces{c: c})
	collogs.RegisterLogsServiceServer(g, records{c: c})
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }() // ends with Stop
	t.Cleanup(func() {
		g.Stop()
		// A test that ends before Serve began meets ErrServerStopped, which is an end as good as nil.
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	c.GRPC = "http://" + l.Addr().String()
	return c
}

// Feel sets its mood.
func (c *Collector) Feel(m Mood) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mood = m
}

func (c *Collector) feels() Mood {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mood
}

// serve answers one request over HTTP.
func serve[Q, A proto.Message](c *Collector, w http.ResponseWriter, r *http.Request, q Q,
	take func(Q, map[string]string) A) {
	body, err := io.ReadAll(r.Body) // all of it, so that it is seen when the other side goes
	mood := c.feels()
	if mood.Hangs {
		<-r.Context().Done()
		return
	}
	if mood.Status != 0 {
		if mood.After != "" {
			w.Header().Set("Retry-After", mood.After)
		}
		http.Error(w, "not so", mood.Status)
		return
	}
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, q) != nil {
		http.Error(w, "it is no request of the protocol", http.StatusBadRequest)
		return
	}
	heads := map[string]string{}
	for name := range r.Header {
		heads[name] = r.Header.Get(name)
	}
	data, err := proto.Marshal(take(q, heads))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(data) // who asked may have gone
}

type traces struct {
	coltrace.UnimplementedTraceServiceServer
	c *Collector
}

func (t traces) Export(ctx context.Context,
	q *coltrace.ExportTraceServiceRequest) (*coltrace.ExportTraceServiceResponse,
	error) {
	heads, err := t.c.answer(ctx)
	if err != nil {
		return nil, err
	}
	return t.c.takeTraces(q, heads), nil
}

type records struct {
	collogs.UnimplementedLogsServiceServer
	c *Collector
}

func (r records) Export(ctx context.Context, q *collogs.ExportLogsServiceRequest) (*collogs.ExportLogsServiceResponse,
	error) {
	heads, err := r.c.answer(ctx)
	if err != nil {
		return nil, err
	}
	return r.c.takeLogs(q, heads), nil
}

// answer is what it says over gRPC before it takes anything.
func (c *Collector) answer(ctx context.Context) (map[string]string, error) {
	mood := c.feels()
	if mood.Hangs {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if mood.Code != codes.OK {
		return nil, status.Error(mood.Code, "not so")
	}
	heads := map[string]string{}
	in, _ := metadata.FromIncomingContext(ctx)
	for name, values := range in {
		heads[http.CanonicalHeaderKey(name)] = values[0]
	}
	return heads, nil
}

func (c *Collector) takeTraces(q *coltrace.ExportTraceServiceRequest,
	heads map[string]string) *coltrace.ExportTraceServiceResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range q.GetResourceSpans() {
		c.from = append(c.from, Attributes(r.GetResource().GetAttributes()))
		for _, s := range r.GetScopeSpans() {
			c.spans = append(c.spans, s.GetSpans()...)
		}
	}
	c.took(heads)
	out := &coltrace.ExportTraceServiceResponse{}
	if c.mood.Rejects > 0 {
		out.PartialSuccess = &coltrace.ExportTracePartialSuccess{RejectedSpans: c.mood.Rejects, ErrorMessage: "too old"}
	}
	return out
}

func (c *Collector) takeLogs(q *collogs.ExportLogsServiceRequest,
	heads map[string]string) *collogs.ExportLogsServiceResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range q.GetResourceLogs() {
		c.from = append(c.from, Attributes(r.GetResource().GetAttributes()))
		for _, s := range r.GetScopeLogs() {
			c.logs = append(c.logs, s.GetLogRecords()...)
		}
	}
	c.took(heads)
	out := &collogs.ExportLogsServiceResponse{}
	if c.mood.Rejects > 0 {
		out.PartialSuccess = &collogs.ExportLogsPartialSuccess{RejectedLogRecords: c.mood.Rejects,
			ErrorMessage: "too old"}
	}
	return out
}

func (c *Collector) took(heads map[string]string) {
	c.heads = append(c.heads, heads)
	select {
	case c.came <- struct{}{}:
	default:
	}
}

// Spans are those that came, in the order in which they did.
func (c *Collector) Spans() []*trace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*trace.Span(nil), c.spans...)
}

// Logs are those that came, in the order in which they did.
func (c *Collector) Logs() []*logs.LogRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*logs.LogRecord(nil), c.logs...)
}

// Heads are the headers of the requests that it took.
func (c *Collector) Heads() []map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]map[string]string(nil), c.heads...)
}

// From says what sent the requests that it took.
func (c *Collector) From() []map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]map[string]string(nil), c.from...)
}

// Await waits until what came is as wanted, for so long at most, and reports whether it is.
func (c *Collector) Await(within time.Duration, wanted func() bool) bool {
	limit := time.NewTimer(within)
	defer limit.Stop()
	for !wanted() {
		select {
		case <-c.came:
		case <-limit.C:
			return wanted()
		}
	}
	return true
}

// Attributes are the texts among them, by key; of numbers and truths, that there are such.
func Attributes(all []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range all {
		if _, plain := a.GetValue().GetValue().(*common.AnyValue_StringValue); plain {
			out[a.GetKey()] = a.GetValue().GetStringValue()
		} else {
			out[a.GetKey()] = a.GetValue().String()
		}
	}
	return out
}

// ID writes the id of a trace or span as people do.
func ID(b []byte) string { return hex.EncodeToString(b) }
