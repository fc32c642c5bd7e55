// Package post is how hale sends over HTTP what others wait for: outlets, messages to people, hooks, pools.
//
// It promises that only a 2xx answer is a yes, that an answer of any length and any slowness ends within the time, that
// Retry-After is heeded, that headers which are secret go to the configured address only, and that neither they nor the
// address, where it is secret, are in any error. What the address comes to is judged when hale connects (strict.Reach):
// hale's own server, its links and a cloud's metadata are reached only where the address itself names them.
package post

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/notify"
	"hale/internal/secret"
	"hale/internal/strict"
)

// Options are where to, and how.
type Options struct {
	Op      string // of errors, as "otlp.send"
	URL     secret.Value
	CA      string // a PEM file; empty: the system's authorities
	Headers []secret.Named
	// Once says that it is unknown what became of the body where the receiver failed over it: it may have been taken.
	// The answer is for people, and without the secrets.
	Once bool
	// Reach says what it may reach of hale's own surroundings, by the host that it goes to. Nil: that host alone
	// (Reach).
	Reach func(host string) strict.Reach
	Identity
}

// Identity is what hale says of itself, and how long it is patient.
type Identity struct {
	Name    string        // of the outlet
	Timeout time.Duration // of one try
	Version string        // of hale
	Server  string        // on which it runs
}

// Post sends. Its methods may be called at the same time.
type Post struct {
	o      Options
	proxy  func(*http.Request) (*url.URL, error)
	mu     sync.Mutex
	client *http.Client
	host   string // that the client goes to
	trusts string // the content of CA
}

// New makes a Post. It connects to nothing yet.
func New(o Options) *Post {
	if o.Reach == nil {
		o.Reach = Reach
	}
	return &Post{o: o, proxy: http.ProxyFromEnvironment}
}

// Answer is what a receiver said that took the body.
type Answer struct {
	Status string // as "204 No Content"
	Body   []byte
}

// LongestAnswer bounds what is read of an answer, in bytes.
const LongestAnswer = 64 << 10

// Send sends the body to the address, with the path added. Every error is a fault: fault.Invalid means that this body
// will not be taken as it is.
func (p *Post) Send(ctx context.Context, path string, head http.Header, body []byte) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	q, secrets, err := p.request(ctx, path, head, body)
	if err != nil {
		return Answer{}, err
	}
	client, err := p.to(q)
	if err != nil {
		return Answer{}, err
	}
	answer, err := client.Do(q)
	if err != nil {
		return Answer{}, p.fail(kindOf(ctx, err), notify.Clean(inner(err).Error(), secrets...))
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, LongestAnswer))
	switch {
	case answer.StatusCode/100 != 2:
		return Answer{}, p.refusal(answer, notify.Clean(answer.Status+" "+string(said), secrets...))
	case p.o.Once: // a yes that is cut off is one
		return Answer{notify.Clean(answer.Status, secrets...), []byte(notify.Clean(string(said), secrets...))}, nil
	case err != nil:
		return Answer{}, p.fail(kindOf(ctx, err), notify.Clean(inner(err).Error(), secrets...))
	}
	return Answer{answer.Status, said}, nil
}

// Close lets go of the connection.
func (p *Post) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil {
		p.client.CloseIdleConnections()
	}
}

func (p *Post) fail(kind fault.Kind, said string) error {
	return fault.New(kind, p.o.Op, p.o.Name, errors.New(said))
}

// request makes the request, and returns the secrets that are in it.
func (p *Post) request(ctx context.Context, path string, head http.Header, body []byte) (*http.Request, []string,
	error) {
	address, secrets, err := p.o.URL.Resolve(ctx)
	if err != nil {
		return nil, nil, misplaced(err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, p.fail(fault.Permanent, "what is kept as its address is no web address")
	}
	if path != "" {
		u = u.JoinPath(path)
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, p.fail(fault.Permanent, "what is kept as its address is no web address")
	}
	for name, values := range head {
		q.Header[name] = values
	}
	more, kept, err := Headers(ctx, p.o.Headers)
	if err != nil {
		return nil, nil, err
	}
	for name, value := range more {
		q.Header.Set(name, value)
	}
	q.Header.Set("User-Agent", "hale/"+p.o.Version)
	return q, append(secrets, kept...), nil
}

// Headers reads the headers, and says which of their values are secret.
func Headers(ctx context.Context, all []secret.Named) (values map[string]string, secrets []string, err error) {
	values = map[string]string{}
	for _, h := range all {
		value, kept, err := secret.Value{Plain: h.Plain, Secret: h.Secret}.Resolve(ctx)
		if err != nil {
			return nil, nil, misplaced(err)
		}
		values[h.Name], secrets = value, append(secrets, kept...)
	}
	return values, secrets, nil
}

// misplaced is the error of a secret that cannot be read: that says nothing of what was to be sent with it.
func misplaced(err error) error {
	if fault.Is(err, fault.Invalid) {
		return fault.New(fault.Permanent, "secret.resolve", "", errors.New(fault.Plain(err)))
	}
	return err
}

// to returns a client that goes to the request's host. It is made anew when that, or whom to trust, changes.
func (p *Post) to(q *http.Request) (*http.Client, error) {
	trusts, err := Trusted(p.o.CA)
	if err != nil {
		return nil, p.fail(fault.Permanent, err.Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	host := q.URL.Scheme + "://" + q.URL.Host
	if p.client != nil && p.host == host && p.trusts == trusts {
		return p.client, nil
	}
	if p.client != nil {
		p.client.CloseIdleConnections()
	}
	reach := p.o.Reach(q.URL.Hostname())
	transport := &http.Transport{ForceAttemptHTTP2: true, MaxResponseHeaderBytes: strict.MaxHead,
		MaxIdleConns: 1, IdleConnTimeout: time.Minute, TLSClientConfig: TLS(trusts)}
	switch proxy, err := p.proxy(q); {
	case err != nil:
		return nil, p.fail(fault.Permanent, "the proxy in hale's environment is no address")
	case proxy == nil:
		transport.DialContext = reach.Dialer().DialContext
	default: // the administrator's own, wherever it is
		if err := reach.Behind(q.Context(), q.URL); err != nil {
			return nil, p.fail(kindOf(q.Context(), err), err.Error())
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	p.host, p.trusts = host, trusts
	p.client = &http.Client{Transport: strict.New(transport, strict.Limits{Answer: 2 * LongestAnswer}, q.URL)}
	return p.client, nil
}

// Reach is how far a configured host leads: to itself, also where that is hale's own server.
func Reach(host string) strict.Reach {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if name == "localhost" {
		return strict.Reach{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	a, err := netip.ParseAddr(strings.Trim(name, "[]"))
	if err != nil {
		return nil
	}
	a = a.Unmap().WithZone("")
	return strict.Reach{netip.PrefixFrom(a, a.BitLen())}
}

// Trusted returns what the file of authorities holds; without a file, nothing.
func Trusted(ca string) (string, error) {
	if ca == "" {
		return "", nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil || !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return "", errors.New("no certificate can be read from " + ca)
	}
	return string(pem), nil
}

// TLS trusts the authorities of the text, or, where it is empty, the system's.
func TLS(trusted string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if trusted != "" {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM([]byte(trusted))
	}
	return c
}

// kindOf classifies a request that got no answer. Nothing of that is to blame on what was sent.
func kindOf(ctx context.Context, err error) fault.Kind {
	var refused *strict.RefusedError
	var op *net.OpError
	switch {
	case errors.As(err, &refused) && !refused.Sent, // a name may come to another address, and a line be added
		errors.As(err, &op) && op.Op == "dial":
		return fault.Transient // nothing was sent
	case errors.As(err, new(*tls.CertificateVerificationError)), refused != nil:
		return fault.Permanent
	case ctx.Err() != nil, errors.As(err, new(net.Error)):
		return fault.UnknownOutcome
	}
	return fault.Transient
}

// inner strips the address that net/http puts around an error: it may be secret.
func inner(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// refusal is the error of an answer that is no yes.
func (p *Post) refusal(r *http.Response, said string) error {
	kind := fault.Transient
	switch code := r.StatusCode; {
	case code == http.StatusTooManyRequests:
		kind = fault.Throttled
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusProxyAuthRequired:
		kind = fault.Unauthorised
	case code == http.StatusNotFound, code == http.StatusGone, code == http.StatusMethodNotAllowed:
		kind = fault.NotFound
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge,
		code == http.StatusUnprocessableEntity:
		kind = fault.Invalid
	case code >= 300 && code < 400:
		return p.fail(fault.Permanent,
			fmt.Sprintf("it redirects (%d), which hale does not follow: write the address where it leads", code))
	case code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooEarly:
		kind = fault.Permanent
	}
	if p.o.Once && kind == fault.Transient && r.StatusCode != http.StatusServiceUnavailable {
		kind = fault.UnknownOutcome
	}
	err := p.fail(kind, said)
	if after := retryAfter(r.Header.Get("Retry-After"), time.Now()); after > 0 {
		return &notify.LaterError{After: after, Err: err}
	}
	return err
}

// LongestRest bounds how long a receiver may have hale wait.
const LongestRest = time.Hour

// retryAfter reads the header: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(value); err == nil {
		return min(LongestRest, time.Duration(max(0, min(n, 24*60*60)))*time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(LongestRest, max(0, at.Sub(now)))
	}
	return 0
}
