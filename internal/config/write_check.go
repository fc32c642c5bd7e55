package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hale/internal/core/fleet"
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

// WriteChecks returns the checks as entries of the key checks, in one line each.
func WriteChecks(all []fleet.Check) []string {
	out := make([]string, 0, len(all))
	for i := range all {
		c := &all[i]
		var p, asks pairs
		for _, w := range ways {
			if w.kind == c.Kind {
				w.write(c, &asks)
			}
		}
		p.add(string(c.Kind), "%s", asks.String())
		p.add("every", "%s", c.Every)
		p.add("timeout", "%s", c.Timeout)
		counted(&p, "down", c.DownAfter, c.DownIn)
		counted(&p, "up", c.UpAfter, c.UpIn)
		p.unless(len(c.NotEvery) == 0, "not_every", "[%s]", strings.Join(hoursOf(c.NotEvery), ", "))
		p.unless(len(c.DependsOn) == 0, "depends_on", "%s", strings.ReplaceAll(fmt.Sprint(c.DependsOn), " ", ", "))
		p.unless(!c.Tells, "then", "%s", thenTell)
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

// plainOrSecret writes a value. Of a secret not even the place is told; simulated machines do not ask for it.
func plainOrSecret(value string, s fleet.Secret) string {
	if s.None() {
		return quoted(value)
	}
	return "{env: SECRET}"
}

// quoted writes a text so that YAML reads it as it is: JSON is YAML.
func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return `""` // a string always can be marshalled
	}
	return string(data)
}
