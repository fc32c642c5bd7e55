// Package webhook tells people by POST requests.
//
// It promises that only a 2xx answer is a yes; that the secret headers go to the configured address only, and nothing
// goes to hale's own server, its links or its cloud's metadata unless that is listed (package strict); that each request
// bears the message's key as Idempotency-Key; that Retry-After is heeded; and that neither the address, where it is
// secret, nor a secret header is in any answer or error. It keeps no connection open.
package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"hale/internal/core/fault"
	"hale/internal/notify"
	"hale/internal/secret"
	"hale/internal/strict"
)

// Options are what a Target is made of.
type Options struct {
	Name    string
	URL     secret.Value
	CA      string // a PEM file; empty: the system's authorities
	Format  Format
	Headers []secret.Named
	Reach   strict.Reach  // what it may reach of hale's own surroundings
	Timeout time.Duration // of one try
	Version string        // of hale, for User-Agent
}

// Format is the shape of the request's body.
type Format string

// The formats.
const (
	FormatHale        Format = "hale"        // the message
	FormatCloudEvents Format = "cloudevents" // the message in a CloudEvents 1.0 envelope
	FormatText        Format = "text"        // {"text": …}, as chat programs take it
)

// Target posts messages to one address.
type Target struct {
	o     Options
	proxy func(*http.Request) (*url.URL, error)
}

// New makes a target. It connects to nothing yet.
func New(o Options) *Target { return &Target{o, http.ProxyFromEnvironment} }

// Send implements notify.Target.
func (t *Target) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, t.o.Timeout)
	defer cancel()
	request, secrets, err := t.request(ctx, m)
	if err != nil {
		return notify.Answer{}, err
	}
	client, err := t.client(request)
	if err != nil {
		return notify.Answer{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return notify.Answer{}, t.fail(kindOf(ctx, err), notify.Clean(inner(err).Error(), secrets...))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	said := notify.Clean(response.Status+" "+string(body), secrets...)
	switch {
	case response.StatusCode/100 == 2:
		return notify.Answer{Said: said}, nil
	case err != nil: // the status says enough
	}
	return notify.Answer{}, t.refusal(response, said)
}

// longestAnswer bounds what is read of an answer, in bytes.
const longestAnswer = 2000

// request makes the request, and returns the secrets that are in it.
func (t *Target) request(ctx context.Context, m notify.Message) (*http.Request, []string, error) {
	address, secrets, err := t.o.URL.Resolve(ctx)
	if err != nil {
		return nil, nil, err
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, nil, t.fail(fault.Invalid, "what is kept as url is no web address")
	}
	kind, body, err := t.body(m)
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, op, t.o.Name, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, t.fail(fault.Invalid, "what is kept as url is no web address")
	}
	for _, h := range t.o.Headers {
		value, kept, err := secret.Value{Plain: h.Plain, Secret: h.Secret}.Resolve(ctx)
		if err != nil {
			return nil, nil, err
		}
		secrets = append(secrets, kept...)
		request.Header.Set(h.Name, value)
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("User-Agent", "hale/"+t.o.Version)
	request.Header.Set("Idempotency-Key", m.Key)
	return request, secrets, nil
}

// cloudEvent is the envelope of CloudEvents 1.0 in its structured JSON form.
type cloudEvent struct {
	SpecVersion     string         `json:"specversion"`
	ID              string         `json:"id"`
	Source          string         `json:"source"`
	Type            string         `json:"type"`
	Subject         string         `json:"subject,omitempty"`
	Time            time.Time      `json:"time"`
	DataContentType string         `json:"datacontenttype"`
	Data            notify.Message `json:"data"`
}

func (t *Target) body(m notify.Message) (contentType string, body []byte, err error) {
	switch t.o.Format {
	case FormatCloudEvents:
		about := m.Machine
		if about == "" {
			about = m.Fleet
		}
		body, err = json.Marshal(cloudEvent{
			SpecVersion: "1.0", ID: m.Key, Source: "/hale/" + url.PathEscape(m.Server), Type: "hale." + string(m.Event),
			Subject: about, Time: m.At, DataContentType: "application/json", Data: m,
		})
		return "application/cloudevents+json", body, err
	case FormatText:
		body, err = json.Marshal(map[string]string{"text": m.Subject + "\n\n" + m.Text})
	case FormatHale:
		body, err = json.Marshal(m)
	}
	return "application/json", body, err
}

// client makes a client for one request: the authorities may be other ones next time.
func (t *Target) client(q *http.Request) (*http.Client, error) {
	transport := &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: strict.MaxHead}
	switch proxy, err := t.proxy(q); {
	case err != nil:
		return nil, t.fail(fault.Invalid, "the proxy in hale's environment is no address")
	case proxy == nil:
		transport.DialContext = t.o.Reach.Dialer().DialContext
	default: // the administrator's own, wherever it is
		if err := t.o.Reach.Behind(q.Context(), q.URL); err != nil {
			return nil, t.fail(kindOf(q.Context(), err), err.Error())
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	if t.o.CA != "" {
		pem, err := os.ReadFile(t.o.CA)
		pool := x509.NewCertPool()
		if err != nil || !pool.AppendCertsFromPEM(pem) {
			return nil, t.fail(fault.Invalid, "no certificate can be read from "+t.o.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: strict.New(transport, strict.Limits{Answer: 2 * longestAnswer}, q.URL)}, nil
}

const op = "webhook.send"

func (t *Target) fail(kind fault.Kind, said string) error {
	return fault.New(kind, op, t.o.Name, errors.New(said))
}

// kindOf classifies a request that got no answer.
func kindOf(ctx context.Context, err error) fault.Kind {
	var refused *strict.RefusedError
	switch {
	case errors.As(err, &refused) && !refused.Sent: // a name may come to another address, and a line be added
		return fault.Transient
	case errors.As(err, new(*tls.CertificateVerificationError)), refused != nil:
		return fault.Permanent
	case ctx.Err() != nil:
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
func (t *Target) refusal(r *http.Response, said string) error {
	kind := fault.Invalid
	switch code := r.StatusCode; {
	case code == http.StatusTooManyRequests:
		kind = fault.Throttled
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooEarly:
		kind = fault.Transient
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		kind = fault.Unauthorised
	case code == http.StatusNotFound, code == http.StatusGone:
		kind = fault.NotFound
	case code >= 300 && code < 400:
		return t.fail(fault.Permanent,
			fmt.Sprintf("it redirects (%d), which hale does not follow: write the address where it leads", code))
	}
	err := t.fail(kind, said)
	if after := retryAfter(r.Header.Get("Retry-After"), time.Now()); after > 0 {
		return &notify.LaterError{After: after, Err: err}
	}
	return err
}

// retryAfter reads the header: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(value); err == nil {
		return time.Duration(max(0, min(n, 24*60*60))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
