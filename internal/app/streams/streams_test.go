package streams_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/adapters"
	"hale/internal/app/streams"
	"hale/internal/config"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/defect"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/journal"
	"hale/internal/state/memory"
	"hale/internal/testbed/collector"
)

// house is a store with a journal, of which streams go out.
type house struct {
	*testing.T
	store   state.Store
	dir     string
	streams *streams.Streams
	end     func()
	said    said
}

// said is a log.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text.String(), text)
}

func open(t *testing.T, telemetry string) *house {
	t.Helper()
	h := &house{T: t, store: memory.New(memory.Options{}).Open(nil), dir: t.TempDir()}
	h.commit(state.Put(beliefs.InstallationKey, []byte("ours")))
	h.begin(telemetry)
	return h
}

// begin has the streams go out, until end is called or the test ends.
func (h *house) begin(telemetry string) {
	h.Helper()
	h.streams = streams.New(h.config(telemetry), streams.Options{Store: h.store, Version: "v1", Server: "s1",
		Defects: defect.NewRegister(slog.New(slog.DiscardHandler)), Log: slog.New(slog.NewTextHandler(&h.said, nil))})
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.Context()))
	var wg sync.WaitGroup
	runs := h.streams
	wg.Go(func() { runs.Run(ctx) })
	h.end = func() {
		cancel()
		wg.Wait()
	}
	h.Cleanup(h.end)
}

func (h *house) config(telemetry string) *config.Config {
	h.Helper()
	c, err := config.Parse(filepath.Join(h.dir, "hale.yaml"), []byte("providers: {dream: {type: simulated}}\n"+
		"fleets: {web: {provider: dream, size: 1, checks: {alive: {ping: {}}}}}\n"+telemetry), adapters.All())
	if err != nil {
		h.Fatal(err)
	}
	return c
}

func (h *house) commit(writes ...state.Write) {
	h.Helper()
	if _, err := h.store.Commit(context.Background(), state.Txn{Then: writes}); err != nil {
		h.Fatal(err)
	}
}

// records puts them into the journal of web.
func (h *house) records(all ...record.Record) {
	h.Helper()
	b, err := journal.Open(h.Context(), h.store, "web")
	if err != nil {
		h.Fatal(err)
	}
	for i := range all {
		all[i].Fleet, all[i].Machine = "web", "web-1"
		if all[i].At.IsZero() {
			all[i].At = time.Unix(1_800_000_000, 0)
		}
	}
	writes, err := b.Writes(all, journal.Keep{})
	if err != nil {
		h.Fatal(err)
	}
	h.commit(writes...)
}

// await waits until it holds.
func (h *house) await(what string, holds func() bool) {
	h.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-limit.C:
			h.Fatalf("not in time: %s", what)
		}
	}
}

// lines are those of the file.
func (h *house) lines(name string) []map[string]any {
	h.Helper()
	data, _ := os.ReadFile(filepath.Join(h.dir, name)) // it may not be there yet
	var out []map[string]any
	for _, l := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		one := map[string]any{}
		if len(l) > 0 && json.Unmarshal(l, &one) == nil {
			out = append(out, one)
		}
	}
	return out
}

func TestARecordLeavesAsTheAPIHasIt(t *testing.T) {
	t.Parallel()
	h := open(t, "telemetry: {journal: {archive: {file: {path: a.jsonl}}}}\n")
	h.records(record.Record{Kind: record.IncidentOpen, Incident: "web-1/1", Cause: belief.CauseChecks})
	h.await("the line is there", func() bool { return len(h.lines("a.jsonl")) == 1 })
	l := h.lines("a.jsonl")[0]
	if l["id"] != "ours/web/1/1800000000000000000" || l["installation"] != "ours" || l["kind"] != "incident-opened" ||
		l["seq"] != 1.0 || l["text"] == "" || len(l["trace"].(string)) != 32 || l["incident"] != "web-1/1" {
		t.Errorf("it is %v", l)
	}
	h.await("it is counted", func() bool { return h.streams.Metrics()[0].Taken == 1 })
	if is := h.streams.Status(); len(is) != 1 || is[0].Name != "journal archive" {
		t.Errorf("the streams stand as %+v", is)
	}
}

// What the journal let go of while no one took it is a line of its own, in its place.
func TestAGapIsALine(t *testing.T) {
	t.Parallel()
	const archive = "telemetry: {journal: {archive: {file: {path: a.jsonl}}}}\n"
	h := open(t, archive)
	h.records(record.Record{Kind: record.Order})
	h.await("it follows", func() bool { return h.streams.Metrics()[0].Taken == 1 })
	h.end()
	h.records(record.Record{Kind: record.Order}, record.Record{Kind: record.Order},
		record.Record{Kind: record.Order})
	prefix := journal.Prefix("web")
	h.commit(state.DeleteRange(prefix+"0", prefix+"00000000000000000004"))
	h.begin(archive)
	h.await("it goes on", func() bool { return len(h.lines("a.jsonl")) >= 3 })
	l := h.lines("a.jsonl")
	if g := l[1]; g["kind"] != "gap" || g["lost"] != 2.0 || g["after"] != 1.0 || g["before"] != 4.0 ||
		g["id"] != "ours/web/gap/1-3" || !strings.Contains(g["text"].(string), "2 records of web are missing") {
		t.Errorf("the gap is %v", g)
	}
	h.await("it is counted", func() bool { return h.streams.Metrics()[0].Lost == 2 })
	if l[2]["seq"] != 4.0 || !h.said.has("records=2") {
		t.Errorf("behind it comes %v; %+v", l[2], h.streams.Metrics())
	}
}

// In another configuration, a stream that stays the same goes on undisturbed, others end, and begin.
func TestAnotherConfiguration(t *testing.T) {
	t.Parallel()
	h := open(t, "telemetry: {journal: {one: {file: {path: one.jsonl}}, two: {file: {path: two.jsonl}}}}\n")
	h.records(record.Record{Kind: record.Order})
	both := func(n int) func() bool {
		return func() bool { return len(h.lines("one.jsonl")) == n && len(h.lines("two.jsonl")) == n }
	}
	h.await("both have it", both(1))
	h.streams.Take(h.config("telemetry: {journal: {one: {file: {path: one.jsonl}}, three: {file: {path: three.jsonl}}}}\n"))
	h.records(record.Record{Kind: record.Order})
	h.await("one and three have it", func() bool {
		return len(h.lines("one.jsonl")) == 2 && len(h.lines("three.jsonl")) == 2
	})
	if n := len(h.lines("two.jsonl")); n != 1 {
		t.Errorf("what is not wanted any more has %d", n)
	}
	h.await("one, which did not begin anew, counts two", func() bool { return h.streams.Metrics()[0].Taken == 2 })
}

// A receiver that is down, and then back, is said to be so, and no other stream waits for it.
func TestNoStreamWaitsForAnother(t *testing.T) {
	t.Parallel()
	c := collector.Start(t)
	c.Feel(collector.Mood{Status: 503})
	h := open(t, "telemetry:\n  traces: {otlp: {endpoint: \""+c.HTTP+"\"}}\n"+
		"  journal: {archive: {file: {path: a.jsonl}}, away: {otlp: {endpoint: \""+c.HTTP+"\"}}}\n")
	h.await("the streams have begun", func() bool { return len(h.lines("a.jsonl")) == 0 && h.begun() })
	h.records(record.Record{Kind: record.IncidentOpen, Incident: "web-1/1", Began: time.Unix(1_799_999_990, 0)},
		record.Record{Kind: record.IncidentClosed, Reason: fleet.ReasonRecovered, Incident: "web-1/1"})
	h.await("the file has it", func() bool { return len(h.lines("a.jsonl")) == 2 })
	h.await("the other is said not to take it", func() bool {
		for _, s := range h.streams.Metrics() {
			if s.Name == "journal away" {
				return !s.Takes
			}
		}
		return false
	})
	c.Feel(collector.Mood{})
	h.await("it is back", func() bool { return len(c.Logs()) == 2 && len(c.Spans()) == 2 })
}

// begun reports whether the stream of traces, which begins with what is new, has begun.
func (h *house) begun() bool {
	_, err := h.store.Get(h.Context(), "streams/traces/")
	return err == nil
}

// A receiver that hangs holds up neither another stream nor the end of hale, and gets what it missed at the next start.
func TestAReceiverThatHangsHoldsUpNoEnd(t *testing.T) {
	t.Parallel()
	c := collector.Start(t)
	c.Feel(collector.Mood{Hangs: true})
	telemetry := "telemetry: {journal: {archive: {file: {path: a.jsonl}}, away: {otlp: {endpoint: \"" + c.HTTP +
		"\"}, timeout: 1m}, far: {otlp: {endpoint: \"" + c.GRPC + "\", protocol: grpc}, timeout: 1m}}}\n"
	h := open(t, telemetry)
	h.records(record.Record{Kind: record.Order}, record.Record{Kind: record.Order})
	h.await("the file has it", func() bool { return len(h.lines("a.jsonl")) == 2 })
	told := time.Now()
	h.end()
	if took := time.Since(told); took > 5*time.Second {
		t.Errorf("it ended after %v", took)
	}
	c.Feel(collector.Mood{})
	h.begin(telemetry)
	h.await("both have it", func() bool { return len(c.Logs()) >= 4 })
}
