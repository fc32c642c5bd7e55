package netprobe

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

type httpDraft struct {
	port               keys.At[int]
	scheme, path, host keys.At[string]
	method             keys.At[string]
	headers            keys.At[[]keys.Named[keys.TextDraft]]
	status             keys.At[[]keys.At[policy.StatusRange]]
	body               keys.At[string]
	redirects          keys.At[int]
	noConnection       keys.At[policy.NoConnection]
	ca                 keys.At[string]
	certificateDays    keys.At[int]
	insecure           keys.At[bool]
	keepAlive          keys.At[bool]
}

var httpKeys = kinds.CheckOf(policy.CheckHTTP, "", "Ask for a page.", httpShape(),
	func(c kinds.Asked, d keys.At[httpDraft]) { c.Check.Port, c.Check.HTTP = httpOf(c, d.Value) }, writeHTTP)

func httpShape() keys.Object[httpDraft] {
	return keys.Object[httpDraft]{Fields: append([]keys.Field[httpDraft]{
		keys.May("port", "The port.", keys.Integer(1, 65535),
			func(h *httpDraft) *keys.At[int] { return &h.port }).Said("80, with https 443"),
		keys.Or("path", "/", "The path, with the query if there is one.", keys.Text("a path", "/healthz"),
			func(h *httpDraft) *keys.At[string] { return &h.path }),
		keys.Or("scheme", "http", "`https` verifies the certificate.", keys.Choice(nil, "http", "https"),
			func(h *httpDraft) *keys.At[string] { return &h.scheme }),
		keys.May("host", "The Host header, and the name in the certificate.", keys.Text("a host name",
			"www.example.org"),
			func(h *httpDraft) *keys.At[string] { return &h.host }).Said("the machine's address"),
		keys.Or("method", http.MethodGet, "How to ask. Nothing that may change something.",
			keys.Choice(nil, http.MethodGet, http.MethodHead, http.MethodOptions),
			func(h *httpDraft) *keys.At[string] { return &h.method }),
		keys.May("headers", "Further lines of the request's head: a text, or `{file: PATH}` or `{env: NAME}` for "+
			"what is secret.", keys.Mapping[keys.TextDraft]{
			Key: "HEADER", Names: keys.HeaderNames, Each: keys.TextOrSecret("the header's value", "application/json"),
		}, func(h *httpDraft) *keys.At[[]keys.Named[keys.TextDraft]] { return &h.headers }),
		keys.May("status", "The status codes of a good answer: codes, ranges and classes, as `[200, 300-303, 4xx]`. "+
			"Any other one is a failure.",
			keys.List[policy.StatusRange]{Noun: "one status", Each: statusShape()},
			func(h *httpDraft) *keys.At[[]keys.At[policy.StatusRange]] { return &h.status }).Said("[2xx]"),
		keys.May("body", "A regular expression (RE2) that the first 64 KiB of the page must match, else it is a "+
			"failure. `(?i)` in front: in capitals or not.",
			keys.Text("a regular expression", "'\"status\": *\"passing\"'"),
			func(h *httpDraft) *keys.At[string] { return &h.body }),
		keys.Or("redirects", 0, "So many redirects are followed, and only those that lead to the same host by the "+
			"same port, or from http to https. Any other one is a failure, unless status has it.", keys.Integer(0, 5),
			func(h *httpDraft) *keys.At[int] { return &h.redirects }),
		keys.Or("no_connection", policy.NoConnectionFails, "What it means that no connection comes about at all. "+
			"`fail`: a failure. `ignore`: it counts neither way; when nothing else is heard for long, the check is "+
			"unknown.",
			keys.Choice(nil, policy.NoConnectionFails, policy.NoConnectionIgnore),
			func(h *httpDraft) *keys.At[policy.NoConnection] { return &h.noConnection }),
		keys.Or("keep_alive", false, "Ask over a connection that stays open between probes, as far as the machine "+
			"lets it: a fifth of the cost, but whether anybody new could connect is not asked. A connection that "+
			"ended is no failure: a fresh one is tried first. For pages by plain http where only the status counts.",
			keys.Boolean(), func(h *httpDraft) *keys.At[bool] { return &h.keepAlive }),
	}, tlsFields()...)}
}

func tlsFields() []keys.Field[httpDraft] {
	return []keys.Field[httpDraft]{
		keys.May("ca", "https only: a file with the certificates, in PEM form, that are trusted instead of the "+
			"system's: of an authority of your own, or of the server itself. Relative paths begin at the folder of "+
			"this file.",
			keys.Text("a path", "ca.pem"), func(h *httpDraft) *keys.At[string] { return &h.ca }),
		keys.Or("certificate_days", 0, "https only: it is a failure when the certificate, or one that it rests on, "+
			"ends within so many days. No repair brings a new one: make it a check of its own that unhealthy_when "+
			"does not name, and its machines are suspect and not repaired.",
			keys.Integer(0, 3650), func(h *httpDraft) *keys.At[int] { return &h.certificateDays }),
		keys.Or("insecure", false, "https only: take any certificate. Better is ca with that of the server.",
			keys.Boolean(),
			func(h *httpDraft) *keys.At[bool] { return &h.insecure }),
	}
}

// statusShape is a code, a class or a range of HTTP status codes.
func statusShape() keys.Scalar[policy.StatusRange] {
	return keys.Scalar[policy.StatusRange]{
		Noun: "a status", Example: "200", Forms: []keys.Form{keys.FormText, keys.FormNumber}, Parse: parseStatus,
		Format: func(r policy.StatusRange) any { return fmt.Sprintf("%d-%d", r.First, r.Last) },
		JSON: keys.Schema{
			Type: []string{"integer", "string"}, Pattern: `^([2-5]xx|[2-5][0-9]{2}(-[2-5][0-9]{2})?)$`,
			Minimum: &lowestStatus, Maximum: &highestStatus,
			Noun: "status", Bounds: keys.Span(lowestStatus, highestStatus, strconv.Itoa),
		},
	}
}

var lowestStatus, highestStatus = 200, 599

func parseStatus(text string) (policy.StatusRange, *keys.Flaw) {
	wrong := keys.Flawf("write for example 200, 2xx or 200-204", "%q is not a status", text)
	if class, ok := strings.CutSuffix(strings.ToLower(text), "xx"); ok {
		n, bad := keys.ParseInteger(class)
		if bad != nil || n < 2 || n > 5 {
			return policy.StatusRange{}, wrong
		}
		return policy.StatusRange{First: n * 100, Last: n*100 + 99}, nil
	}
	first, last, ranged := strings.Cut(text, "-")
	if !ranged {
		last = first
	}
	a, bad := keys.ParseInteger(strings.TrimSpace(first))
	b, bad2 := keys.ParseInteger(strings.TrimSpace(last))
	switch {
	case bad != nil || bad2 != nil || b < a:
		return policy.StatusRange{}, wrong
	case a < lowestStatus || b > highestStatus:
		return policy.StatusRange{}, keys.Flawf("choose 200 to 599", "%s is out of range", text)
	}
	return policy.StatusRange{First: a, Last: b}, nil
}

func httpOf(c kinds.Asked, d httpDraft) (int, policy.HTTPCheck) {
	if p := d.path; p.Known() && (!strings.HasPrefix(p.Value, "/") || strings.ContainsAny(p.Value, " #\t\r\n")) {
		c.Add(p.Spot, fmt.Sprintf("%q is not a path", p.Value), "begin it with / and escape blanks as %20")
	}
	c.HostName(d.host)
	port := d.port.Value
	if !d.port.Written() {
		port = 80
		if d.scheme.Value == "https" {
			port = 443
		}
	}
	out := policy.HTTPCheck{
		Scheme: d.scheme.Value, Path: d.path.Value, Host: d.host.Value,
		Headers:   kinds.Headers(c.Finder, d.headers.Value, ownHeaders),
		Body:      bodyOf(c, d),
		Redirects: d.redirects.Value, TLS: httpTLSOf(c, d), KeepAlive: d.keepAlive.Value,
	}
	if out.KeepAlive && (out.Scheme == "https" || out.Body != "" || out.Redirects > 0 || len(out.Headers) > 0) {
		c.Add(d.keepAlive.Spot, "is for pages by plain http where only the status counts",
			"take keep_alive out, or https, body, redirects and headers")
	}
	if d.method.Given() && d.method.Value != http.MethodGet {
		out.Method = d.method.Value
	}
	if d.noConnection.Given() && d.noConnection.Value != policy.NoConnectionFails {
		out.NoConnection = d.noConnection.Value
	}
	for _, s := range d.status.Value {
		out.Status = append(out.Status, s.Value)
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

func bodyOf(c kinds.Asked, d httpDraft) string {
	pattern := kinds.Pattern(c.Finder, d.body)
	if pattern != "" && d.method.Given() && d.method.Value == http.MethodHead {
		c.Add(d.body.Spot, "comes with method HEAD, which is answered without a page", "take body out, or use GET")
	}
	return pattern
}

func httpTLSOf(c kinds.Asked, d httpDraft) policy.TLSCheck {
	if d.scheme.Known() && d.scheme.Value != "https" {
		c.NoCertificate("https", "scheme: https", d.ca, d.certificateDays, d.insecure)
	}
	return c.Certificate(d.ca, d.certificateDays, d.insecure)
}

// writeHTTP leaves the authorities out, which are a file of their own: simulated machines have no certificates.
func writeHTTP(c *policy.Check, p *keys.Pairs) {
	var headers keys.Pairs
	var codes []string
	h := &c.HTTP
	for _, l := range h.Headers {
		headers.Add(l.Name, "%s", keys.PlainOrSecret(l.Value, l.Secret))
	}
	for _, r := range h.Status {
		codes = append(codes, fmt.Sprintf("%d-%d", r.First, r.Last))
	}
	p.Add("scheme", "%s", h.Scheme)
	p.Add("port", "%d", c.Port)
	p.Add("path", "%s", keys.Quoted(h.Path))
	p.MayText("host", h.Host)
	p.May("method", "%s", h.Method)
	p.May("headers", "%s", headers)
	p.May("status", "[%s]", strings.Join(codes, ", "))
	p.MayText("body", h.Body)
	p.May("redirects", "%d", h.Redirects)
	p.May("no_connection", "%s", h.NoConnection)
	p.May("certificate_days", "%d", h.TLS.Days)
	p.May("insecure", "%t", h.TLS.Insecure)
	p.May("keep_alive", "%t", h.KeepAlive)
}
