package strict_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"hale/internal/strict"
)

// wire answers every request, and remembers where they went.
type wire struct {
	asked  []string
	answer func(q *http.Request) *http.Response
}

func (w *wire) RoundTrip(q *http.Request) (*http.Response, error) {
	w.asked = append(w.asked, q.URL.String())
	if w.answer != nil {
		return w.answer(q), nil
	}
	return says(http.StatusOK, "well"), nil
}

func says(status int, text string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}
}

func address(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// ask makes one request as a client of hale's does, and returns what it got of the answer.
func ask(ctx context.Context, t *testing.T, through http.RoundTripper, to string) (string, error) {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader("an order"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: through}).Do(q)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// refused checks what was refused, and whether the request had left.
func refused(t *testing.T, err error, sent bool, says string) {
	t.Helper()
	var r *strict.RefusedError
	if !errors.As(err, &r) || r.Sent != sent || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want it refused (sent: %v) with %q", err, sent, says)
	}
}

// TestOnlyTheConfiguredOriginIsAsked: wherever a link leads, the order and the password stay at home.
func TestOnlyTheConfiguredOriginIsAsked(t *testing.T) {
	t.Parallel()
	for to, well := range map[string]bool{
		"https://bmc.example.org/redfish":           true,
		"https://bmc.example.org:443/redfish":       true,
		"https://BMC.example.org//other/":           true, // a path, whatever it looks like
		"http://bmc.example.org/redfish":            false,
		"https://bmc.example.org:8443/redfish":      false,
		"https://bmc.example.org@10.0.0.6/redfish":  false,
		"https://root@bmc.example.org/redfish":      false,
		"https://bmc.example.org.example.com/":      false,
		"https://other/redfish":                     false,
		"https://nova.example.org:8774/v2.1":        true, // trusted later
		"https://nova.example.org/v2.1":             false,
		"https://bmc.example.orghttps://other/path": false,
	} {
		w := &wire{}
		s := strict.New(w, strict.Limits{Answer: 100}, address(t, "https://bmc.example.org"))
		s.Trust(address(t, "https://nova.example.org:8774/v2.1"))
		_, err := ask(t.Context(), t, s, to)
		switch {
		case well && err != nil:
			t.Errorf("%s: %v", to, err)
		case !well:
			refused(t, err, false, "refusing a foreign address")
			if len(w.asked) != 0 {
				t.Errorf("%s was asked", to)
			}
		}
	}
}

// TestRedirectsAreRefused: a redirect is an error of a request that left, and its address is named without what may be
// secret.
func TestRedirectsAreRefused(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		w := &wire{}
		w.answer = func(*http.Request) *http.Response {
			r := says(status, "")
			r.Header.Set("Location", "https://u:hush@elsewhere/hush?hush")
			return r
		}
		_, err := ask(t.Context(), t, strict.New(w, strict.Limits{Answer: 100}, address(t, "https://here")),
			"https://here/x")
		refused(t, err, true, `sends hale to "https://elsewhere" with a user`)
		if len(w.asked) != 1 || strings.Contains(err.Error(), "hush") {
			t.Errorf("%d: asked %q, %v", status, w.asked, err)
		}
	}
	w := &wire{answer: func(*http.Request) *http.Response { return says(300, "versions") }}
	if got, err := ask(t.Context(), t, strict.New(w, strict.Limits{Answer: 100}, address(t, "https://here")),
		"https://here/x"); got != "versions" || err != nil {
		t.Errorf("a choice that leads nowhere: %q, %v", got, err)
	}
}

// TestAnswersEnd at their limit, exactly, and their connection with them, so that the service cannot write on.
func TestAnswersEnd(t *testing.T) {
	t.Parallel()
	var wrote atomic.Int64
	chunk := make([]byte, 64<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for wrote.Load() < 600<<20 {
			n, err := w.Write(chunk)
			if wrote.Add(int64(n)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	s := strict.New(&http.Transport{DisableKeepAlives: true}, strict.Limits{Answer: 1 << 20}, address(t, server.URL))
	got, err := ask(t.Context(), t, s, server.URL)
	refused(t, err, true, "more than 1048576 bytes")
	server.Close() // waits for the answer's end
	if len(got) > 1<<20 || wrote.Load() > 64<<20 {
		t.Errorf("%d bytes were read of %d that were written", len(got), wrote.Load())
	}
	for n, well := range map[int]bool{99: true, 100: true, 101: false} {
		w := &wire{answer: func(*http.Request) *http.Response { return says(http.StatusOK, strings.Repeat("x", n)) }}
		if _, err := ask(t.Context(), t, strict.New(w, strict.Limits{Answer: 100}, address(t, "https://here")),
			"https://here/x"); (err == nil) != well {
			t.Errorf("%d bytes of 100: %v", n, err)
		}
	}
}

// TestOperationsEnd after so many requests, or bytes, all in all; the next one begins anew.
func TestOperationsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits strict.Limits
		sent   bool
		says   string
	}{
		"requests": {strict.Limits{Answer: 100, Requests: 3}, false, "more than 3 requests"},
		"bytes":    {strict.Limits{Answer: 100, Operation: 12}, true, "more than 12 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := strict.New(&wire{}, c.limits, address(t, "https://here"))
			for range 2 {
				ctx := strict.Operation(t.Context())
				for n := range 3 {
					if _, err := ask(ctx, t, s, fmt.Sprint("https://here/", n)); err != nil {
						t.Error(err)
					}
				}
				_, err := ask(ctx, t, s, "https://here/more")
				refused(t, err, c.sent, c.says)
			}
		})
	}
}
