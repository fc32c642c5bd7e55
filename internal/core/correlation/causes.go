package correlation

import (
	"cmp"
	"math"
	"slices"

	"hale/internal/core/fleet"
)

// mostCauses bounds how many domains are blamed together. severally is how much less likely by chance several must be
// than one: there are many ways to choose several.
const (
	mostCauses = 40
	severally  = 0.1
)

// Causes returns the domains that explain the failures best: one, or the fewest of a kind that fail at the same time.
// Each would be tested against a background in which the others fail; together, they are tested against what is left.
// There are none where chance explains the failures.
func (c *Census) Causes(q Question) []Finding {
	one := c.Blame(q)
	several, odds := c.together(q)
	switch {
	case len(several) > 0 && (!one.Concentrated || odds < one.odds):
		return several
	case one.Concentrated:
		return []Finding{one}
	}
	return nil
}

// together returns the domains of one kind, two or more, that are least likely to fail together by chance, and the
// logarithm of that chance.
func (c *Census) together(q Question) (best []Finding, odds float64) {
	n := c.count(q)
	if n.whole.failing < 2*q.AtLeast {
		return nil, 0
	}
	odds = math.Log(severally * threshold)
	for _, kind := range [kinds]fleet.DomainKind{
		fleet.DomainHost, fleet.DomainRack, fleet.DomainRoom,
		fleet.DomainZone, fleet.DomainNetwork, fleet.DomainStorage,
	} {
		worst, rivals := n.worst(c.domains, kind, q)
		var sum tally
		for k, d := range worst[:min(len(worst), mostCauses)] {
			sum.add(n.domains[d])
			if k == 0 || sum.members >= n.whole.members {
				continue
			}
			ways := choose(rivals, k+1) + math.Log(float64(k*(k+1))) // of choosing so many, and of how many to choose
			p := logChance(n.whole.members, n.whole.failing, sum.members, sum.failing) + ways
			if p >= odds {
				continue
			}
			odds, best = p, best[:0]
			for _, d := range worst[:k+1] {
				t := n.domains[d]
				f := n.judge(c.domains[d], t, q)
				f.Chance, f.odds, f.Concentrated = math.Exp(p), p, true
				best = append(best, f)
			}
		}
	}
	return best, odds
}

// worst returns the numbers of the kind's domains in which enough machines fail, those that fail most first, and how
// many domains of the kind there are that could be among them.
func (n *count) worst(domains []fleet.Domain, kind fleet.DomainKind, q Question) (worst []int, rivals int) {
	for d, t := range n.domains {
		if domains[d].Kind != kind || t.members < max(1, q.AtLeast) {
			continue
		}
		rivals++
		if q.remarkable(t) {
			worst = append(worst, d)
		}
	}
	slices.SortFunc(worst, func(a, b int) int {
		x, y := n.domains[a], n.domains[b]
		return cmp.Or(cmp.Compare(y.failing*x.members, x.failing*y.members), cmp.Compare(y.failing, x.failing),
			cmp.Compare(domains[a].Name, domains[b].Name))
	})
	return worst, rivals
}
