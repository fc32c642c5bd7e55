package fleets

import (
	"fmt"
	"strings"

	"hale/internal/config/times"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// WriteChecks returns the checks as entries of the key checks, in one line each.
func WriteChecks(all []policy.Check, known kinds.All) []string {
	out := make([]string, 0, len(all))
	for i := range all {
		c := &all[i]
		var p, asks keys.Pairs
		if k := known.Check(c.Kind); k != nil && k.Write != nil {
			k.Write(c, &asks)
		}
		p.Add(string(c.Kind), "%s", asks.String())
		p.Add("every", "%s", c.Every)
		p.Add("timeout", "%s", c.Timeout)
		counted(&p, "down", c.DownAfter, c.DownIn)
		counted(&p, "up", c.UpAfter, c.UpIn)
		p.May("not_every", "[%s]", strings.Join(times.WriteHours(c.NotEvery), ", "))
		if len(c.DependsOn) > 0 {
			p.Add("depends_on", "%s", strings.ReplaceAll(fmt.Sprint(c.DependsOn), " ", ", "))
		}
		if c.Tells {
			p.Add("then", "%s", thenTell)
		}
		out = append(out, string(c.Name)+": "+p.String())
	}
	return out
}

func counted(p *keys.Pairs, key string, n, within int) {
	if within > n {
		p.Add(key, "%d in %d", n, within)
	} else {
		p.Add(key+"_after", "%d", n)
	}
}
