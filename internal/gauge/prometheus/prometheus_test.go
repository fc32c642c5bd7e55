package prometheus_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/gauge/gaugetest"
	"hale/internal/gauge/prometheus"
	live "hale/internal/testbed/prometheus"
)

// exporter is what a real Prometheus scrapes, each second.
type exporter struct {
	server live.Server

	mu        sync.Mutex
	said      map[int][]string // of each bench: its lines
	revisions map[int]int
}

// export starts an exporter and the Prometheus that scrapes it.
func export(t *testing.T) *exporter {
	t.Helper()
	e := &exporter{said: map[int][]string{}, revisions: map[int]int{}}
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	e.server = live.Start(t, live.Job{Name: "exam", Address: strings.TrimPrefix(s.URL, "http://")})
	return e
}

// ServeHTTP implements http.Handler.
func (e *exporter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fmt.Fprintln(w, "# TYPE exam gauge")
	for _, lines := range e.said {
		for _, line := range lines {
			fmt.Fprintln(w, line)
		}
	}
	fmt.Fprintln(w, "# TYPE exam_revision gauge")
	for bench, n := range e.revisions {
		fmt.Fprintf(w, "exam_revision{bench=\"%d\"} %d\n", bench, n)
	}
}

// bench returns the number of another one.
func (e *exporter) bench() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.revisions)
	e.revisions[n] = 0
	return n
}

// say exports these lines, and waits until they were scraped.
func (e *exporter) say(t *testing.T, bench int, lines ...string) {
	t.Helper()
	e.mu.Lock()
	e.said[bench] = lines
	e.revisions[bench]++
	revision := strconv.Itoa(e.revisions[bench])
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		got, err := e.server.Query(ctx, fmt.Sprintf("exam_revision{bench=\"%d\"}", bench))
		if err == nil && len(got) == 1 && got[0].Value[1] == revision {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("it was not scraped: %v, %v", got, err)
		}
	}
}

const token = "s3cret-of-prometheus"

// front stands before a Prometheus, asks for a token, and misbehaves.
type front struct {
	*httptest.Server
	behind http.Handler

	mu     sync.Mutex
	fault  gaugetest.Fault
	answer func(w http.ResponseWriter, q *http.Request) // instead of the one behind
}

func before(t *testing.T, server string) *front {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{behind: httputil.NewSingleHostReverseProxy(to)}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	f.mu.Lock()
	fault, answer := f.fault, f.answer
	f.mu.Unlock()
	switch {
	case q.Header.Get("Authorization") != "Bearer "+token || q.Header.Get("User-Agent") != "hale/7":
		http.Error(w, "it is not "+token, http.StatusUnauthorized)
	case answer != nil:
		answer(w, q)
	case fault == gaugetest.Hangs:
		_, _ = io.Copy(io.Discard, q.Body) // only then the end of the connection is noticed
		<-q.Context().Done()
	case fault == gaugetest.Nonsense:
		_, _ = io.WriteString(w, "<html>"+token+"</html>")
	case fault == gaugetest.Endless:
		for q.Context().Err() == nil {
			if _, err := io.WriteString(w, `{"status":"success","x":[`+strings.Repeat("1,", 1<<16)); err != nil {
				return
			}
		}
	default:
		f.behind.ServeHTTP(w, q)
	}
}

// break breaks it.
func (f *front) breaks(how gaugetest.Fault) {
	f.mu.Lock()
	f.fault = how
	f.mu.Unlock()
	if how == gaugetest.Away {
		f.Close()
	}
}

// answers has it answer so, by itself.
func (f *front) answers(status int, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// metric asks the front for the query.
func metric(t *testing.T, f *front, query string) policy.Metric {
	t.Helper()
	kept := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(kept, []byte("Bearer "+token), 0o600); err != nil {
		t.Fatal(err)
	}
	return policy.Metric{
		Name: "exam", Kind: policy.MetricPrometheus, Every: 15 * time.Second, Late: 30 * time.Second,
		Prometheus: policy.PrometheusQuery{
			URL: f.URL, Query: query, Label: "who",
			Headers: []policy.Header{{Name: "Authorization", Secret: fleet.Secret{File: kept}}},
		},
	}
}

func reader(t *testing.T, m policy.Metric) gauge.Reader {
	t.Helper()
	s := &prometheus.Servers{Version: "7"}
	t.Cleanup(s.Close)
	return s.Reader(m)
}

func TestARealPrometheusPassesTheExam(t *testing.T) {
	t.Parallel()
	e := export(t)
	gaugetest.Run(t, func(t *testing.T) gaugetest.Bench {
		t.Helper()
		bench, f := e.bench(), before(t, e.server.URL)
		return gaugetest.Bench{
			Reader: reader(t, metric(t, f, fmt.Sprintf("exam{bench=\"%d\"}", bench))), Secret: token,
			Says: func(all ...gaugetest.Named) {
				var lines []string
				for i, v := range all {
					who := ""
					if v.Name != "" {
						who = fmt.Sprintf(",who=%q", v.Name)
					}
					lines = append(lines, fmt.Sprintf("exam{bench=\"%d\",n=\"%d\"%s} %v", bench, i, who, v.Value))
				}
				e.say(t, bench, lines...)
			},
			Break: f.breaks,
		}
	})
}

// A server repeats a series for five minutes whose exporter says itself how old its numbers are. It is told to leave
// out what is older than a metric may be late: newer servers heed that.
func TestAServerIsToldWhatIsTooOld(t *testing.T) {
	t.Parallel()
	e := export(t)
	bench, f := e.bench(), before(t, e.server.URL)
	e.say(t, bench, "exam 7")
	heard := make(chan url.Values, 1)
	f.answer = func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		form, _ := url.ParseQuery(string(body))
		heard <- form
		q.Body = io.NopCloser(strings.NewReader(string(body)))
		f.behind.ServeHTTP(w, q)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
	defer cancel()
	r, err := reader(t, metric(t, f, "exam")).Read(ctx, nil)
	if err != nil || len(r.Whole) != 1 || r.Whole[0] != 7 {
		t.Errorf("%v, %v", r, err)
	}
	form := <-heard
	if form.Get("lookback_delta") != "30s" || form.Get("timeout") != "9s" || form.Get("query") != "exam" {
		t.Errorf("it hears %v", form)
	}
}

// What is no answer to a question as it should be is told apart by a real server.
func TestARealPrometheusRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	e := export(t)
	bench, f := e.bench(), before(t, e.server.URL)
	e.say(t, bench, `exam{bench="0",a="1"} 1`, `exam{bench="0",a="2"} 2`)
	for query, want := range map[string]float64{
		"scalar(sum(exam))": 3, "sum(exam)": 3, "vector(1)": 1, "42": 42,
	} {
		r, err := reader(t, metric(t, f, query)).Read(t.Context(), nil)
		if err != nil || len(r.Whole) != 1 || r.Whole[0] != want {
			t.Errorf("%s is %v, %v", query, r, err)
		}
	}
	for query, kind := range map[string]fault.Kind{
		"sum(":                  fault.Invalid, // 400
		"exam * on(bench) exam": fault.Invalid, // 422: many to many
		"exam[1m]":              fault.Invalid, // it is no instant
		`"text"`:                fault.Transient,
		"none":                  fault.NotFound,
	} {
		if r, err := reader(t, metric(t, f, query)).Read(t.Context(), nil); !fault.Is(err, kind) {
			t.Errorf("%s is %v, %v", query, r, err)
		}
	}
}

const one = `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[%d,"7"]}]}%s}`

// What a server answers that is not well, or lies, is never a value.
func TestAServerThatIsNotWellSaysNothing(t *testing.T) {
	t.Parallel()
	now := time.Now().Unix()
	well := fmt.Sprintf(one, now, "")
	failed := func(kind string) string { return fmt.Sprintf(`{"status":"error","errorType":%q,"error":"x"}`, kind) }
	const remark, warning = `,"infos":["PromQL info: not a counter"]`, `,"warnings":["a store does not answer"]`
	for name, c := range map[string]struct {
		status int
		body   string
		kind   fault.Kind
	}{
		"it is well":            {http.StatusOK, well, ""},
		"it has a remark":       {http.StatusOK, fmt.Sprintf(one, now, remark), ""},
		"overloaded":            {http.StatusServiceUnavailable, "overloaded", fault.Transient},
		"its own timeout":       {http.StatusServiceUnavailable, failed("timeout"), fault.Transient},
		"broken":                {http.StatusInternalServerError, failed("internal"), fault.Transient},
		"it cannot execute":     {http.StatusUnprocessableEntity, failed("execution"), fault.Invalid},
		"an error that is 200":  {http.StatusOK, failed("execution"), fault.Invalid},
		"forbidden":             {http.StatusForbidden, "no", fault.Unauthorised},
		"a part is missing":     {http.StatusOK, fmt.Sprintf(one, now, warning), fault.Transient},
		"its clock is late":     {http.StatusOK, fmt.Sprintf(one, now-3600, ""), fault.Transient},
		"its clock is early":    {http.StatusOK, fmt.Sprintf(one, now+3600, ""), fault.Transient},
		"a word for a number":   {http.StatusOK, strings.Replace(well, `"7"`, `"many"`, 1), fault.Transient},
		"half an answer":        {http.StatusOK, well[:40], fault.Transient},
		"nothing":               {http.StatusOK, "", fault.Transient},
		"it leads elsewhere":    {http.StatusFound, "", fault.Permanent},
		"there is no such page": {http.StatusNotFound, "404 page not found", fault.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := before(t, "http://127.0.0.1:1")
			f.answers(c.status, c.body)
			r, err := reader(t, metric(t, f, "exam")).Read(t.Context(), nil)
			if got := fault.KindOf(err); got != c.kind || err == nil && (len(r.Whole) != 1 || r.Whole[0] != 7) {
				t.Errorf("%v, %v, want %q", r, err, c.kind)
			}
		})
	}
}

// L14: what is shown to a server stands in no error, also when the server repeats it.
func TestL14AWrongTokenIsNotRepeated(t *testing.T) {
	t.Parallel()
	f := before(t, "http://127.0.0.1:1")
	m := metric(t, f, "exam")
	m.Prometheus.Headers = []policy.Header{{Name: "Authorization", Value: "Bearer other"}}
	_, err := reader(t, m).Read(t.Context(), nil)
	if !fault.Is(err, fault.Unauthorised) || strings.Contains(err.Error(), token) {
		t.Errorf("%v", err)
	}
	m.Prometheus.Headers[0].Secret = fleet.Secret{File: filepath.Join(t.TempDir(), "none")}
	if _, err = reader(t, m).Read(t.Context(), nil); !fault.Is(err, fault.Permanent) {
		t.Errorf("%v", err)
	}
}

// A server of TLS is asked only when its certificate is by an authority that is named.
func TestACertificateIsChecked(t *testing.T) {
	t.Parallel()
	f := before(t, "http://127.0.0.1:1")
	f.answers(http.StatusOK, fmt.Sprintf(one, time.Now().Unix(), ""))
	s := httptest.NewTLSServer(f)
	t.Cleanup(s.Close)
	m := metric(t, f, "exam")
	m.Prometheus.URL = s.URL
	if r, err := reader(t, m).Read(t.Context(), nil); !fault.Is(err, fault.Permanent) {
		t.Errorf("by no one: %v, %v", r, err)
	}
	m.Prometheus.CA = filepath.Join(t.TempDir(), "ca.pem")
	if r, err := reader(t, m).Read(t.Context(), nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("no file: %v, %v", r, err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(m.Prometheus.CA, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := reader(t, m).Read(t.Context(), nil); err != nil || len(r.Whole) != 1 {
		t.Errorf("%v, %v", r, err)
	}
}

// A server that hangs is asked by a few at once, and the others end by their own time, with no connection for each.
func TestAServerThatHangsIsNotFlooded(t *testing.T) {
	t.Parallel()
	f := before(t, "http://127.0.0.1:1")
	f.breaks(gaugetest.Hangs)
	var mu sync.Mutex
	conns := map[string]bool{}
	f.mu.Lock()
	f.answer = func(_ http.ResponseWriter, q *http.Request) {
		mu.Lock()
		conns[q.RemoteAddr] = true
		mu.Unlock()
		_, _ = io.Copy(io.Discard, q.Body)
		<-q.Context().Done()
	}
	f.mu.Unlock()
	early := 0 // those of a time in which none has ended yet
	time.AfterFunc(time.Second/2, func() {
		mu.Lock()
		defer mu.Unlock()
		early = len(conns)
	})
	r := reader(t, metric(t, f, "exam"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if _, err := r.Read(ctx, nil); !fault.Is(err, fault.Transient) {
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
	mu.Lock()
	defer mu.Unlock()
	if early > 32 {
		t.Errorf("%d connections at once", early)
	}
}
