package gate_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/token"
	"hale/internal/api/gate"
	"hale/internal/api/server"
	"hale/internal/core/fleet"
	"hale/internal/owner/published"
	"hale/internal/state"
	"hale/internal/state/memory"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// castle is a gate before a real server of the API, and a handler of the test's own below /test/.
type castle struct {
	t       *testing.T
	store   state.Store
	gate    *gate.Gate
	rules   gate.Rules
	url     string
	log     bytes.Buffer
	mu      sync.Mutex
	refused []string
	own     http.Handler
	ca      *authority
}

func open(t *testing.T, edit func(*castle)) *castle {
	t.Helper()
	c := &castle{t: t, store: memory.New(memory.Options{}).Open(nil), ca: newAuthority(t)}
	c.own = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := access.Of(r.Context())
		fmt.Fprintf(w, "%s %s", p.Kind, p.Name)
	})
	c.rules = gate.Rules{
		Place: gate.Place{Listen: "127.0.0.1:0"}, Requests: 1000, Strangers: 1000, Connections: 512, Streams: 64,
		Names: []string{"hale.example.org"},
	}
	if edit != nil {
		edit(c)
	}
	log := slog.New(slog.NewTextHandler(&c.log, nil))
	c.gate = gate.New(gate.Options{Store: c.store, Logger: log, Refused: c.note})
	c.gate.Take(&c.rules)
	s := server.New(server.Options{
		Version: "1", Server: "h", Store: c.store, Logger: log, Status: func() []published.Fleet { return nil },
	})
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { c.gate.Run(ctx) })
	all.Go(func() {
		err := s.Serve(ctx, server.Door{Listener: c.gate, Guard: func(next http.Handler) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/test/", c.own)
			mux.Handle("/", next)
			return c.gate.Guard(mux)
		}})
		if err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		all.Wait()
	})
	c.listens()
	return c
}

// listens waits until the gate does.
func (c *castle) listens() {
	c.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(10 * time.Second); ; {
		if at, ok := c.gate.Addr().(*net.TCPAddr); ok && at.Port != 0 {
			scheme := "http"
			if c.rules.Place.Certificate != "" {
				scheme = "https"
			}
			c.url = scheme + "://" + at.String()
			return
		}
		select {
		case <-tick.C:
		case <-end:
			c.t.Fatal("the gate does not listen")
		}
	}
}

func (c *castle) note(_ context.Context, p access.Principal, operation string, problem api.Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = append(c.refused, fmt.Sprint(p.From, " ", p.Name, " ", operation, " ", problem.Code, " ", problem.Detail))
}

func (c *castle) token(role access.Role, fleets ...fleet.Name) string {
	c.t.Helper()
	root := access.Principal{Kind: access.BySocket, Persons: []string{"root"}, Grants: []access.Grant{{Role: access.Admin}}}
	text, _, err := token.Make(c.t.Context(), c.store, root, token.Wish{
		Name: "t", Person: fmt.Sprint("bo", time.Now().UnixNano()), For: time.Hour,
		Grants: []access.Grant{{Role: role, Fleets: fleets}},
	}, time.Now())
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// answered is an answer without its body.
type answered struct {
	StatusCode int
	Header     http.Header
}

// ask sends a request and returns the answer with its body.
func (c *castle) ask(client *http.Client, method, path string, edit func(*http.Request)) (answered, string) {
	c.t.Helper()
	q, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if edit != nil {
		edit(q)
	}
	resp, err := client.Do(q)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answered{resp.StatusCode, resp.Header}, string(body)
}

// client is one of its own, with the certificate, if one is given.
func (c *castle) client(shows ...tls.Certificate) *http.Client {
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: c.ca.pool, Certificates: shows, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}
	c.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport: transport, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func bearer(text string) func(*http.Request) {
	return func(q *http.Request) { q.Header.Set("Authorization", "Bearer "+text) }
}

func TestWithoutACredentialNothingIsAnswered(t *testing.T) {
	t.Parallel()
	c := open(t, nil)
	for _, path := range []string{"/v1/status", "/v1/orders", "/debug/pprof/", "/", "/v1/nothing"} {
		resp, body := c.ask(c.client(), http.MethodGet, path, nil)
		var p api.Problem
		if err := json.Unmarshal([]byte(body), &p); err != nil || p.Code != api.CodeUnauthenticated || p.Instance == "" ||
			resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
		if said := resp.Header.Get("WWW-Authenticate"); said != `Bearer realm="hale"` {
			t.Errorf("%s: it asks for %q", path, said)
		}
	}
	for _, path := range []string{"/openapi.json"} {
		if resp, _ := c.ask(c.client(), http.MethodGet, path, nil); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

func TestATokenLetsItsBearerIn(t *testing.T) {
	t.Parallel()
	c := open(t, nil)
	text := c.token(access.Viewer)
	if _, body := c.ask(c.client(), http.MethodGet, "/test/", bearer(text)); !strings.HasPrefix(body, "token bo") {
		t.Errorf("%s", body)
	}
	if resp, body := c.ask(c.client(), http.MethodGet, "/v1/status", bearer(text)); resp.StatusCode != http.StatusOK {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	listed, err := token.List(t.Context(), c.store)
	if err != nil || time.Since(listed[0].Used) > time.Hour {
		t.Errorf("its use is noted as %+v, %v", listed, err)
	}
	last := "a"
	if strings.HasSuffix(text, last) {
		last = "b"
	}
	for name, edit := range map[string]func(*http.Request){
		"another":            bearer(text[:len(text)-1] + last),
		"one too many":       func(q *http.Request) { q.Header["Authorization"] = []string{"Bearer " + text, "Bearer x"} },
		"by another scheme":  func(q *http.Request) { q.Header.Set("Authorization", "Basic "+text) },
		"in the address":     func(q *http.Request) { q.URL.RawQuery = "access_token=" + text },
		"in a cookie":        func(q *http.Request) { q.AddCookie(&http.Cookie{Name: "__Host-hale", Value: text}) },
		"with nothing":       func(q *http.Request) { q.Header.Set("Authorization", "") },
		"without its secret": bearer("hale_" + listed[0].ID + "_"),
		"as kept":            bearer("hale_" + listed[0].ID + "_" + listed[0].Hash),
	} {
		resp, body := c.ask(c.client(), http.MethodGet, "/test/", edit)
		if resp.StatusCode != http.StatusUnauthorized || strings.Contains(body, listed[0].ID) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
	if _, err := token.Revoke(t.Context(), c.store, listed[0].ID); err != nil {
		t.Fatal(err)
	}
	resp, _ := c.ask(c.client(), http.MethodGet, "/test/", bearer(text))
	if said := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != http.StatusUnauthorized ||
		!strings.Contains(said, "invalid_token") {
		t.Errorf("revoked: %d, %s", resp.StatusCode, said)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := strings.Join(c.refused, "\n") + c.log.String(); strings.Contains(all, text) ||
		!strings.Contains(all, token.ErrUnknown.Error()) || !strings.Contains(all, "127.0.0.1") {
		t.Errorf("it is noted: %s", all)
	}
}

func TestAPageFromElsewhereReachesNothing(t *testing.T) {
	t.Parallel()
	c := open(t, nil)
	text := c.token(access.Admin)
	for name, c2 := range map[string]struct {
		edit   func(*http.Request)
		method string
		want   int
	}{
		"a form on another site":    {func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "cross-site") }, "POST", 403},
		"a page of a sister site":   {func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "same-site") }, "POST", 403},
		"an old browser":            {func(q *http.Request) { q.Header.Set("Origin", "https://evil.example") }, "POST", 403},
		"a page without an origin":  {func(q *http.Request) { q.Header.Set("Origin", "null") }, "DELETE", 403},
		"hale's own page":           {func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "same-origin") }, "POST", 200},
		"no browser":                {func(*http.Request) {}, "POST", 200},
		"a foreign name":            {func(q *http.Request) { q.Host = "evil.example" }, "GET", 421},
		"a foreign name with a dot": {func(q *http.Request) { q.Host = "evil.example." }, "GET", 421},
		"a name like hale's":        {func(q *http.Request) { q.Host = "hale.example.org.evil.example" }, "GET", 421},
		"no name":                   {func(q *http.Request) { q.Host = ":80" }, "GET", 421},
		"hale's name":               {func(q *http.Request) { q.Host = "HALE.example.org:7117" }, "GET", 200},
		"this machine":              {func(q *http.Request) { q.Host = "localhost:7117" }, "GET", 200},
		"an address":                {func(q *http.Request) { q.Host = "[::1]:7117" }, "GET", 200},
	} {
		resp, body := c.ask(c.client(), c2.method, "/test/", func(q *http.Request) { bearer(text)(q); c2.edit(q) })
		if resp.StatusCode != c2.want {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
}

func TestPathsHaveOneMeaning(t *testing.T) {
	t.Parallel()
	c := open(t, nil)
	text := c.token(access.Viewer)
	for _, path := range []string{
		"//v1/status", "/v1//status", "/v1/./status", "/test/../debug/pprof/", "/v1/%2e%2e/debug/pprof/", "/v1/status\\",
		"/test/%2E%2E/v1/state", "/v1/status%00", "/v1/status%0d%0aX:%20y", "/test/..", "*",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", path, text)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
		conn.Close()
	}
}

// TestHeadersCarryNothingFurther: what a caller writes into headers ends the connection, or comes to nothing.
func TestHeadersCarryNothingFurther(t *testing.T) {
	t.Parallel()
	c := open(t, nil)
	text := c.token(access.Viewer)
	for name, lines := range map[string]string{
		"two hosts":         "Host: localhost\r\nHost: evil.example\r\n",
		"a broken line":     "Host: localhost\r\nX-A: b\r\n c: d\r\n",
		"a NUL":             "Host: localhost\r\nX-A: b\x00c\r\n",
		"two lengths":       "Host: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
		"length and chunks": "Host: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked, x\r\n",
		"a huge one":        "Host: localhost\r\nX-A: " + strings.Repeat("a", 100<<10) + "\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET /v1/state HTTP/1.1\r\nAuthorization: Bearer "+text+"\r\n"+lines+"\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil {
			if resp.Body.Close(); resp.StatusCode < 400 {
				t.Errorf("%s: %d", name, resp.StatusCode)
			}
		}
		conn.Close()
	}
	resp, _ := c.ask(c.client(), http.MethodGet, "/test/", func(q *http.Request) {
		bearer(text)(q)
		q.Header.Set("X-Request-Id", "evil")
		q.Header.Set("X-Forwarded-For", "203.0.113.9")
		q.Header.Set("X-Forwarded-User", "root")
	})
	if resp.Header.Get("X-Request-Id") == "evil" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v", resp.Header)
	}
}

// TestABodyIsBounded in bytes, whether it says so before or not, and in time.
func TestABodyIsBounded(t *testing.T) {
	t.Parallel()
	c := open(t, nil)
	text := c.token(access.Admin)
	send := func(body io.Reader, length int64) (*http.Response, error) {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/v1/orders", body)
		if err != nil {
			t.Fatal(err)
		}
		bearer(text)(q)
		q.Header.Set("Content-Type", "application/json")
		q.ContentLength = length
		return c.client().Do(q)
	}
	for name, length := range map[string]int64{"said": 100 << 20, "not said": -1} {
		resp, err := send(io.LimitReader(zeros{}, 100<<20), length)
		if err == nil && resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
	begun := time.Now()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/orders HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: "+
		"application/json\r\nContent-Length: 1000\r\n\r\n", text)
	drip := time.NewTicker(time.Second)
	defer drip.Stop()
	status := make(chan int, 1)
	go func() {
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	for {
		select {
		case got := <-status:
			if took := time.Since(begun); took > 20*time.Second || got != http.StatusRequestTimeout {
				t.Errorf("after %v it is answered %d", took, got)
			}
			return
		case <-drip.C:
			_, _ = conn.Write([]byte(" ")) // one byte a second
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestACallerComesAsOftenAsItMay(t *testing.T) {
	t.Parallel()
	c := open(t, func(c *castle) { c.rules.Requests = 5 })
	one, other := c.token(access.Viewer), c.token(access.Viewer)
	client := c.client()
	throttled := 0
	for range 30 {
		resp, _ := c.ask(client, http.MethodGet, "/test/", bearer(one))
		if resp.StatusCode == http.StatusTooManyRequests {
			throttled++
			if resp.Header.Get("Retry-After") == "" {
				t.Error("it is not said for how long")
			}
		}
	}
	if throttled < 10 || throttled > 20 {
		t.Errorf("%d of 30 are refused", throttled)
	}
	if resp, _ := c.ask(client, http.MethodGet, "/test/", bearer(other)); resp.StatusCode != http.StatusOK {
		t.Errorf("the other one: %d", resp.StatusCode)
	}
}

// TestStrangersDoNotKeepOutWhoIsKnown, although they come from the same address, as from behind a proxy.
func TestStrangersDoNotKeepOutWhoIsKnown(t *testing.T) {
	t.Parallel()
	c := open(t, func(c *castle) { c.rules.Strangers = 1 })
	text, client := c.token(access.Viewer), c.client()
	if resp, _ := c.ask(client, http.MethodGet, "/test/", bearer(text)); resp.StatusCode != http.StatusOK {
		t.Fatal(resp.StatusCode)
	}
	last := 0
	for i := range 20 {
		resp, _ := c.ask(client, http.MethodGet, "/test/", bearer(fmt.Sprint("guess", i)))
		last = resp.StatusCode
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("who guesses is answered %d", last)
	}
	if resp, _ := c.ask(client, http.MethodGet, "/test/", bearer(text)); resp.StatusCode != http.StatusOK {
		t.Errorf("who is known is answered %d", resp.StatusCode)
	}
}

// TestTenThousandIdleStreams: as many are let in as may be; who is known otherwise is served all the while.
func TestTenThousandIdleStreams(t *testing.T) {
	t.Parallel()
	inside := make(chan struct{}, 10_000)
	c := open(t, func(c *castle) {
		c.ca.serves(t, &c.rules.Place)
		plain := c.own
		c.own = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/test/stream" {
				plain.ServeHTTP(w, r)
				return
			}
			_ = http.NewResponseController(w).Flush()
			inside <- struct{}{}
			<-r.Context().Done()
		})
		c.rules.Requests, c.rules.Streams = 100_000, 200
	})
	text, other := c.token(access.Viewer), c.token(access.Viewer)
	client := c.client()
	client.Timeout = 0
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	refused := 0
	var streams []io.Closer
	for range 10_000 {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/test/stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		bearer(text)(q)
		resp, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusTooManyRequests {
			refused++
			resp.Body.Close()
			continue
		}
		streams = append(streams, resp.Body)
	}
	if len(streams) != 100 || len(inside) != 100 || refused != 9900 {
		t.Errorf("%d streams are open, %d are refused", len(streams), refused)
	}
	if resp, _ := c.ask(c.client(), http.MethodGet, "/test/", bearer(other)); resp.StatusCode != http.StatusOK {
		t.Errorf("another caller is answered %d", resp.StatusCode)
	}
	leave()
	for _, s := range streams {
		s.Close()
	}
}

func TestStrangersDoNotTakeAllConnections(t *testing.T) {
	t.Parallel()
	c := open(t, nil)
	at := strings.TrimPrefix(c.url, "http://")
	stranger := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: 5 * time.Second}
	held := 0
	for range 300 {
		conn, err := stranger.DialContext(t.Context(), "tcp", at)
		if err != nil {
			continue
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		if _, err := conn.Read(make([]byte, 1)); os.IsTimeout(err) {
			held++
		}
	}
	if held == 0 || held > 20 {
		t.Errorf("a stranger holds %d connections", held)
	}
	if resp, _ := c.ask(c.client(), http.MethodGet, "/test/", bearer(c.token(access.Viewer))); resp.StatusCode != http.StatusOK {
		t.Errorf("who is known is answered %d", resp.StatusCode)
	}
}

func TestAMachineIsKnownByItsCertificate(t *testing.T) {
	t.Parallel()
	const ci = "spiffe://example.org/ci"
	c := open(t, func(c *castle) {
		c.ca.serves(t, &c.rules.Place)
		c.rules.Place.ClientCA = c.ca.file
		c.rules.Certificates = map[string]access.Grant{ci: {Role: access.Operator, Fleets: []fleet.Name{"web"}}}
	})
	if _, body := c.ask(c.client(c.ca.signs(t, ci, time.Hour)), http.MethodGet, "/test/", nil); body != "certificate "+ci {
		t.Errorf("%s", body)
	}
	stranger := c.ca.signs(t, "spiffe://example.org/other", time.Hour)
	resp, body := c.ask(c.client(stranger), http.MethodGet, "/v1/status", nil)
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("one without a role: %d %s", resp.StatusCode, body)
	}
	for name, shown := range map[string]tls.Certificate{
		"signed by another": newAuthority(t).signs(t, ci, time.Hour), "over": c.ca.signs(t, ci, -time.Minute),
	} {
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/test/", nil)
		resp, err := c.client(shown).Do(q)
		if err == nil {
			resp.Body.Close()
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	if resp, _ := c.ask(c.client(), http.MethodGet, "/test/", nil); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("none: %d", resp.StatusCode)
	}
}

func TestTheCertificatesNamesAreHales(t *testing.T) {
	t.Parallel()
	c := open(t, func(c *castle) {
		c.ca.serves(t, &c.rules.Place)
		c.rules.Names = nil
	})
	text := c.token(access.Viewer)
	for name, want := range map[string]int{
		"hale.example.net": 200, "HALE.example.net:7117": 200, "evil.example": 421, "127.0.0.1": 200, "x.example.net": 421,
	} {
		resp, _ := c.ask(c.client(), http.MethodGet, "/test/", func(q *http.Request) { bearer(text)(q); q.Host = name })
		if resp.StatusCode != want {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
}

// TestTheGateMoves: to another port, to nowhere, and back, while hale goes on.
func TestTheGateMoves(t *testing.T) {
	t.Parallel()
	c := open(t, nil)
	text, client := c.token(access.Viewer), c.client()
	if resp, _ := c.ask(client, http.MethodGet, "/test/", bearer(text)); resp.StatusCode != http.StatusOK {
		t.Fatal(resp.StatusCode)
	}
	c.gate.Take(nil)
	// who is connected already is served no more
	if resp, err := client.Get(c.url + "/test/"); err == nil {
		if resp.Body.Close(); resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("nowhere it answers %d", resp.StatusCode)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.rules.Place.Listen = taken.Addr().String()
	c.gate.Take(&c.rules)
	await(t, "it says that it cannot listen", func() bool { _, err := c.gate.Trouble(); return err != nil })
	taken.Close()
	await(t, "it listens", func() bool {
		_, err := c.gate.Trouble()
		return err == nil && c.gate.Addr().String() == c.rules.Place.Listen
	})
	c.listens()
	if resp, _ := c.ask(c.client(), http.MethodGet, "/test/", bearer(text)); resp.StatusCode != http.StatusOK {
		t.Errorf("%d", resp.StatusCode)
	}
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(20 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// authority signs certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
	file string
	dir  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, dir: t.TempDir(), pool: x509.NewCertPool()}
	a.cert = a.issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, time.Hour, key)
	a.pool.AddCert(a.cert)
	a.file = write(t, a.dir, "ca.pem", "CERTIFICATE", a.cert.Raw)
	return a
}

func (a *authority) issue(t *testing.T, c *x509.Certificate, lasts time.Duration, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	var err error
	if c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		t.Fatal(err)
	}
	c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(lasts)
	parent := a.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	out, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// signs returns a client's certificate with the URI.
func (a *authority) signs(t *testing.T, uri string, lasts time.Duration) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	name, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	c := a.issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "root"}, URIs: []*url.URL{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, lasts, key)
	return tls.Certificate{Certificate: [][]byte{c.Raw}, PrivateKey: key}
}

// serves has the place speak TLS by a certificate of hale.example.net and of this machine.
func (a *authority) serves(t *testing.T, place *gate.Place) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := a.issue(t, &x509.Certificate{
		DNSNames: []string{"hale.example.net"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, time.Hour, key)
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	place.Certificate = write(t, a.dir, "cert.pem", "CERTIFICATE", c.Raw)
	place.Key = write(t, a.dir, "key.pem", "EC PRIVATE KEY", der)
}

func write(t *testing.T, dir, name, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
