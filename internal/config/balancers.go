package config

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hale/internal/config/fleets"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// Balancer is the pool of a load balancer.
type Balancer struct {
	Name    string
	Kind    string        // a word of kinds.All
	Every   time.Duration // from one look to the next
	Timeout time.Duration // of one question or order
	// Settings are what the kind's own keys come to.
	Settings kinds.Balancing
}

// Pool is the place of a fleet's machines in a balancer's pool.
type Pool struct {
	Balancer string
	Fleet    fleet.Name
	Port     uint16
	// Wait is how long the connections of a machine that leaves may take to end.
	Wait time.Duration
}

// balancerDraft is one entry of balancers.
type balancerDraft struct {
	own            keys.Own // what the kinds bring
	every, timeout keys.At[time.Duration]
}

const (
	defaultPoolEvery   = 5 * time.Second
	defaultPoolTimeout = 5 * time.Second
)

func balancerShape(all kinds.All) keys.Object[balancerDraft] {
	ways := keys.Within(kinds.WayFields(all.Balancers, "A balancer has one of"),
		func(b *balancerDraft) *keys.Own { return &b.own })
	return keys.Object[balancerDraft]{Fields: append(ways,
		keys.Or("every", defaultPoolEvery,
			"How often hale looks whether the members are as they should be: a balancer "+
				"that was started anew is told again by then.", keys.Duration(time.Second, 5*time.Minute),
			func(b *balancerDraft) *keys.At[time.Duration] { return &b.every }),
		keys.Or("timeout", defaultPoolTimeout, "When no answer to one question or order is a failure.",
			keys.Duration(100*time.Millisecond, 5*time.Minute),
			func(b *balancerDraft) *keys.At[time.Duration] { return &b.timeout }),
	)}
}

// compileBalancers judges the entries of balancers, and who is in their pools.
func compileBalancers(doc document, all kinds.All, f *keys.Finder) ([]Balancer, []Pool) {
	var out []Balancer
	names := []string{}
	for _, n := range doc.balancers.Value {
		d := n.Value
		words, settings := kinds.TakeWays(all.Balancers, &d.own, f)
		switch {
		case len(words) == 0 && n.OK:
			f.Add(n.Spot, "does not say which", "add one of "+kinds.WayExamples(all.Balancers))
		case len(words) > 1:
			f.Add(n.Spot, fmt.Sprintf("is both %s and %s", words[0], words[1]), "make it two balancers")
		}
		names = append(names, n.Name)
		out = append(out, Balancer{Name: n.Name, Kind: cmp.Or(words...), Every: d.every.Value, Timeout: d.timeout.Value,
			Settings: settings})
	}
	slices.SortFunc(out, func(a, b Balancer) int { return cmp.Compare(a.Name, b.Name) })
	var pools []Pool
	for _, n := range doc.fleets.Value {
		pools = append(pools, poolsOf(n, names, f)...)
	}
	slices.SortFunc(pools, func(a, b Pool) int {
		return cmp.Or(cmp.Compare(a.Balancer, b.Balancer), cmp.Compare(a.Fleet, b.Fleet))
	})
	return out, pools
}

// poolsOf are the pools that a fleet names.
func poolsOf(n keys.Named[fleets.Draft], balancers []string, f *keys.Finder) []Pool {
	var out []Pool
	for _, p := range n.Value.Pools() {
		if !slices.Contains(balancers, p.Name) {
			f.Add(p.Spot, "there is no balancer "+p.Name,
				cmp.Or(keys.DidYouMean(p.Name, balancers), "add it under balancers at the top of the file"))
		}
		out = append(out, Pool{Balancer: p.Name, Fleet: fleet.Name(n.Name),
			Port: uint16(p.Value.Port.Value), Wait: p.Value.Wait.Value}) //nolint:gosec // the table bounds it
	}
	return out
}

// balancerWarnings are about pools that hold no machines.
func (c *Config) balancerWarnings() []string {
	var out []string
	for _, b := range c.Balancers {
		if !slices.ContainsFunc(c.Pools, func(p Pool) bool { return p.Balancer == b.Name }) {
			out = append(out, fmt.Sprintf("balancers.%s: no fleet is in it; write fleets.FLEET.balancers: {%s: 80}",
				b.Name,
				b.Name))
		}
	}
	for _, p := range c.Pools {
		i := slices.IndexFunc(c.Fleets, func(f policy.Spec) bool { return f.Name == p.Fleet })
		if i >= 0 && c.Fleets[i].Mode != policy.ModeAct {
			out = append(out, fmt.Sprintf("fleets.%s.balancers.%s: the pool is left as it is while the fleet is only "+
				"observed; write mode: act", p.Fleet, p.Balancer))
		}
	}
	return out
}
