package fleets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/config/times"
	"hale/internal/core/fleet"
	"hale/internal/core/health"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// checks returns those by which machines are judged, and those that only tell.
func (c *compiler) checks() (judged, tells []policy.Check) {
	for _, n := range c.draft.checks.Value {
		if fleet.CheckName(n.Name) == policy.ProviderTerm {
			c.Add(n.Spot, "stands for the provider's own word in unhealthy_when", "choose another name")
		}
		switch {
		case !n.OK:
		case n.Value.tells():
			tells = append(tells, c.check(n))
		default:
			judged = append(judged, c.check(n))
		}
	}
	byName := func(a, b policy.Check) int { return strings.Compare(string(a.Name), string(b.Name)) }
	slices.SortFunc(judged, byName)
	slices.SortFunc(tells, byName)
	c.acyclic()
	return judged, tells
}

// tells reports whether the check only tells.
func (d *checkDraft) tells() bool { return d.then.Value == thenTell }

// judging returns the names of the checks by which machines are judged, sorted.
func (c *compiler) judging() []string {
	return slices.DeleteFunc(c.checkNames(), c.onlyTells)
}

func (c *compiler) onlyTells(name string) bool {
	return slices.ContainsFunc(c.draft.checks.Value, func(n keys.Named[checkDraft]) bool {
		return n.Name == name && n.Value.tells()
	})
}

// judgingCheck reports a name that is none of a check by which machines are judged.
func (c *compiler) judgingCheck(n keys.At[string], known []string, otherwise string) {
	switch {
	case !n.Known() || slices.Contains(known, n.Value):
	case c.onlyTells(n.Value):
		c.Add(n.Spot, fmt.Sprintf("check %s only tells", n.Value), "take it out here, or take out then: tell there")
	default:
		c.Add(n.Spot, fmt.Sprintf("there is no check %s", n.Value), cmp.Or(keys.DidYouMean(n.Value, known), otherwise))
	}
}

func (c *compiler) dependsOn(all []keys.At[string]) []fleet.CheckName {
	var out []fleet.CheckName
	known := c.judging()
	for _, n := range all {
		c.judgingCheck(n, known, "")
		switch {
		case n.How != keys.Given:
			continue
		case slices.Contains(out, fleet.CheckName(n.Value)):
			c.Add(n.Spot, fmt.Sprintf("%s is in the list already", n.Value), "name each once")
		}
		out = append(out, fleet.CheckName(n.Value))
	}
	return out
}

// acyclic reports checks that depend on each other in a circle.
func (c *compiler) acyclic() {
	on := map[string]keys.At[[]keys.At[string]]{}
	for _, n := range c.draft.checks.Value {
		on[n.Name] = n.Value.dependsOn
	}
	done := map[string]bool{}
	var walk func(name string, path []string)
	walk = func(name string, path []string) {
		path = append(path, name)
		for _, d := range on[name].Value {
			begin := slices.Index(path, d.Value)
			switch {
			case begin >= 0:
				c.Add(d.Spot, "goes in a circle: "+strings.Join(append(slices.Clone(path[begin:]), d.Value),
					" → "), "let a check depend only on what is below it")
			case !done[d.Value]:
				walk(d.Value, path)
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

func (c *compiler) check(n keys.Named[checkDraft]) policy.Check {
	d := n.Value
	out := policy.Check{Name: fleet.CheckName(n.Name), Every: d.every.Value, Timeout: c.timeout(d)}
	out.DownAfter, out.DownIn = c.decisive("down", d.downAfter, d.down)
	out.UpAfter, out.UpIn = c.decisive("up", d.upAfter, d.up)
	out.NotEvery, out.DependsOn, out.Tells = times.HoursOf(c.Finder, d.notEvery.Value), c.dependsOn(d.dependsOn.Value),
		d.tells()
	if out.Tells && d.dependsOn.Written() {
		c.Add(d.dependsOn.Spot, "is for checks by which machines are judged; this one speaks only while all of "+
			"them are up", "take it out")
	}
	words, _ := kinds.TakeWays(c.All.CheckWays(), &d.own, kinds.Asked{Finder: c.Finder, Check: &out,
		Received: c.Receives || c.kind.Simulated, Placeholders: c.placeholders})
	switch len(words) {
	case 0:
		c.Add(n.Spot, "does not say what to check", "add one of "+kinds.WayExamples(c.All.CheckWays()))
	case 1:
		out.Kind = policy.CheckKind(words[0])
	default:
		c.Add(n.Spot, fmt.Sprintf("is both %s and %s", words[0], words[1]), "make it two checks")
	}
	out.Sight = c.sight(d, &out)
	if out.Kind == policy.CheckPool && out.Pool.Balancer != "" && !c.kind.Simulated {
		c.byPool(n, &out)
	}
	return out
}

// byPool judges a check that goes by the word of a load balancer: it can speak as often as hale looks there.
func (c *compiler) byPool(n keys.Named[checkDraft], check *policy.Check) {
	name, every := check.Pool.Balancer, n.Value.every
	if !slices.ContainsFunc(c.draft.Pools(), func(p keys.Named[PoolDraft]) bool { return p.Name == name }) {
		c.Add(n.Under(string(policy.CheckPool)).Under("balancer"), "the fleet is not behind "+name,
			fmt.Sprintf("add balancers: {%s: 80} to the fleet", name))
	}
	switch looks := c.Balancers[name]; {
	case check.Every >= looks:
	case every.Given():
		c.Add(every.Spot, fmt.Sprintf("%s is shorter than that of balancer %s", keys.FormatDuration(every.Value), name),
			"write "+keys.FormatDuration(looks)+" or more")
	default:
		check.Every = looks
	}
}

// speakWhileOut reports a condition that says nothing of a machine that is out of its pools: it could never be found
// well, and so never join.
func (c *compiler) speakWhileOut(checks []policy.Check, unhealthy policy.Condition) {
	asked := false
	truth := health.Evaluate(unhealthy, func(name fleet.CheckName) health.Truth {
		i := slices.IndexFunc(checks, func(k policy.Check) bool { return k.Name == name })
		if i >= 0 && checks[i].Kind == policy.CheckPool {
			asked = true
			return health.Absent
		}
		return health.False
	})
	if asked && truth != health.False {
		c.Add(c.draft.checks.Spot,
			"say nothing of a machine that is out of its pool, which it joins only once it is healthy",
			"add a check that asks the machine itself, and name it in unhealthy_when where you write that")
	}
}

// decisive returns how many results decide, in a row (0) or within a number of them. There are two keys for it.
func (c *compiler) decisive(key string, row keys.At[int], window keys.At[share]) (n, within int) {
	if !window.Written() {
		return row.Value, 0
	}
	if row.Written() {
		c.Add(window.Spot, fmt.Sprintf("comes beside %s_after", key), "take one of the two out")
	}
	if window.Value.n == window.Value.of {
		return window.Value.n, 0 // that is in a row
	}
	return window.Value.n, window.Value.of
}

// timeout returns the check's timeout, which is shorter than every.
func (c *compiler) timeout(d checkDraft) time.Duration {
	for _, k := range c.All.Checks {
		if k.Timeout != nil && k.Key.Written(&d.own) {
			return k.Timeout(c.Finder, d.every, d.timeout)
		}
	}
	switch {
	case d.timeout.How == keys.Absent:
		return min(defaultTimeout, d.every.Value/2)
	case !d.timeout.Known() || !d.every.Known() || d.timeout.Value < d.every.Value:
	case d.every.Given() && d.every.Value < d.timeout.Value:
		c.Add(d.every.Spot, fmt.Sprintf("%s is shorter than timeout %s", keys.FormatDuration(d.every.Value),
			keys.FormatDuration(d.timeout.Value)),
			"raise every or lower timeout")
	case d.every.Given():
		c.Add(d.every.Spot, fmt.Sprintf("%s is no longer than timeout", keys.FormatDuration(d.every.Value)),
			"raise every or lower timeout")
	default:
		c.Add(d.timeout.Spot, fmt.Sprintf("%s is not shorter than every, which is %s by default",
			keys.FormatDuration(d.timeout.Value), keys.FormatDuration(defaultEvery)),
			"add a longer every or lower timeout")
	}
	return d.timeout.Value
}
