// Package prometheus reads metrics by a query to a server that speaks the API of Prometheus, as Thanos, Mimir and
// VictoriaMetrics do, too.
//
// It promises that questions and secret headers go to the configured address only, that a redirect is an error, and
// that answers are bounded (package strict); that what is as of another time by hale's clock counts for nothing, and
// that the server is asked to leave out samples older than the metric may be late, which newer ones do; that an answer
// with warnings is none, since a part of it may be missing; and that no secret header is in any error.
package prometheus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/notify"
	"hale/internal/secret"
	"hale/internal/strict"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

const (
	op = "prometheus.read"
	// longestAnswer bounds what is read of an answer, in bytes: ten thousand series fit.
	longestAnswer = 4 << 20
	// atOnce bounds the questions to one server that are under way: the others wait for their turn, and for no longer
	// than they may last.
	atOnce = 32
	// idle is how long a connection is kept that is not used.
	idle = 90 * time.Second
)

// Servers are the ways to the servers that are asked: one for each, which all metrics share. The zero value has none
// yet.
type Servers struct {
	// Version is hale's, for User-Agent.
	Version string

	mu   sync.Mutex // held for no question
	ways map[way]*http.Transport
}

// way is what tells one from another: the server, and the certificates that are trusted, as they are in the file now.
type way struct{ scheme, host, trusts string }

// Reader makes what reads the metric. It asks nothing yet.
func (s *Servers) Reader(m policy.Metric) *Reader { return &Reader{s, m} }

// to returns the way to the address.
func (s *Servers) to(u *url.URL, ca string) (*http.Transport, error) {
	w := way{u.Scheme, u.Host, ""}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("no certificate can be read from %s", ca)
		}
		w.trusts = string(pem)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.ways[w]; t != nil {
		return t, nil
	}
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxConnsPerHost: atOnce,
		MaxIdleConnsPerHost: atOnce, IdleConnTimeout: idle, MaxResponseHeaderBytes: strict.MaxHead}
	if w.trusts != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(w.trusts)) {
			return nil, fmt.Errorf("no certificate can be read from %s", ca)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	if s.ways == nil {
		s.ways = map[way]*http.Transport{}
	}
	s.ways[w] = t
	return t, nil
}

// Close lets go of the connections.
func (s *Servers) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.ways {
		t.CloseIdleConnections()
	}
}

// Reader reads one metric.
type Reader struct {
	servers *Servers
	metric  policy.Metric
}

var _ gauge.Reader = (*Reader)(nil)

// Read implements gauge.Reader. A series that bears the label is the machine's which that names, and counts only if the
// fleet has such a machine.
func (r *Reader) Read(ctx context.Context, machines []gauge.Machine) (gauge.Reading, error) {
	q := &r.metric.Prometheus
	head, secrets, err := r.head(ctx)
	switch {
	case ctx.Err() != nil:
		return r.fail(fault.Transient, "there was no time to ask")
	case err != nil:
		return r.fail(fault.Permanent, "%v", err)
	}
	base, err := url.Parse(q.URL)
	if err != nil || base.Host == "" {
		return r.fail(fault.Invalid, "its address is no web address")
	}
	through, err := r.servers.to(base, q.CA)
	if err != nil {
		return r.fail(fault.Invalid, "%v", err)
	}
	c, err := api.NewClient(api.Config{Address: q.URL, RoundTripper: &caller{
		behind: strict.New(through, strict.Limits{Answer: longestAnswer}, base), head: head,
	}})
	if err != nil {
		return r.fail(fault.Invalid, "its address is no web address")
	}
	options := []v1.Option{v1.WithLookbackDelta(whole(r.metric.Late))}
	if by, bounded := ctx.Deadline(); bounded {
		options = append(options, v1.WithTimeout(whole(time.Until(by))))
	}
	value, warnings, _, err := v1.NewAPI(c).Query(ctx, q.Query, time.Time{}, options...)
	switch {
	case err != nil:
		return r.fail(kindOf(ctx, err), "%s", notify.Clean(inner(err), secrets...))
	case len(warnings) > 0:
		return r.fail(fault.Transient, "the server warns of its answer: %s", notify.Clean(warnings[0], secrets...))
	}
	return r.take(value, machines)
}

// whole is a duration as the API takes it, which knows no fractions.
func whole(d time.Duration) time.Duration { return max(d.Round(time.Second), time.Second) }

// head are the headers of a question, and the secrets among them.
func (r *Reader) head(ctx context.Context) (http.Header, []string, error) {
	head, hidden := http.Header{"User-Agent": {strings.TrimSuffix("hale/"+r.servers.Version, "/")}}, []string(nil)
	for _, h := range r.metric.Prometheus.Headers {
		if !h.Secret.None() {
			value, err := secret.Read(ctx, h.Secret)
			if err != nil {
				return nil, nil, fmt.Errorf("the secret of %s cannot be read: %w", h.Name, err)
			}
			h.Value, hidden = value, append(hidden, value)
		}
		head.Set(h.Name, h.Value)
	}
	return head, hidden, nil
}

// take makes a reading of an answer.
func (r *Reader) take(value model.Value, machines []gauge.Machine) (out gauge.Reading, err error) {
	switch v := value.(type) {
	case *model.Scalar:
		out.Whole = []float64{float64(v.Value)}
		if old := r.late(v.Timestamp); old != "" {
			return r.fail(fault.Transient, "%s", old)
		}
		return out, nil
	case model.Vector:
		return r.series(v, machines)
	}
	return r.fail(fault.Invalid, "the query is for %s, and not for what is now", value.Type())
}

func (r *Reader) series(all model.Vector, machines []gauge.Machine) (out gauge.Reading, err error) {
	names, strangers := gauge.NamesOf(machines), 0
	for _, s := range all {
		if old := r.late(s.Timestamp); old != "" {
			return r.fail(fault.Transient, "%s", old)
		}
		if s.Histogram != nil {
			return r.doubt(fault.Invalid, fleet.ReasonMetricAbsurd, "it is a histogram, and no number")
		}
		called, labelled := s.Metric[model.LabelName(r.metric.Prometheus.Label)]
		if !labelled {
			out.Whole = append(out.Whole, float64(s.Value))
			continue
		}
		if m, known := names.Find(string(called)); known {
			out.Each = append(out.Each, fleet.MachineValue{Machine: m, Value: float64(s.Value)})
		} else {
			strangers++
		}
	}
	switch {
	case len(out.Whole)+len(out.Each) > 0:
		return out, nil
	case strangers > 0:
		return r.fail(fault.NotFound, "the label %s of none of the %d series names a machine of the fleet",
			r.metric.Prometheus.Label, strangers)
	}
	return r.fail(fault.NotFound, "the query has no result")
}

// late says that what is as of that time may not count; empty: it may.
func (r *Reader) late(as model.Time) string {
	off := time.Since(as.Time()).Abs()
	if r.metric.Late == 0 || off <= r.metric.Late {
		return ""
	}
	return fmt.Sprintf("it is as of %s, which is %s from now by hale's clock", as.Time().UTC().Format(time.RFC3339),
		off.Round(time.Second))
}

func (r *Reader) fail(kind fault.Kind, format string, args ...any) (gauge.Reading, error) {
	return gauge.Reading{}, fault.New(kind, op, string(r.metric.Name), fmt.Errorf(format, args...))
}

func (r *Reader) doubt(kind fault.Kind, why fleet.Reason, said string) (gauge.Reading, error) {
	return gauge.Reading{}, fault.New(kind, op, string(r.metric.Name), gauge.Doubt{Reason: why, Why: said})
}

// caller adds the headers, and knows an answer that says who may not ask.
type caller struct {
	behind http.RoundTripper
	head   http.Header
}

// RoundTrip implements http.RoundTripper.
func (c *caller) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	for name, values := range c.head {
		q.Header[name] = values
	}
	answer, err := c.behind.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	// where a question by POST is forbidden, one by GET may not be, and follows
	refused := answer.StatusCode == http.StatusForbidden && q.Method == http.MethodGet
	if refused || answer.StatusCode == http.StatusUnauthorized {
		_ = answer.Body.Close() // what else it says may repeat what was shown to it
		return nil, fault.New(fault.Unauthorised, op, "", errors.New("the server refuses hale: "+answer.Status))
	}
	return answer, nil
}

// kindOf classifies a question without an answer.
func kindOf(ctx context.Context, err error) fault.Kind {
	var said *v1.Error
	var known *fault.Error
	switch {
	case ctx.Err() != nil:
		return fault.Transient
	case errors.As(err, &known):
		return known.Kind
	case errors.As(err, new(*strict.RefusedError)), errors.As(err, new(*tls.CertificateVerificationError)):
		return fault.Permanent
	case errors.As(err, &said) && (said.Type == v1.ErrBadData || said.Type == v1.ErrExec):
		return fault.Invalid
	}
	return fault.Transient
}

// inner is what went wrong, without the address that net/http puts around it.
func inner(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var said *v1.Error
	if errors.As(err, &said) {
		return strings.TrimSpace(string(said.Type) + ": " + said.Msg)
	}
	return fault.Plain(err)
}
