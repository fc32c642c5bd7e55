package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/app"
	"hale/internal/config"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"pgregory.net/rapid"
)

const conversing = `
providers: {lab: {type: simulated, boot: 50ms, poll: 500ms, hosts: [{name: h1}, {name: h2}]}}
notify: {ops: {command: {command: [/bin/true]}}}
fleets:
  web:
    provider: lab
    size: 3
    checks: {page: {http: {}, every: 500ms, timeout: 200ms, down_after: 2, up_after: 1}}
  db:
    provider: lab
    size: 2
    checks: {alive: {ping: {}, every: 500ms, timeout: 200ms, down_after: 2, up_after: 1}}
`

// conversation is how long the API is asked at random: FOR of make fuzz-api.
func conversation(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("HALE_FUZZ_API")
	switch {
	case text == "" && testing.Short():
		return 2 * time.Second
	case text == "":
		return 20 * time.Second
	}
	span, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("HALE_FUZZ_API: %v", err)
	}
	return span
}

// A whole hale is sent requests that are made from its own document, good ones and spoiled ones. None ends in a defect,
// hangs, or is answered otherwise than the document says; and what the document forbids is refused.
func TestTheAPIKeepsToItsDocument(t *testing.T) {
	t.Parallel()
	h := newHouse(t, conversing)
	h.startLoadable()
	h.awaitUp()
	c := &converser{t: t, client: h.onSocket()}
	c.read()
	end := time.Now().Add(conversation(t))
	request := rapid.Custom(c.draw)
	seed := int(time.Now().UnixNano() % 1e9)
	t.Logf("seed %d", seed)
	n := 0
	for ; time.Now().Before(end) && c.wrong < mostWrong; n++ {
		c.send(request.Example(seed + n))
	}
	var lines []string
	for k, n := range c.seen {
		lines = append(lines, fmt.Sprintf("%s x%d", k, n))
	}
	slices.Sort(lines)
	t.Logf("%d requests: %s", n, strings.Join(lines, ", "))
	for _, op := range c.operations {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(c.seen)), func(k string) bool {
			return strings.HasPrefix(k, op.op.OperationID+" ")
		}) && !testing.Short() && !t.Failed() {
			t.Errorf("%s was never asked", op.op.OperationID)
		}
	}
}

// startLoadable starts a controller that can read its configuration again.
func (h *house) startLoadable() {
	h.t.Helper()
	o := h.options()
	o.Load = func() (*config.Config, error) { return h.config, nil }
	a, err := app.New(o)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(h.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }() // ends with ctx; the cleanup waits for it
	h.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			h.t.Errorf("the controller did not end well: %v", err)
		}
	})
}

// awaitUp waits until the API answers.
func (h *house) awaitUp() {
	h.t.Helper()
	client := h.onSocket()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://hale/v1/fleets", http.NoBody)
		if err != nil {
			h.t.Fatal(err)
		}
		said, err := client.Do(q)
		if err == nil {
			said.Body.Close()
			if said.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ctx.Done():
			h.t.Fatalf("the API does not answer: %v", err)
		case <-tick.C:
		}
	}
}

// onSocket returns a client of the controller's socket.
func (h *house) onSocket() *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", h.socket)
	}}
	h.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// converser makes requests from the document, and holds the answers against it.
type converser struct {
	t          *testing.T
	client     *http.Client
	doc        *openapi3.T
	operations []documented
	seen       map[string]int
	wrong      int
}

// mostWrong is after how many wrong answers enough is known.
const mostWrong = 5

// fault notes a wrong answer.
func (c *converser) fault(format string, args ...any) {
	c.t.Helper()
	c.wrong++
	c.t.Errorf(format, args...)
}

type documented struct {
	method, path string
	op           *openapi3.Operation
}

// read reads the document, and checks that it is one.
func (c *converser) read() {
	c.t.Helper()
	said, err := c.client.Get("http://hale/openapi.json")
	if err != nil {
		c.t.Fatal(err)
	}
	defer said.Body.Close()
	text, err := io.ReadAll(said.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.doc, err = openapi3.NewLoader().LoadFromData(text); err != nil {
		c.t.Fatal(err)
	}
	if err := c.doc.Validate(c.t.Context()); err != nil {
		c.t.Errorf("the document: %v", err)
	}
	c.seen = map[string]int{}
	for path, item := range c.doc.Paths.Map() {
		for method, op := range item.Operations() {
			c.operations = append(c.operations, documented{method, path, op})
		}
	}
	slices.SortFunc(c.operations, func(a, b documented) int { return strings.Compare(a.op.OperationID, b.op.OperationID) })
}

// asked is a request, and what of it the document forbids.
type asked struct {
	documented
	target  string
	header  http.Header
	body    []byte
	spoiled string
}

// draw makes a request.
func (c *converser) draw(t *rapid.T) asked {
	a := asked{documented: rapid.SampledFrom(c.operations).Draw(t, "operation"), header: http.Header{}}
	path, query := a.path, url.Values{}
	spoil := rapid.SampledFrom([]string{"", "", "param", "body", "unknown"}).Draw(t, "spoil")
	for _, ref := range a.op.Parameters {
		p, s := ref.Value, ref.Value.Schema.Value
		if !p.Required && rapid.Bool().Draw(t, "leave out "+p.Name) {
			continue
		}
		text := words(value(t, s, p.Name))
		if p.In == "path" && rapid.IntRange(0, 2).Draw(t, "a known one") > 0 {
			text = rapid.SampledFrom(known(path)).Draw(t, p.Name)
		}
		if spoil == "param" && p.In == "query" && (s.Type.Is("integer") || s.Type.Is("boolean") || len(s.Enum) > 0) {
			text, a.spoiled = rapid.SampledFrom([]string{"-7", "x", "99999999999999999999", "\x00", "'"}).Draw(t, "bad"), p.Name
		}
		switch p.In {
		case "query":
			query.Set(p.Name, text)
		case "header":
			a.header.Set(p.Name, strings.Map(func(r rune) rune {
				if r < ' ' || r > '~' {
					return '?'
				}
				return r
			}, text))
		case "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(text))
		}
	}
	if spoil == "unknown" && len(a.op.Parameters) > 0 {
		query.Set("no-such-parameter", "1")
		a.spoiled = "an unknown parameter"
	}
	if a.op.RequestBody != nil {
		a.body, a.spoiled = body(t, a.op.RequestBody.Value.Content.Get("application/json").Schema.Value, spoil, a.spoiled)
		a.header.Set("Content-Type", "application/json")
	}
	if a.target = path; len(query) > 0 {
		a.target += "?" + query.Encode()
	}
	return a
}

func body(t *rapid.T, s *openapi3.Schema, spoil, spoiled string) ([]byte, string) {
	v := value(t, s, "body")
	if m, ok := v.(map[string]any); ok && spoil == "body" {
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			m["no such field"], spoiled = 1, "an unknown field"
		case 1:
			if len(s.Required) > 0 {
				delete(m, s.Required[0])
				spoiled = "without " + s.Required[0]
			}
		case 2:
			return []byte(`{"`), "half a body"
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data, spoiled
}

// words is a value as a parameter has it.
func words(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		if len(v) == 0 {
			return ""
		}
		return words(v[0])
	}
	return fmt.Sprint(v)
}

// known are the names of what the path is about.
func known(path string) []string {
	switch {
	case strings.Contains(path, "/fleets/"):
		return []string{"web", "db"}
	case strings.Contains(path, "/machines/"):
		return []string{"web-1", "web-2", "db-1"}
	case strings.Contains(path, "/incidents/"):
		return []string{"web-1/1", "web-2/1", "db-1/1"}
	}
	return names
}

// names are what there is, or nearly.
var names = []string{
	"web", "db", "web-1", "web-2", "db-1", "db-9", "wbe", "host:h1", "h1", "lab", "ops", "web-1/1", "web/p1", "now", "0", "1",
	"brake-on", "brake-off", "hold", "release", "heal", "retry", "scale", "delete", "confirm", "crash", "hang",
}

// value makes something that fits the schema.
func value(t *rapid.T, s *openapi3.Schema, at string) any {
	switch {
	case len(s.Enum) > 0:
		return rapid.SampledFrom(s.Enum).Draw(t, at)
	case s.Type.Is("integer"):
		low, high := int64(0), int64(5) // of machines, there are not too many
		if s.Min != nil {
			low = int64(*s.Min)
		}
		if s.Max != nil && strings.HasSuffix(at, "limit") {
			high = int64(*s.Max)
		}
		return rapid.Int64Range(low, max(low, high)).Draw(t, at)
	case s.Type.Is("number"):
		return rapid.Float64Range(0, 9).Draw(t, at)
	case s.Type.Is("boolean"):
		return rapid.Bool().Draw(t, at)
	case s.Type.Includes("array"):
		out := []any{}
		for range rapid.IntRange(int(s.MinItems), int(s.MinItems)+2).Draw(t, at) {
			out = append(out, value(t, s.Items.Value, at+"[]"))
		}
		return out
	case s.Type.Is("object"):
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, name) || rapid.Bool().Draw(t, "with "+name) {
				out[name] = value(t, s.Properties[name].Value, at+"."+name)
			}
		}
		return out
	case s.Format == "date-time":
		return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, at), 0).UTC().Format(time.RFC3339)
	case strings.Contains(s.Pattern, "ns|us"):
		return rapid.SampledFrom([]string{"1ms", "2s", "1h30m0s", "0"}).Draw(t, at)
	}
	return text(t, s, at)
}

func text(t *rapid.T, s *openapi3.Schema, at string) string {
	most := 40
	if s.MaxLength != nil {
		most = min(most, int(*s.MaxLength))
	}
	fits := func(x string) bool {
		return len(x) <= most && len(x) >= int(s.MinLength) && s.VisitJSONString(x) == nil
	}
	if known := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !fits(n) }); len(known) > 0 &&
		rapid.IntRange(0, 3).Draw(t, at) > 0 {
		return rapid.SampledFrom(known).Draw(t, at)
	}
	if s.Pattern != "" {
		return rapid.StringMatching(s.Pattern).Filter(fits).Draw(t, at)
	}
	letters := []rune("web-123/\\'\"<>%;é\u202e \n\x00.")
	return rapid.StringOfN(rapid.RuneFrom(letters), int(s.MinLength), most, most).Draw(t, at)
}

// answerWithin bounds an answer that is no stream.
const answerWithin = 20 * time.Second

// send sends the request, and holds the answer against the document.
func (c *converser) send(a asked) {
	c.t.Helper()
	within := answerWithin
	if strings.Contains(a.target, "follow=true") || strings.Contains(a.target, "watch=true") ||
		strings.Contains(a.target, "/probes") {
		within = 200 * time.Millisecond // a stream ends by its reader
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
	defer cancel()
	at := fmt.Sprintf("%s %s %v %s", a.method, a.target, a.header, a.body)
	q, err := http.NewRequestWithContext(ctx, a.method, "http://hale"+a.target, bytes.NewReader(a.body))
	if err != nil {
		return // no client would send it
	}
	q.Header = a.header
	said, err := c.client.Do(q)
	if err != nil {
		c.fault("%s: %v", at, err)
		return
	}
	defer said.Body.Close()
	text, err := io.ReadAll(said.Body)
	if err != nil && within == answerWithin {
		c.fault("%s: %v", at, err)
		return
	}
	c.seen[fmt.Sprintf("%s %d", a.op.OperationID, said.StatusCode)]++
	c.hold(a, q, said, text)
}

func (c *converser) hold(a asked, q *http.Request, said *http.Response, text []byte) {
	c.t.Helper()
	at := fmt.Sprintf("%s %s %v %s -> %d %s", a.method, a.target, a.header, a.body, said.StatusCode, text)
	media, _, _ := strings.Cut(said.Header.Get("Content-Type"), ";")
	tells := a.op.OperationID == "ready" || a.op.OperationID == "alive" // which tell by their status
	switch {
	case said.StatusCode >= http.StatusInternalServerError && !tells:
		c.fault("it broke: %s", at)
	case a.spoiled != "" && said.StatusCode < http.StatusBadRequest:
		c.fault("what the document forbids (%s) was taken: %s", a.spoiled, at)
	case said.StatusCode >= http.StatusBadRequest && media != "application/problem+json" && !tells:
		c.fault("a refusal is no problem but %s: %s", media, at)
	case said.StatusCode == http.StatusMethodNotAllowed, said.StatusCode == http.StatusNotFound && a.op.Responses.Status(404) == nil:
		return // the path that was made of the names is another one
	case media == "application/json" || media == "application/problem+json":
		route := &routers.Route{Spec: c.doc, Path: a.path, PathItem: c.doc.Paths.Value(a.path), Method: a.method,
			Operation: a.op}
		in := &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{Request: q, Route: route}, Status: said.StatusCode,
			Header: said.Header, Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
		}
		in.SetBodyBytes(text)
		if err := openapi3filter.ValidateResponse(c.t.Context(), in); err != nil {
			c.fault("the answer is not what the document says: %v: %s", err, at)
		}
	}
}
