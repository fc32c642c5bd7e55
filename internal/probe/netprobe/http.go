package netprobe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

const (
	userAgent = "hale"
	// maxHead bounds what is read of an answer's head, in bytes.
	maxHead = 64 << 10
	// maxBody bounds what is read of its body, where a pattern is looked for; otherwise nothing is.
	maxBody = 64 << 10
	// maxInterim bounds the answers with a status of 1xx before the real one.
	maxInterim = 5
)

// notConnected marks the failure to connect at all, where the check does not count it.
type notConnected struct{ err error }

// Error implements error.
func (e notConnected) Error() string { return "not connected: " + e.err.Error() }

// Unwrap returns the cause.
func (e notConnected) Unwrap() error { return e.err }

// get asks for the page and follows redirects as far as the check allows. Written by hand over net/http's parser: a
// client would add two goroutines and a pool to each probe, and a name for the server's certificate would need a client
// of its own.
func (k asker) get(ctx context.Context, t probe.Target) error {
	v, err := firstVisit(t)
	if err != nil {
		return probe.LocalError{Err: err}
	}
	if v.head, v.discreet, err = headOf(ctx, &t.Spec.HTTP); err != nil {
		return err
	}
	for range t.Spec.HTTP.Redirects {
		next, err := k.visit(ctx, t, v)
		if err != nil || next == nil {
			return err
		}
		v = *next
	}
	next, err := k.visit(ctx, t, v)
	if err == nil && next != nil {
		err = failure{fleet.ResultStatus, "one redirect too many"}
	}
	return err
}

// visit asks for one page over a fresh connection to the target. It returns where a redirect leads, if it leads to the
// target again.
func (k asker) visit(ctx context.Context, t probe.Target, v visit) (*visit, error) {
	conn, err := k.dial(ctx, t, "tcp", v.port)
	if err != nil {
		return nil, unlessIgnored(t.Spec, err)
	}
	defer conn.Close()
	done := letGo(ctx, conn)
	defer done()

	if v.url.Scheme == "https" {
		secure, err := k.secure(ctx, conn, session{name: hostName(t), demand: &t.Spec.HTTP.TLS})
		if err != nil {
			return nil, err
		}
		conn = secure // closed with its connection: an orderly good-bye is not worth a wait
	}
	req := v.request(t)
	if err := req.Write(conn); err != nil {
		return nil, v.exchangeError(err)
	}
	//nolint:bodyclose // closing would read on; the connection is closed instead
	resp, err := readAnswer(conn, req, t.Spec.HTTP.Body != "" || t.Keeps)
	if err != nil {
		return nil, v.exchangeError(err)
	}
	if t.Keeps {
		resp.Body = io.NopCloser(io.TeeReader(resp.Body, k.kept))
	}
	next, err := v.judge(t, resp, k.patterns)
	if t.Keeps && next == nil && err == nil {
		k.readOn(ctx, conn, resp.Body)
	}
	return next, err
}

// readOn reads more of a good answer's page than it took to find it good. What does not come in half of the time that
// is left is not waited for: it changes nothing about the answer.
func (k asker) readOn(ctx context.Context, conn net.Conn, page io.Reader) {
	k.kept.at = time.Now()
	if end, limited := ctx.Deadline(); limited {
		_ = conn.SetReadDeadline(k.kept.at.Add(end.Sub(k.kept.at) / 2)) // it would fail as the reading does
	}
	_, _ = io.CopyN(io.Discard, page, int64(max(0, probe.MostPage-len(k.kept.page)))) // as far as it goes
}

// unlessIgnored says what a connection that could not be made means. What is our own fault is so in any case.
func unlessIgnored(c *policy.Check, err error) error {
	var local probe.LocalError
	if c.HTTP.NoConnection == policy.NoConnectionIgnore && !errors.As(err, &local) {
		return notConnected{err}
	}
	return err
}

// visit is one page of the target.
type visit struct {
	url  *url.URL // its host is the target's
	port int
	head http.Header
	// discreet says that secrets are in the head: no answer is repeated, since they may be in it.
	discreet bool
}

func firstVisit(t probe.Target) (visit, error) {
	path := t.Spec.HTTP.Path
	if path == "" {
		path = "/"
	}
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return visit{}, err
	}
	u.Scheme = t.Spec.HTTP.Scheme
	if u.Scheme == "" {
		u.Scheme = "http"
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return visit{}, fmt.Errorf("scheme %q", u.Scheme)
	}
	u.Host = authority(t, u.Scheme, t.Spec.Port)
	return visit{url: u, port: t.Spec.Port}, nil
}

func (v visit) request(t probe.Target) *http.Request {
	h := &t.Spec.HTTP
	req := &http.Request{
		Method: http.MethodGet, URL: v.url, Host: h.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header: v.head,
	}
	if h.Method != "" {
		req.Method = h.Method
	}
	return req
}

// headOf returns the lines of the request's head, and whether secrets are among them.
func headOf(ctx context.Context, h *policy.HTTPCheck) (lines http.Header, discreet bool, err error) {
	lines = http.Header{"User-Agent": {userAgent}, "Accept": {"*/*"}}
	var secrets secrets
	for _, line := range h.Headers {
		value := line.Value
		if !line.Secret.None() {
			if value, err = secrets.read(ctx, line.Name, line.Secret); err != nil {
				return nil, true, err
			}
		}
		lines.Set(line.Name, value)
	}
	return lines, len(secrets) > 0, nil
}

// judge says whether the answer is a good one, or where it leads.
func (v visit) judge(t probe.Target, resp *http.Response, patterns *cache[*regexp.Regexp]) (*visit, error) {
	h := &t.Spec.HTTP
	switch {
	case h.Accepts(resp.StatusCode):
	case h.Redirects > 0 && resp.StatusCode >= 301 && resp.StatusCode <= 308 && resp.Header.Get("Location") != "":
		next := v.follow(t, resp.Header.Get("Location"))
		if next == nil {
			return nil, failure{fleet.ResultStatus, strconv.Itoa(resp.StatusCode) + ", and it leads elsewhere"}
		}
		return next, nil
	default:
		return nil, failure{fleet.ResultStatus, strconv.Itoa(resp.StatusCode)}
	}
	if h.Body == "" {
		return nil, nil
	}
	pattern, err := patterns.get(h.Body, regexp.Compile)
	if err != nil {
		return nil, probe.LocalError{Err: err}
	}
	return nil, v.match(resp.Body, pattern)
}

// follow returns the page that a redirect names, or nil when it is not on the target itself: the same name, and the
// same port unless it leads from http to https. A probe never follows to another server, and never back to plain text.
func (v visit) follow(t probe.Target, location string) *visit {
	u, err := v.url.Parse(location)
	if err != nil || u.User != nil {
		return nil
	}
	name := u.Hostname()
	if name != hostName(t) && name != t.Address.WithZone("").String() {
		return nil
	}
	port := map[string]int{"http": 80, "https": 443}[u.Scheme]
	if text := u.Port(); text != "" {
		if port, err = strconv.Atoi(text); err != nil {
			return nil
		}
	} else if u.Scheme == v.url.Scheme && u.Host == v.url.Host {
		port = v.port
	}
	safer := v.url.Scheme == "http" && u.Scheme == "https"
	if !safer && (u.Scheme != v.url.Scheme || port != v.port) {
		return nil
	}
	u.Host, u.Fragment = authority(t, u.Scheme, port), ""
	v.url, v.port = u, port
	return &v
}

// match looks for the pattern in the beginning of the body, and reads hardly further than it must.
func (v visit) match(body io.Reader, pattern *regexp.Regexp) error {
	r := &keen{from: bufio.NewReader(io.LimitReader(body, maxBody))}
	found := pattern.MatchReader(r)
	switch {
	case r.err != nil && r.err != io.EOF: //nolint:errorlint // io.EOF is never wrapped by a reader
		return v.exchangeError(r.err)
	case !found:
		return failure{fleet.ResultBody, "the pattern is not in it"}
	}
	return nil
}

// keen reads runes and remembers why it ended, which regexp does not tell.
type keen struct {
	from *bufio.Reader
	err  error
}

// ReadRune implements io.RuneReader.
func (k *keen) ReadRune() (r rune, size int, err error) {
	r, size, err = k.from.ReadRune()
	if err != nil {
		k.err = err
	}
	return r, size, err
}

// authority is the address as a URL and a Host header have it: without the scheme's own port, and IPv6 in brackets.
func authority(t probe.Target, scheme string, port int) string {
	host := t.Address.WithZone("")
	if scheme == "http" && port == 80 || scheme == "https" && port == 443 {
		if host.Is6() {
			return "[" + host.String() + "]"
		}
		return host.String()
	}
	return netip.AddrPortFrom(host, uint16(port)).String() //nolint:gosec // dial refuses other ports
}

// hostName is the name by which the target is asked: that of the check, or else its address.
func hostName(t probe.Target) string {
	return serverName(hostPart(t.Spec.HTTP.Host), t)
}

// hostPart is the name without a port.
func hostPart(name string) string {
	if host, _, err := net.SplitHostPort(name); err == nil {
		return host
	}
	return name
}

// serverName is the name, or the target's address where there is none.
func serverName(name string, t probe.Target) string {
	if name == "" {
		return t.Address.WithZone("").String()
	}
	return name
}

// readAnswer returns the final answer. Its body can be read to its bound, if it is wanted at all.
func readAnswer(conn net.Conn, req *http.Request, body bool) (*http.Response, error) {
	most := int64(maxHead)
	if body {
		most += maxBody
	}
	r := bufio.NewReaderSize(io.LimitReader(conn, most), 2048)
	for range maxInterim {
		resp, err := http.ReadResponse(r, req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, nil
		}
	}
	return nil, failure{fleet.ResultProtocol, "too many interim answers"}
}

// exchangeError leaves the network's errors as they are; all others are answers that were not asked for.
func (v visit) exchangeError(err error) error {
	var known failure
	switch {
	case ofNetwork(err) || errors.As(err, &known):
		return err
	case v.discreet:
		return failure{fleet.ResultProtocol, "no answer in HTTP"}
	}
	return failure{fleet.ResultProtocol, brief(err)}
}

func ofNetwork(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
