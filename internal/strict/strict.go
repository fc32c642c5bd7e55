// Package strict is the way of hale's orders and passwords over HTTP: a http.RoundTripper that goes to the configured
// addresses and nowhere else. It promises that a request leaves only for an origin (scheme, user, host and port) that
// it was told to trust, wherever a service's answer would lead. A redirect is an error. It reads no answer beyond its
// limit, and one operation stays within its limits of requests and of bytes read. What it refuses is a RefusedError,
// which says whether the request had left.
//
// Where a configuration only names who is told, Reach keeps what is said away from hale's own server, its links and its
// cloud's metadata.
//
// It does not limit time, which the caller's context does, and knows nothing of what is asked or answered.
package strict

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// MaxHead bounds the headers of an answer, in bytes: for http.Transport's MaxResponseHeaderBytes.
const MaxHead = 256 << 10

// Limits are what a service may make hale take.
type Limits struct {
	Answer    int64 // bytes of one answer's body, unpacked
	Operation int64 // bytes of all answers of one operation; 0: only each one's own limit counts
	Requests  int64 // of one operation; 0: any number
}

// RefusedError is a request that was not sent, or an answer that is not taken.
type RefusedError struct {
	// Sent says that the request had left: what it ordered may have been done.
	Sent bool
	why  string
}

// Error implements error.
func (e *RefusedError) Error() string { return e.why }

func refuse(sent bool, format string, args ...any) error {
	return &RefusedError{Sent: sent, why: fmt.Sprintf(format, args...)}
}

// Transport is the round-tripper. Its methods may be called at the same time.
type Transport struct {
	through http.RoundTripper
	limits  Limits

	mu      sync.Mutex
	trusted map[string]bool // origins
}

// New makes a transport that goes through another one, to the origin of the configured address. What it does to
// answers holds for every service alike.
func New(through http.RoundTripper, limits Limits, configured *url.URL) *Transport {
	return &Transport{through: through, limits: limits, trusted: map[string]bool{origin(configured): true}}
}

// Trust adds the origin of an address, which the caller has from where it trusts.
func (t *Transport) Trust(u *url.URL) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trusted[origin(u)] = true
}

// origin is what must be the same: scheme, user, host and port.
func origin(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	user := ""
	if u.User != nil {
		user = u.User.String() + "@"
	}
	return scheme + "://" + user + strings.ToLower(u.Hostname()) + ":" + port
}

// Operation begins one: requests in the context, and the bytes of their answers, are counted together from here.
func Operation(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, &spent{}) }

type key struct{}

// spent is what an operation took so far.
type spent struct{ requests, bytes atomic.Int64 }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(q *http.Request) (*http.Response, error) {
	operation, _ := q.Context().Value(key{}).(*spent)
	if err := t.admit(q, operation); err != nil {
		if q.Body != nil {
			_ = q.Body.Close()
		}
		return nil, err
	}
	resp, err := t.through.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		_ = resp.Body.Close()
		return nil, refuse(true, "refusing redirect: it answers %d and sends hale to %s: write the address where it "+
			"leads, if you trust that",
			resp.StatusCode, place(resp.Header.Get("Location")))
	}
	resp.Body = &body{from: resp.Body, left: t.limits.Answer, limits: t.limits, operation: operation}
	return resp, nil
}

// CloseIdleConnections closes those of the transport behind, as http.Client's method of the name wants it.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.through.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// admit refuses what may not leave.
func (t *Transport) admit(q *http.Request, operation *spent) error {
	t.mu.Lock()
	known := t.trusted[origin(q.URL)]
	t.mu.Unlock()
	if !known {
		return refuse(false, "refusing a foreign address: the service leads to %s, which is not configured; hale "+
			"sends orders and passwords nowhere else",
			place(q.URL.String()))
	}
	if operation == nil || t.limits.Requests == 0 {
		return nil
	}
	if operation.requests.Add(1) > t.limits.Requests {
		return refuse(false, "refusing more than %d requests for one operation: does the service lead in a circle?",
			t.limits.Requests)
	}
	return nil
}

// place is the part of an address that may be repeated: no user, no path and no query, since these may be secret.
func place(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "what is no address"
	case u.Host == "":
		return "another path there"
	}
	where := fmt.Sprintf("%q", u.Scheme+"://"+u.Host)
	if u.User != nil {
		where += " with a user"
	}
	const longest = 200
	return where[:min(len(where), longest)]
}

// body is an answer's, up to its limit.
type body struct {
	from      io.ReadCloser
	left      int64 // of this answer
	limits    Limits
	operation *spent
	over      error
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.over != nil {
		return 0, b.over
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	switch {
	case b.left < 0:
		b.over = refuse(true, "refusing an answer of more than %d bytes", b.limits.Answer)
	case b.operation != nil && b.operation.bytes.Add(int64(n)) > b.limits.Operation && b.limits.Operation > 0:
		b.over = refuse(true, "refusing more than %d bytes of answers to one operation", b.limits.Operation)
	default:
		return n, err
	}
	_ = b.from.Close() // a caller that gives up on an answer may forget to
	return 0, b.over
}

// Close implements io.Closer.
func (b *body) Close() error { return b.from.Close() }
