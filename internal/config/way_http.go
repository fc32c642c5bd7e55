package config

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"hale/internal/fleet"
)

type httpDraft struct {
	port               at[int]
	scheme, path, host at[string]
	method             at[string]
	headers            at[[]named[valueDraft]]
	status             at[[]at[fleet.StatusRange]]
	body               at[string]
	redirects          at[int]
	noConnection       at[fleet.NoConnection]
	ca                 at[string]
	certificateDays    at[int]
	insecure           at[bool]
	keepAlive          at[bool]
}

var httpWay = wayOf(fleet.CheckHTTP, "", "Ask for a page.", httpShape(),
	func(c *fleetCompiler, d at[httpDraft], out *fleet.Check) { out.Port, out.HTTP = c.http(d.value) }, writeHTTP)

func httpShape() object[httpDraft] {
	return object[httpDraft]{fields: append([]field[httpDraft]{
		may("port", "The port.", integer(1, 65535),
			func(h *httpDraft) *at[int] { return &h.port }).said("80, with https 443"),
		or("path", defaultHTTPPath, "The path, with the query if there is one.", text("a path", "/healthz"),
			func(h *httpDraft) *at[string] { return &h.path }),
		or("scheme", defaultHTTPScheme, "`https` verifies the certificate.", choice(nil, "http", "https"),
			func(h *httpDraft) *at[string] { return &h.scheme }),
		may("host", "The Host header, and the name in the certificate.", text("a host name", "www.example.org"),
			func(h *httpDraft) *at[string] { return &h.host }).said("the machine's address"),
		or("method", http.MethodGet, "How to ask. Nothing that may change something.",
			choice(nil, http.MethodGet, http.MethodHead, http.MethodOptions),
			func(h *httpDraft) *at[string] { return &h.method }),
		may("headers", "Further lines of the request's head: a text, or `{file: PATH}` or `{env: NAME}` for what is secret.", mapping[valueDraft]{
			key: "HEADER", names: headerNames, each: valueShape("the header's value", "application/json"),
		}, func(h *httpDraft) *at[[]named[valueDraft]] { return &h.headers }),
		may("status", "The status codes of a good answer: codes, ranges and classes, as `[200, 300-303, 4xx]`. Any "+
			"other one is a failure.",
			list[fleet.StatusRange]{noun: "one status", each: status()},
			func(h *httpDraft) *at[[]at[fleet.StatusRange]] { return &h.status }).said("[2xx]"),
		may("body", "A regular expression (RE2) that the first 64 KiB of the page must match, else it is a failure. "+
			"`(?i)` in front: in capitals or not.",
			text("a regular expression", "'\"status\": *\"passing\"'"),
			func(h *httpDraft) *at[string] { return &h.body }),
		or("redirects", 0, "So many redirects are followed, and only those that lead to the same host by the same "+
			"port, or from http to https. Any other one is a failure, unless status has it.", integer(0, 5),
			func(h *httpDraft) *at[int] { return &h.redirects }),
		or("no_connection", fleet.NoConnectionFails, "What it means that no connection comes about at all. `fail`: a "+
			"failure. `ignore`: it counts neither way; when nothing else is heard for long, the check is unknown.",
			choice(nil, fleet.NoConnectionFails, fleet.NoConnectionIgnore),
			func(h *httpDraft) *at[fleet.NoConnection] { return &h.noConnection }),
		or("keep_alive", false, "Ask over a connection that stays open between probes, as far as the machine lets "+
			"it: a fifth of the cost, but whether anybody new could connect is not asked. A connection that ended is "+
			"no failure: a fresh one is tried first. For pages by plain http of which only the status counts.",
			boolean(), func(h *httpDraft) *at[bool] { return &h.keepAlive }),
	}, tlsFields()...)}
}

func tlsFields() []field[httpDraft] {
	return []field[httpDraft]{
		may("ca", "https only: a file with the certificates, in PEM form, that are trusted instead of the system's: "+
			"of an authority of your own, or of the server itself. Relative paths begin at the folder of this file.",
			text("a path",
				"ca.pem"), func(h *httpDraft) *at[string] { return &h.ca }),
		or("certificate_days", 0, "https only: it is a failure when the certificate, or one that it rests on, ends "+
			"within so many days. No repair brings a new one: make it a check of its own that unhealthy_when does "+
			"not name, and its machines are suspect and not repaired.",
			integer(0, 3650), func(h *httpDraft) *at[int] { return &h.certificateDays }),
		or("insecure", false, "https only: take any certificate. Better is ca with that of the server.", boolean(),
			func(h *httpDraft) *at[bool] { return &h.insecure }),
	}
}

// status is a code, a class or a range of HTTP status codes.
func status() scalar[fleet.StatusRange] {
	return scalar[fleet.StatusRange]{
		noun: "a status", example: "200", forms: []form{formText, formNumber}, parse: parseStatus,
		format: func(r fleet.StatusRange) any { return fmt.Sprintf("%d-%d", r.First, r.Last) },
		json: schema{
			Type: []string{"integer", "string"}, Pattern: `^([2-5]xx|[2-5][0-9]{2}(-[2-5][0-9]{2})?)$`,
			Minimum: &lowestStatus, Maximum: &highestStatus,
			noun: "status", bounds: span(lowestStatus, highestStatus, strconv.Itoa),
		},
	}
}

var lowestStatus, highestStatus = 200, 599

func parseStatus(text string) (fleet.StatusRange, *flaw) {
	wrong := flawf("write for example 200, 2xx or 200-204", "%q is not a status", text)
	if class, ok := strings.CutSuffix(strings.ToLower(text), "xx"); ok {
		n, bad := parseInteger(class)
		if bad != nil || n < 2 || n > 5 {
			return fleet.StatusRange{}, wrong
		}
		return fleet.StatusRange{First: n * 100, Last: n*100 + 99}, nil
	}
	first, last, ranged := strings.Cut(text, "-")
	if !ranged {
		last = first
	}
	a, bad := parseInteger(strings.TrimSpace(first))
	b, bad2 := parseInteger(strings.TrimSpace(last))
	switch {
	case bad != nil || bad2 != nil || b < a:
		return fleet.StatusRange{}, wrong
	case a < lowestStatus || b > highestStatus:
		return fleet.StatusRange{}, flawf("choose 200 to 599", "%s is out of range", text)
	}
	return fleet.StatusRange{First: a, Last: b}, nil
}

// headerNames are those of RFC 9110.
var headerNames = keyForm{noun: "the name of a header", pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"}

func (c *fleetCompiler) http(d httpDraft) (int, fleet.HTTPCheck) {
	if p := d.path; p.known() && (!strings.HasPrefix(p.value, "/") || strings.ContainsAny(p.value, " #\t\r\n")) {
		c.add(p.spot, fmt.Sprintf("%q is not a path", p.value), "begin it with / and escape blanks as %20")
	}
	c.hostName(d.host)
	port := d.port.value
	if !d.port.written() {
		port = defaultHTTPPort
		if d.scheme.value == "https" {
			port = defaultHTTPSPort
		}
	}
	out := fleet.HTTPCheck{
		Scheme: d.scheme.value, Path: d.path.value, Host: d.host.value, Headers: c.headers(d.headers.value),
		Body:      c.body(d),
		Redirects: d.redirects.value, TLS: c.tls(d), KeepAlive: d.keepAlive.value,
	}
	if out.KeepAlive && (out.Scheme == "https" || out.Body != "" || out.Redirects > 0 || len(out.Headers) > 0) {
		c.add(d.keepAlive.spot, "is for pages by plain http of which only the status counts",
			"take keep_alive out, or https, body, redirects and headers")
	}
	if d.method.given() && d.method.value != http.MethodGet {
		out.Method = d.method.value
	}
	if d.noConnection.given() && d.noConnection.value != fleet.NoConnectionFails {
		out.NoConnection = d.noConnection.value
	}
	for _, s := range d.status.value {
		out.Status = append(out.Status, s.value)
	}
	return port, out
}

// ownHeaders are those that follow from other keys, or from how the request is sent.
var ownHeaders = map[string]string{
	"Host": "use host", "Connection": "take it out; each probe has a connection of its own",
	"Content-Length":    "take it out; a probe sends no body",
	"Transfer-Encoding": "take it out; a probe sends no body",
	"Accept-Encoding":   "take it out; body looks at the page as it is sent",
}

func (c *fleetCompiler) headers(all []named[valueDraft]) []fleet.Header {
	var out []fleet.Header
	for _, n := range all {
		name := http.CanonicalHeaderKey(n.name)
		if instead, ok := ownHeaders[name]; ok {
			c.add(n.spot, "is not for you to set", instead)
		}
		value, kept := c.kept(n)
		if hushed(n.name) && n.value.plain.written() {
			c.add(n.spot, "is a secret by its name, and is written here",
				"keep it in a file or in the environment, and write {file: PATH} or {env: NAME}")
		}
		if strings.ContainsAny(value, "\r\n") {
			c.add(n.spot, "has more than one line", "write it in one line")
		}
		if slices.ContainsFunc(out, func(h fleet.Header) bool { return h.Name == name }) {
			c.add(n.spot, "is there already, in other letters", "take one of the two out")
		}
		out = append(out, fleet.Header{Name: name, Value: value, Secret: kept})
	}
	slices.SortFunc(out, func(a, b fleet.Header) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (c *fleetCompiler) body(d httpDraft) string {
	pattern := c.pattern(d.body)
	if pattern != "" && d.method.given() && d.method.value == http.MethodHead {
		c.add(d.body.spot, "comes with method HEAD, which is answered without a page", "take body out, or use GET")
	}
	return pattern
}

func (c *fleetCompiler) tls(d httpDraft) fleet.TLSCheck {
	if d.scheme.known() && d.scheme.value != "https" {
		c.plain("https", "scheme: https", d.ca, d.certificateDays, d.insecure)
	}
	return c.demand(d.ca, d.certificateDays, d.insecure)
}

// writeHTTP leaves the authorities out, which are a file of their own: simulated machines have no certificates.
func writeHTTP(c *fleet.Check, p *pairs) {
	var headers pairs
	var codes []string
	h := &c.HTTP
	for _, l := range h.Headers {
		headers.add(l.Name, "%s", plainOrSecret(l.Value, l.Secret))
	}
	for _, r := range h.Status {
		codes = append(codes, fmt.Sprintf("%d-%d", r.First, r.Last))
	}
	p.add("scheme", "%s", h.Scheme)
	p.add("port", "%d", c.Port)
	p.add("path", "%s", quoted(h.Path))
	p.unless(h.Host == "", "host", "%s", quoted(h.Host))
	p.unless(h.Method == "", "method", "%s", h.Method)
	p.unless(len(headers) == 0, "headers", "%s", headers.String())
	p.unless(len(codes) == 0, "status", "[%s]", strings.Join(codes, ", "))
	p.unless(h.Body == "", "body", "%s", quoted(h.Body))
	p.unless(h.Redirects == 0, "redirects", "%d", h.Redirects)
	p.unless(h.NoConnection == "", "no_connection", "%s", h.NoConnection)
	p.unless(h.TLS.Days == 0, "certificate_days", "%d", h.TLS.Days)
	p.unless(!h.TLS.Insecure, "insecure", "true")
	p.unless(!h.KeepAlive, "keep_alive", "true")
}
