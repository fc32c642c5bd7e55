package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/collector"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/codes"
)

const token = "s3cret-token-of-the-collector"

// streaming is hale with a simulated fleet, whose traces and journal go to receivers that outlive it.
type streaming struct {
	*testing.T
	dir       string
	client    *api.Client
	collector *collector.Collector
	events    events
	hale      *exec.Cmd
	ended     chan struct{}
}

// events are the CloudEvents that came.
type events struct {
	mu   sync.Mutex
	down bool
	got  []event.Event
}

func (e *events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	all, err := cehttp.NewEventsFromHTTPRequest(r)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil || e.down {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	e.got = append(e.got, all...)
}

func (e *events) turn(down bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = down
}

func stream(t *testing.T) *streaming {
	dir, err := os.MkdirTemp("", "hale-streams-") //nolint:usetesting // a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	s := &streaming{T: t, dir: dir, client: api.Dial(filepath.Join(dir, "sock")), collector: collector.Start(t)}
	t.Cleanup(func() {
		s.client.Close()
		s.must(os.RemoveAll(dir))
	})
	receiver := httptest.NewServer(&s.events)
	t.Cleanup(receiver.Close)
	s.must(os.WriteFile(s.path("token"), []byte(token), 0o600))
	s.must(os.WriteFile(s.path("hale.yaml"), fmt.Appendf(nil, `
providers: {dream: {type: simulated, boot: 1s, latency: 700ms}}
fleets:
  web:
    provider: dream
    size: 3
    checks: {alive: {ping: {}, every: 200ms, timeout: 150ms}}
telemetry:
  traces: {otlp: {endpoint: %q, headers: {Authorization: {file: token}}}}
  journal:
    archive: {file: {path: journal.jsonl}}
    siem: {cloudevents: {url: %q, headers: {X-Token: {file: token}}}}
    collector: {otlp: {endpoint: %q, protocol: grpc, headers: {Authorization: {file: token}}}}
`, s.collector.HTTP, receiver.URL, s.collector.GRPC), 0o600))
	return s
}

func (s *streaming) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *streaming) path(name string) string { return filepath.Join(s.dir, name) }

func (s *streaming) start() {
	program, err := exec.LookPath("hale")
	s.must(err)
	log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	s.must(err)
	defer log.Close()
	cmd := exec.Command(program, "run", s.path("hale.yaml"), "--data-dir", s.path("data"), "--socket", s.path("sock"),
		"--log-format", "json")
	cmd.Stdout, cmd.Stderr = log, log
	s.must(cmd.Start())
	ended := make(chan struct{})
	go func() { // ends with the process
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	s.hale, s.ended = cmd, ended
	s.Cleanup(func() {
		_ = cmd.Process.Kill() // an error says that it has ended
		<-ended
	})
}

// kill ends hale as a power cut would.
func (s *streaming) kill() {
	s.must(s.hale.Process.Kill())
	<-s.ended
}

// await waits until it holds.
func (s *streaming) await(what string, holds func() bool) {
	s.Helper()
	limit := time.NewTimer(2 * patience)
	defer limit.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-limit.C:
			log, _ := os.ReadFile(s.path("log"))
			s.Fatalf("not in time: %s\n%s", what, log[max(0, len(log)-4000):])
		}
	}
}

func (s *streaming) healthy() bool {
	is, err := s.client.Status(s.Context())
	return err == nil && count(is, func(f api.Fleet) int { return f.Healthy }) == 3
}

// journal is what hale itself says that it has written down.
func (s *streaming) journal() []api.Event {
	s.Helper()
	var out []api.Event
	for e, err := range s.client.Events(s.Context(), api.EventsQuery{}) {
		s.must(err)
		out = append(out, e)
	}
	return out
}

// written are the lines of the file, each id where it came first.
func (s *streaming) written() []line {
	data, _ := os.ReadFile(s.path("journal.jsonl"))
	var out []line
	for _, text := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var l line
		if len(text) > 0 {
			s.must(json.Unmarshal(text, &l))
			out = append(out, l)
		}
	}
	return firsts(out, func(l line) string { return l.ID })
}

type line struct {
	ID    string `json:"id"`
	Trace string `json:"trace"`
	Lost  uint64 `json:"lost"`
	api.Event
}

// firsts are those with an id that none before has.
func firsts[T any](all []T, id func(T) string) []T {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(all), func(v T) bool {
		was := seen[id(v)]
		seen[id(v)] = true
		return was
	})
}

// spans are those of the incident's trace, each once: one that came twice is the same one.
func (s *streaming) spans(incident string) map[string]*trace.Span {
	s.Helper()
	out, of := map[string]*trace.Span{}, ""
	for _, span := range s.collector.Spans() {
		if collector.Attributes(span.GetAttributes())["hale.incident"] == incident {
			of = string(span.GetTraceId())
		}
	}
	for _, span := range s.collector.Spans() {
		if string(span.GetTraceId()) != of || of == "" {
			continue
		}
		id := string(span.GetSpanId())
		if was := out[id]; was != nil && was.String() != span.String() {
			s.Errorf("a span came twice, and differs:\n%s\n%s", was, span)
		}
		out[id] = span
	}
	return out
}

func named(spans map[string]*trace.Span, name string) (out []*trace.Span) {
	for _, s := range spans {
		if s.GetName() == name || strings.HasPrefix(s.GetName(), name+" ") {
			out = append(out, s)
		}
	}
	return out
}

// An incident is one trace, with every call to the provider in it, although hale is killed in the middle of the repair
// and the collector is away meanwhile. Its id is in the logs of both processes, and in the journal as it streams out.
func TestOneTraceAcrossARestart(t *testing.T) {
	t.Parallel()
	s := stream(t)
	s.start()
	s.await("all are healthy", s.healthy)
	s.collector.Feel(collector.Mood{Status: http.StatusServiceUnavailable, Code: codes.Unavailable})
	_, err := s.client.Break(t.Context(), api.BreakOrder{Machine: "web-2", Way: "crash"})
	s.must(err)
	s.await("a call is under way", func() bool {
		return slices.ContainsFunc(s.written(), func(l line) bool { return l.Kind == "intent" && l.Incident != "" })
	})
	s.kill()
	s.start()
	s.await("the incident is over", func() bool {
		return slices.ContainsFunc(s.written(), func(l line) bool { return l.Kind == "incident-closed" })
	})
	s.collector.Feel(collector.Mood{})
	s.await("its trace is whole", func() bool { return len(named(s.spans("web-2/1"), "incident")) == 1 })

	spans := s.spans("web-2/1")
	root := named(spans, "incident")[0]
	if len(root.GetParentSpanId()) != 0 || len(named(spans, "repair")) == 0 {
		t.Errorf("the root is %s, with %d repairs", root, len(named(spans, "repair")))
	}
	for _, span := range spans {
		if p := span.GetParentSpanId(); len(p) != 0 && spans[string(p)] == nil {
			t.Errorf("%s lies beneath a span that never came", span.GetName())
		}
	}
	id, calls := collector.ID(root.GetTraceId()), map[string]bool{}
	for _, call := range named(spans, "call") {
		calls[collector.Attributes(call.GetAttributes())["hale.call"]] = true
	}
	intents := 0
	for _, l := range s.written() {
		if l.Incident != "web-2/1" {
			continue
		}
		if l.Trace != id {
			t.Errorf("the record %s is of trace %q, want %q", l.ID, l.Trace, id)
		}
		if l.Kind == "intent" {
			intents++
		}
	}
	if len(calls) != intents || intents == 0 {
		t.Errorf("%d calls were decided, and %d are in the trace", intents, len(calls))
	}
	s.wantLogged(id)
	s.wantNoSecret()
}

// wantLogged wants the lines about the incident in the logs of both processes to bear its ids.
func (s *streaming) wantLogged(id string) {
	s.Helper()
	data, err := os.ReadFile(s.path("log"))
	s.must(err)
	process, in := 0, map[int]int{}
	for _, text := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var l struct{ Msg, Fleet, Machine, Incident, Repair, Trace, Kind string }
		s.must(json.Unmarshal(text, &l))
		if l.Msg == "hale is up" {
			process++
		}
		if l.Incident != "web-2/1" {
			continue
		}
		if in[process]++; l.Trace != id || l.Fleet != "web" || l.Machine != "web-2" || l.Kind == "intent" && l.Repair == "" {
			s.Errorf("a line of the log bears other ids: %s", text)
		}
	}
	if in[1] == 0 || in[2] == 0 {
		s.Errorf("of the incident there are %d lines in the first log, and %d in the second", in[1], in[2])
	}
}

// wantNoSecret wants the secret, which was sent, to be nowhere else.
func (s *streaming) wantNoSecret() {
	s.Helper()
	for _, head := range s.collector.Heads() {
		if head["Authorization"] != token {
			s.Errorf("the headers are %v", head)
		}
	}
	for _, span := range s.collector.Spans() {
		if strings.Contains(span.String(), token) {
			s.Errorf("the secret is in a span: %s", span)
		}
	}
	for _, r := range s.collector.Logs() {
		if strings.Contains(r.String(), token) {
			s.Errorf("the secret is in a log: %s", r)
		}
	}
	for _, name := range []string{"log", "journal.jsonl"} {
		if data, err := os.ReadFile(s.path(name)); err != nil || bytes.Contains(data, []byte(token)) {
			s.Errorf("the secret is in %s, %v", name, err)
		}
	}
}

// However often hale is killed, and whatever receiver is away, nothing of the journal is lost to any outlet, and its
// order is kept.
func TestStreamsOutliveKills(t *testing.T) {
	t.Parallel()
	s := stream(t)
	seed := uint64(time.Now().UnixNano())
	dice := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	s.start()
	s.await("all are healthy", s.healthy)
	for n := range 4 {
		s.events.turn(n%2 == 0)
		s.await("a machine fails", func() bool {
			_, err := s.client.Break(t.Context(), api.BreakOrder{Machine: fmt.Sprintf("web-%d", n%3+1), Way: "crash"})
			return err == nil
		})
		select {
		case <-s.ended:
			t.Fatal("hale ended by itself")
		case <-time.After(time.Duration(dice.IntN(3000)) * time.Millisecond):
		}
		s.kill()
		s.start()
	}
	s.events.turn(false)
	s.await("all are healthy", s.healthy)
	var want []string
	s.await("each outlet has the whole journal", func() bool {
		want = nil
		for _, e := range s.journal() {
			want = append(want, fmt.Sprint(e.Seq))
		}
		return slices.Equal(seqsOf(s.written(), func(l line) string { return fmt.Sprint(l.Seq) }), want) &&
			len(s.cloudEvents()) >= len(want) && len(s.logged()) >= len(want)
	})
	if got := s.cloudEvents(); !slices.Equal(got, want) {
		t.Errorf("as CloudEvents came %v, want %v", got, want)
	}
	if got := s.logged(); !slices.Equal(got, want) {
		t.Errorf("as logs came %v, want %v", got, want)
	}
	for _, l := range s.written() {
		if l.Lost > 0 {
			t.Errorf("a gap is told, and nothing was lost: %+v", l)
		}
	}
}

func seqsOf[T any](all []T, seq func(T) string) []string {
	var out []string
	for _, v := range all {
		out = append(out, seq(v))
	}
	return out
}

// cloudEvents are the numbers of the records that came as such, each once.
func (s *streaming) cloudEvents() []string {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	return seqsOf(firsts(s.events.got, func(e event.Event) string { return e.ID() }), func(e event.Event) string {
		return strings.Split(e.ID(), "/")[2]
	})
}

// logged are the numbers of the records that came as logs, each once.
func (s *streaming) logged() []string {
	var ids []string
	for _, r := range s.collector.Logs() {
		ids = append(ids, collector.Attributes(r.GetAttributes())["hale.event.id"])
	}
	return seqsOf(firsts(ids, func(id string) string { return id }), func(id string) string {
		return strings.Split(id, "/")[2]
	})
}
