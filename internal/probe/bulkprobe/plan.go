package bulkprobe

import (
	"net/http"
	"net/url"
	"time"

	"hale/internal/core/policy"
	"hale/internal/probe"
)

type kind uint8

const (
	kindPing kind = iota
	kindTCP
	kindPage
)

// plan is a check as the shards need it. The targets of one check share it, and it does not change.
type plan struct {
	kind                             kind
	port                             uint16
	downAfter, downIn, upAfter, upIn int32
	every, timeout, fade             int64 // nanoseconds
	check                            *policy.Check
	full                             bool // the connection is completed
	// Of a page:
	opening, host string // the request up to the host, and the host if it is not the address
	keep          bool   // the connection, for the next request
	bodyless      bool   // the answer has no body, whatever its head says
	lenient       bool   // a connection that cannot be made counts neither way
}

// shortest is the shortest interval of a target that the shards take: a probe each slot is no matter of great numbers.
const shortest = 10 * time.Millisecond

// Takes reports whether the shards can do the check: a ping, a connection, or a page by plain http when only its status
// counts.
func Takes(c *policy.Check) bool {
	if c.Every < shortest || c.Timeout <= 0 || c.Timeout > c.Every {
		return false
	}
	switch c.Kind {
	case policy.CheckPing:
		return true
	case policy.CheckTCP:
		return validPort(c.Port)
	case policy.CheckHTTP:
		return validPort(c.Port) && plainPage(&c.HTTP)
	default: // all that is unusual goes the ordinary way
		return false
	}
}

func validPort(port int) bool { return port >= 1 && port <= 65535 }

func plainPage(h *policy.HTTPCheck) bool {
	if _, err := url.ParseRequestURI(pathOf(h)); err != nil {
		return false // the ordinary engine says what is wrong with it
	}
	method := h.Method == "" || h.Method == http.MethodGet || h.Method == http.MethodHead
	return (h.Scheme == "" || h.Scheme == "http") && method && len(h.Headers) == 0 && h.Body == "" && h.Redirects == 0
}

func pathOf(h *policy.HTTPCheck) string {
	if h.Path == "" {
		return "/"
	}
	return h.Path
}

// newPlan makes the plan of a check that Takes takes.
func newPlan(c *policy.Check) *plan {
	p := &plan{
		port:  uint16(c.Port), //nolint:gosec // Takes saw to it
		every: int64(c.Every), timeout: int64(c.Timeout), fade: int64(probe.FadeAfter(c)), check: c,
		downAfter: bounded(c.DownAfter), downIn: bounded(c.DownIn), upAfter: bounded(c.UpAfter), upIn: bounded(c.UpIn),
	}
	switch c.Kind {
	case policy.CheckTCP:
		p.kind, p.full = kindTCP, c.Full
	case policy.CheckHTTP:
		p.kind = kindPage
		p.page(&c.HTTP)
	default: // Takes leaves no other
		p.kind = kindPing
	}
	return p
}

func (p *plan) page(h *policy.HTTPCheck) {
	method, path := h.Method, pathOf(h)
	if method == "" {
		method = http.MethodGet
	}
	if u, err := url.ParseRequestURI(path); err == nil {
		path = u.RequestURI() // escaped, as net/http writes it
	}
	p.opening, p.host = method+" "+path+" HTTP/1.1\r\nHost: ", h.Host
	p.bodyless = method == http.MethodHead
	p.lenient, p.keep = h.NoConnection == policy.NoConnectionIgnore, h.KeepAlive
}

// bounded keeps a count within what is ever counted.
func bounded(n int) int32 { return int32(min(max(n, 0), longestRow)) }
