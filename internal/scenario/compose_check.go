package scenario

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/fleet"
)

// pairs collects the keys of a mapping in one line, leaving out what is as it is anyway.
type pairs []string

func (p *pairs) add(key, format string, value ...any) {
	*p = append(*p, key+": "+fmt.Sprintf(format, value...))
}

func (p *pairs) unless(usual bool, key, format string, value ...any) {
	if !usual {
		p.add(key, format, value...)
	}
}

func (p *pairs) String() string { return "{" + strings.Join(*p, ", ") + "}" }

func checks(all []fleet.Check) []string {
	out := make([]string, 0, len(all))
	for i := range all {
		c := &all[i]
		var p pairs
		switch c.Kind {
		case fleet.CheckPing:
			p.add("ping", "{}")
		case fleet.CheckTCP:
			tcp := pairs{fmt.Sprintf("port: %d", c.Port)}
			tcp.unless(!c.Full, "full", "true")
			p.add("tcp", "%s", tcp.String())
		case fleet.CheckHTTP:
			p.add("http", "%s", httpOf(c))
		case fleet.CheckExec:
			p.add("exec", "%s", execOf(&c.Exec))
		case fleet.CheckAgent:
			p.add("agent", "{}")
		default:
			p.add(string(c.Kind), "%s", serviceOf(c))
		}
		p.add("every", "%s", c.Every)
		p.add("timeout", "%s", c.Timeout)
		counted(&p, "down", c.DownAfter, c.DownIn)
		counted(&p, "up", c.UpAfter, c.UpIn)
		p.unless(len(c.NotEvery) == 0, "not_every", "[%s]", strings.Join(hoursOf(c.NotEvery), ", "))
		p.unless(len(c.DependsOn) == 0, "depends_on", "%s", strings.ReplaceAll(fmt.Sprint(c.DependsOn), " ", ", "))
		out = append(out, string(c.Name)+": "+p.String())
	}
	return out
}

func counted(p *pairs, key string, n, within int) {
	if within > n {
		p.add(key, "%d in %d", n, within)
	} else {
		p.add(key+"_after", "%d", n)
	}
}

func hoursOf(all []fleet.Hours) []string {
	out := make([]string, 0, len(all))
	for _, h := range all {
		var p pairs
		var days []string
		for d := range time.Saturday + 1 {
			if h.Days != 0 && h.Days.Has(d) {
				days = append(days, strings.ToLower(d.String()[:3]))
			}
		}
		p.add("at", `"%s-%s"`, oClock(h.From), oClock(h.To))
		p.unless(len(days) == 0, "days", "[%s]", strings.Join(days, ", "))
		p.unless(h.Zone == time.UTC, "zone", "%s", h.Zone)
		out = append(out, p.String())
	}
	return out
}

func oClock(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute)
}

// httpOf leaves the authorities out, which are a file of their own: simulated machines have no certificates.
func httpOf(c *fleet.Check) string {
	var p, headers pairs
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
	return p.String()
}

func execOf(c *fleet.ExecCheck) string {
	var p, env pairs
	words := make([]string, len(c.Command))
	for i, w := range c.Command {
		words[i] = quoted(w)
	}
	for _, v := range c.Env {
		env.add(v.Name, "%s", plainOrSecret(v.Value, v.Secret))
	}
	p.add("command", "[%s]", strings.Join(words, ", "))
	p.unless(len(env) == 0, "env", "%s", env.String())
	p.unless(c.Warning == "", "warning", "%s", c.Warning)
	return p.String()
}

// plainOrSecret writes a value. Of a secret not even the place is told; simulated machines do not ask for it.
func plainOrSecret(value string, s fleet.Secret) string {
	if s.None() {
		return quoted(value)
	}
	return "{env: SECRET}"
}
