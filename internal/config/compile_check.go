package config

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"hale/internal/fleet"
)

func (c *fleetCompiler) checks() []fleet.Check {
	var checks []fleet.Check
	for _, n := range c.draft.checks.value {
		if fleet.CheckName(n.name) == fleet.ProviderTerm {
			c.add(n.spot, "stands for the provider's own word in unhealthy_when", "choose another name")
		}
		if n.ok {
			checks = append(checks, c.check(n))
		}
	}
	slices.SortFunc(checks, func(a, b fleet.Check) int { return strings.Compare(string(a.Name), string(b.Name)) })
	c.acyclic()
	return checks
}

func (c *fleetCompiler) dependsOn(all []at[string]) []fleet.CheckName {
	var out []fleet.CheckName
	known := c.checkNames()
	for _, n := range all {
		switch {
		case n.how != given:
			continue
		case !slices.Contains(known, n.value):
			c.add(n.spot, fmt.Sprintf("there is no check %s", n.value), didYouMean(n.value, known))
		case slices.Contains(out, fleet.CheckName(n.value)):
			c.add(n.spot, fmt.Sprintf("%s is in the list already", n.value), "name each once")
		}
		out = append(out, fleet.CheckName(n.value))
	}
	return out
}

// acyclic reports checks that depend on each other in a circle.
func (c *fleetCompiler) acyclic() {
	on := map[string]at[[]at[string]]{}
	for _, n := range c.draft.checks.value {
		on[n.name] = n.value.dependsOn
	}
	done := map[string]bool{}
	var walk func(name string, path []string)
	walk = func(name string, path []string) {
		path = append(path, name)
		for _, d := range on[name].value {
			begin := slices.Index(path, d.value)
			switch {
			case begin >= 0:
				c.add(d.spot, "goes in a circle: "+strings.Join(append(slices.Clone(path[begin:]), d.value), " → "), "let a check depend only on what is below it")
			case !done[d.value]:
				walk(d.value, path)
			}
		}
		done[name] = true
	}
	for _, name := range c.checkNames() {
		if !done[name] {
			walk(name, nil)
		}
	}
}

func (c *fleetCompiler) check(n named[checkDraft]) fleet.Check {
	d := n.value
	out := fleet.Check{Name: fleet.CheckName(n.name), Every: d.every.value, Timeout: c.timeout(d)}
	out.DownAfter, out.DownIn = c.decisive("down", d.downAfter, d.down)
	out.UpAfter, out.UpIn = c.decisive("up", d.upAfter, d.up)
	out.NotEvery, out.DependsOn = c.hours(d.notEvery.value), c.dependsOn(d.dependsOn.value)
	var kinds []fleet.CheckKind
	for _, w := range c.ways(&out, d) {
		if w.written {
			kinds = append(kinds, w.kind)
			w.compile()
		}
	}
	switch len(kinds) {
	case 0:
		c.add(n.spot, "does not say what to check", "add one of "+wayExamples)
	case 1:
		out.Kind = kinds[0]
	default:
		c.add(n.spot, fmt.Sprintf("is both %s and %s", kinds[0], kinds[1]), "make it two checks")
	}
	return out
}

// decisive returns how many results decide, in a row (0) or within a number of them. There are two keys for it.
func (c *fleetCompiler) decisive(key string, row at[int], window at[share]) (n, within int) {
	if !window.written() {
		return row.value, 0
	}
	if row.written() {
		c.add(window.spot, fmt.Sprintf("comes beside %s_after", key), "take one of the two out")
	}
	if window.value.n == window.value.of {
		return window.value.n, 0 // that is in a row
	}
	return window.value.n, window.value.of
}

// timeout returns the check's timeout, which is shorter than every.
func (c *fleetCompiler) timeout(d checkDraft) time.Duration {
	switch {
	case d.heartbeat.written():
		return c.beatTimeout(d)
	case d.timeout.how == absent:
		return min(defaultTimeout, d.every.value/2)
	case !d.timeout.known() || !d.every.known() || d.timeout.value < d.every.value:
	case d.every.given() && d.every.value < d.timeout.value:
		c.add(d.every.spot, fmt.Sprintf("%s is shorter than timeout %s", formatDuration(d.every.value), formatDuration(d.timeout.value)),
			"raise every or lower timeout")
	case d.every.given():
		c.add(d.every.spot, fmt.Sprintf("%s is no longer than timeout", formatDuration(d.every.value)), "raise every or lower timeout")
	default:
		c.add(d.timeout.spot, fmt.Sprintf("%s is not shorter than every, which is %s by default",
			formatDuration(d.timeout.value), formatDuration(defaultEvery)), "add a longer every or lower timeout")
	}
	return d.timeout.value
}

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
		Scheme: d.scheme.value, Path: d.path.value, Host: d.host.value, Headers: c.headers(d.headers.value), Body: c.body(d),
		Redirects: d.redirects.value, TLS: c.tls(d), KeepAlive: d.keepAlive.value,
	}
	if out.KeepAlive && (out.Scheme == "https" || out.Body != "" || out.Redirects > 0 || len(out.Headers) > 0) {
		c.add(d.keepAlive.spot, "is for pages by plain http of which only the status counts", "take keep_alive out, or https, body, redirects and headers")
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
	"Host": "use host", "Connection": "take it out; each probe has a connection of its own", "Content-Length": "take it out; a probe sends no body",
	"Transfer-Encoding": "take it out; a probe sends no body", "Accept-Encoding": "take it out; body looks at the page as it is sent",
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
			c.add(n.spot, "is a secret by its name, and is written here", "keep it in a file or in the environment, and write {file: PATH} or {env: NAME}")
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

// plain reports what is demanded of a certificate where nobody shows one.
func (c *fleetCompiler) plain(only, add string, ca at[string], days at[int], insecure at[bool]) {
	for _, s := range []struct {
		wanted bool
		spot   spot
	}{{ca.written(), ca.spot}, {days.value > 0, days.spot}, {insecure.value, insecure.spot}} {
		if s.wanted {
			c.add(s.spot, "is for "+only+" only", "add "+add+", or take it out")
		}
	}
}

// authorities reads the file of a check's own certificates.
func (c *fleetCompiler) authorities(path at[string]) string {
	if !path.given() {
		return ""
	}
	pem, err := readRegular(resolve(path))
	switch {
	case err != nil:
		c.add(path.spot, "cannot be read: "+err.Error(), "")
	case !x509.NewCertPool().AppendCertsFromPEM([]byte(pem)):
		c.add(path.spot, "holds no certificate", "name a file with -----BEGIN CERTIFICATE-----")
	}
	return pem
}

func (c *fleetCompiler) exec(d execDraft) fleet.ExecCheck {
	var out fleet.ExecCheck
	for _, word := range d.command.value {
		c.placeholders(word.spot, word.value)
		out.Command = append(out.Command, word.value)
	}
	for _, n := range d.env.value {
		value, kept := c.kept(n)
		c.placeholders(n.spot, value)
		out.Env = append(out.Env, fleet.Variable{Name: n.name, Value: value, Secret: kept})
	}
	slices.SortFunc(out.Env, func(a, b fleet.Variable) int { return strings.Compare(a.Name, b.Name) })
	if d.warning.given() && d.warning.value != fleet.WarningFails {
		out.Warning = d.warning.value
	}
	return out
}

// kept returns the text of a header or variable, or where its secret is kept.
func (c *fleetCompiler) kept(n named[valueDraft]) (string, fleet.Secret) {
	d := n.value
	if !n.ok || d.plain.how != absent {
		return d.plain.value, fleet.Secret{}
	}
	if reference := (at[secretDraft]{value: d.secret, how: given, spot: n.spot}); c.secret(reference).None() {
		return "", fleet.Secret{}
	}
	if d.secret.file.written() {
		return "", fleet.Secret{File: resolve(d.secret.file)}
	}
	return "", fleet.Secret{Env: d.secret.env.value}
}
