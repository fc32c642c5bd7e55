package config

import (
	"crypto/x509"
	"fmt"
	"regexp"
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
				c.add(d.spot, "goes in a circle: "+strings.Join(append(slices.Clone(path[begin:]), d.value),
					" → "), "let a check depend only on what is below it")
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
	for _, w := range ways {
		if w.written(&d) {
			kinds = append(kinds, w.kind)
			w.compile(c, &d, &out)
		}
	}
	switch len(kinds) {
	case 0:
		c.add(n.spot, "does not say what to check", "add one of "+wayExamples())
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
	case heartbeatWay.written(&d):
		return c.beatTimeout(d)
	case d.timeout.how == absent:
		return min(defaultTimeout, d.every.value/2)
	case !d.timeout.known() || !d.every.known() || d.timeout.value < d.every.value:
	case d.every.given() && d.every.value < d.timeout.value:
		c.add(d.every.spot, fmt.Sprintf("%s is shorter than timeout %s", formatDuration(d.every.value),
			formatDuration(d.timeout.value)),
			"raise every or lower timeout")
	case d.every.given():
		c.add(d.every.spot, fmt.Sprintf("%s is no longer than timeout", formatDuration(d.every.value)),
			"raise every or lower timeout")
	default:
		c.add(d.timeout.spot, fmt.Sprintf("%s is not shorter than every, which is %s by default",
			formatDuration(d.timeout.value), formatDuration(defaultEvery)), "add a longer every or lower timeout")
	}
	return d.timeout.value
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

// demand is what a certificate must be.
func (c *fleetCompiler) demand(ca at[string], days at[int], insecure at[bool]) fleet.TLSCheck {
	if ca.written() && insecure.value {
		c.add(insecure.spot, "comes beside ca", "take insecure out: ca says whom to trust")
	}
	return fleet.TLSCheck{CA: c.authorities(ca), Days: days.value, Insecure: insecure.value}
}

// pattern returns a regular expression as it is written.
func (c *fleetCompiler) pattern(p at[string]) string {
	if !p.given() {
		return ""
	}
	if _, err := regexp.Compile(p.value); err != nil {
		c.add(p.spot, strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			"write a regular expression of RE2's kind; \\. stands for a dot")
	}
	return p.value
}

// hostName reports what is no name of a host.
func (c *fleetCompiler) hostName(h at[string]) {
	if h.known() && strings.ContainsAny(h.value, "/ @\t\r\n") {
		c.add(h.spot, fmt.Sprintf("%q is not a host name", h.value), "write for example www.example.org")
	}
}
