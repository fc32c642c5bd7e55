package sizes

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// metric judges a number that is read again and again.
func (c *compiler) metric(n keys.Named[metricDraft]) policy.Metric {
	d := n.Value
	out := policy.Metric{Name: fleet.MetricName(n.Name), Kind: c.metricKind(n), Every: d.every.Value,
		Late: d.late.Value, Smooth: d.smooth.Value, Of: d.of.Value}
	switch out.Kind {
	case policy.MetricPrometheus:
		out.Prometheus = c.prometheus(d.prometheus.Value, d.every)
	case policy.MetricCheck:
		out.Check = c.checkNumber(d.check.Value)
	case policy.MetricProvider:
		out.Usage = d.provider.Value
		c.countedUsage(d.provider)
	case policy.MetricCommand:
		args, env := kinds.Command(c.Finder, keys.ProgramDraft{Command: d.command, Env: d.env}, c.noPlaceholders)
		out.Command = policy.Command{Args: args, Env: env}
	}
	c.readings(d, &out)
	return out
}

// readings judges when a metric is read, and what is believed of it.
func (c *compiler) readings(d metricDraft, out *policy.Metric) {
	switch {
	case d.late.How == keys.Absent:
		out.Late = 3 * out.Every
	case d.late.Known() && d.every.Known() && d.late.Value < d.every.Value:
		c.Add(d.late.Spot, fmt.Sprintf("%s is shorter than every, %s: it would be late before it is read again",
			keys.FormatDuration(d.late.Value), keys.FormatDuration(d.every.Value)), "raise late or lower every")
	}
	if d.env.Written() && !d.command.Written() {
		c.Add(d.env.Spot, "is for command only", "take it out")
	}
	switch {
	case d.of.How != keys.Absent && out.Kind == policy.MetricCommand:
		c.Add(d.of.Spot, "has no effect: a command prints one number", "take it out")
	case d.of.How == keys.Absent && out.TellsApart():
		out.Of = policy.CombineMean
	}
	out.Least, out.Most = 0, math.MaxFloat64
	if out.Usage == policy.UsageCPU || out.Usage == policy.UsageMemory {
		out.Most = 100
	}
	switch bounds := keys.Values(d.between); {
	case !d.between.Given():
	case len(bounds) != 2 || bounds[0] >= bounds[1]:
		c.Add(d.between.Spot, "is not the least and the greatest value", "write for example [0, 100]")
	default:
		out.Least, out.Most = bounds[0], bounds[1]
	}
}

// metricKind returns how the metric is read.
func (c *compiler) metricKind(n keys.Named[metricDraft]) policy.MetricKind {
	d := n.Value
	var said []policy.MetricKind
	for _, w := range []struct {
		kind    policy.MetricKind
		written bool
	}{{policy.MetricPrometheus, d.prometheus.Written()}, {policy.MetricCheck, d.check.Written()},
		{policy.MetricProvider, d.provider.Written()}, {policy.MetricCommand, d.command.Written()}} {
		if w.written {
			said = append(said, w.kind)
		}
	}
	switch len(said) {
	case 0:
		if n.OK {
			c.Add(n.Spot, "does not say where it is read", "add one of prometheus: {url: …, query: …}, check: NAME, "+
				"provider: cpu and command: [PROGRAM]")
		}
		return ""
	case 1:
		return said[0]
	}
	c.Add(n.Spot, fmt.Sprintf("is both %s and %s", said[0], said[1]), "make it two metrics")
	return ""
}

// ownQueryHeaders are those that follow from how a server is asked.
var ownQueryHeaders = map[string]string{"Host": "write it in url", "Content-Length": "take it out",
	"Content-Type": "take it out", "Accept-Encoding": "take it out"}

func (c *compiler) prometheus(d prometheusDraft, every keys.At[time.Duration]) policy.PrometheusQuery {
	q := policy.PrometheusQuery{URL: strings.TrimRight(d.url.Value, "/"), Query: d.query.Value, Label: d.label.Value,
		Headers: kinds.Headers(c.Finder, d.headers.Value, ownQueryHeaders), CA: kinds.Authorities(c.Finder, d.ca),
		Timeout: d.timeout.Value}
	switch {
	case d.timeout.How == keys.Absent:
		q.Timeout = min(defaultMetricTimeout, every.Value/2)
	case d.timeout.Known() && every.Known() && d.timeout.Value >= every.Value:
		c.Add(d.timeout.Spot, fmt.Sprintf("%s is not shorter than every, %s", keys.FormatDuration(d.timeout.Value),
			keys.FormatDuration(every.Value)), "raise every or lower timeout")
	}
	if d.label.Known() && d.label.Value != "" && !labelForm.MatchString(d.label.Value) {
		c.Add(d.label.Spot, fmt.Sprintf("%q is not the name of a label", d.label.Value), "write for example instance")
	}
	if !d.url.Known() {
		return q
	}
	if bad := keys.WebAddressFlaw(d.url.Value, "https://prometheus.example.org",
		"headers: {Authorization: {file: PATH}}"); bad != nil {
		c.Add(d.url.Spot, bad.Message, bad.Hint)
		return q
	}
	u, err := url.Parse(d.url.Value)
	if err != nil {
		return q // that was told
	}
	secret := slices.ContainsFunc(q.Headers, func(h policy.Header) bool { return !h.Secret.None() })
	switch {
	case u.RawQuery != "" || strings.Contains(u.Path, "/api/v1"):
		c.Add(d.url.Spot, "holds more than the server's address", "write it as far as before /api/v1, and the query "+
			"in query")
	case u.Scheme == "http" && d.ca.Written():
		c.Add(d.ca.Spot, "is for https only", "write https in url, or take it out")
	case u.Scheme == "http" && secret && !ownServer(u.Hostname()):
		c.Add(d.headers.Spot, "holds a secret, which would be sent in the clear", "write https in url")
	}
	return q
}

// labelForm is what a label of a series is called.
var labelForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ownServer reports whether what is sent to the host stays on hale's own server.
func ownServer(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// checkNumber judges a number that a check measures.
func (c *compiler) checkNumber(d checkNumberDraft) policy.CheckNumber {
	out := policy.CheckNumber{Check: fleet.CheckName(d.name.Value), Body: kinds.Pattern(c.Finder, d.body)}
	if !d.name.Known() {
		return out
	}
	i := slices.IndexFunc(c.Checks, func(k policy.Check) bool { return string(k.Name) == d.name.Value })
	if i < 0 {
		if !c.Broken {
			c.Add(d.name.Spot, fmt.Sprintf("there is no check %s", d.name.Value), c.checkHint(d.name.Value))
		}
		return out
	}
	k := &c.Checks[i]
	switch {
	case k.Kind == policy.CheckHeartbeat:
		c.Add(d.name.Spot, fmt.Sprintf("check %s measures nothing: the machine reports by itself", k.Name),
			"name a check that asks the machine")
	case k.Kind == policy.CheckPool:
		c.Add(d.name.Spot, fmt.Sprintf("check %s measures nothing: the load balancer finds the machine up or down",
			k.Name), "name a check that asks the machine")
	case !d.body.Written():
	case k.Kind != policy.CheckHTTP:
		c.Add(d.body.Spot, fmt.Sprintf("check %s is of kind %s, whose answer has no body", k.Name, k.Kind),
			"name a check of kind http, or take body out")
	case k.HTTP.KeepAlive || k.HTTP.Method == http.MethodHead:
		c.Add(d.body.Spot, fmt.Sprintf("check %s reads no page", k.Name),
			"take keep_alive and method out of the check, or body here")
	case d.body.Given():
		c.oneGroup(d.body)
	}
	return out
}

// checkHint says which check may have been meant.
func (c *compiler) checkHint(name string) string {
	var known []string
	for i := range c.Checks {
		known = append(known, string(c.Checks[i].Name))
	}
	slices.Sort(known)
	if len(known) == 0 {
		return "add it under checks"
	}
	return keys.DidYouMean(name, known)
}

// oneGroup reports a pattern that does not say where the number is.
func (c *compiler) oneGroup(body keys.At[string]) {
	if p, err := regexp.Compile(body.Value); err == nil && p.NumSubexp() != 1 {
		c.Add(body.Spot, fmt.Sprintf("has %d groups, and one of them is the number", p.NumSubexp()),
			"put the number alone in round brackets, as users: ([0-9.]+); others are written (?:…)")
	}
}

// countedUsage reports what the provider does not count.
func (c *compiler) countedUsage(u keys.At[policy.Usage]) {
	if !u.Known() || c.Kind == nil || slices.Contains(c.Kind.Usages, u.Value) {
		return
	}
	c.Add(u.Spot, fmt.Sprintf("is not available: a provider of type %s does not tell it of its machines", c.Kind.Word),
		"read it by prometheus, or by a check of the machine")
}

// noPlaceholders reports what would be replaced in a command that is run for one machine.
func (c *compiler) noPlaceholders(s keys.Spot, text string) {
	for _, word := range policy.Placeholders() {
		if strings.Contains(text, word) {
			c.Add(s, word+" is not replaced: the number is the whole fleet's", "take it out")
		}
	}
}
