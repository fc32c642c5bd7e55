package correlation

import (
	"math"
	"slices"

	"hale/internal/core/fleet"
)

// Question says which failures count, and when they are beyond chance.
type Question struct {
	// AtLeast is how many machines must fail in a domain before it is blamed.
	AtLeast int
	// Suspects counts those, too, that may yet turn out to fail.
	Suspects bool
	// Alone counts this fleet only, and not the others that it was told of.
	Alone bool
	// Without leaves the machines of these domains out: their fate is known already.
	Without []fleet.Domain
}

// Finding is how the failures of one domain look.
type Finding struct {
	Domain           fleet.Domain
	Failing, Members int
	// Chance is how likely so many or more are in this or any other domain that could be blamed, if failures fell at
	// random.
	Chance float64
	// Concentrated says that this is beyond chance, and the domain to blame.
	Concentrated bool
	// Alone is the chance if no machine outside the domain had failed.
	Alone float64

	odds float64 // the logarithm of Chance
}

// tally is the count of one domain.
type tally struct{ members, failing int }

// count is the fleet, domain by domain, as a question sees it.
type count struct {
	whole   tally
	domains []tally // by the numbers of the domains; it stands until the next count
	rivals  int     // domains large enough to be blamed, and smaller than the fleet
}

func (c *Census) count(q Question) count {
	c.tallies = slices.Grow(c.tallies[:0], len(c.domains))[:len(c.domains)]
	clear(c.tallies)
	n := count{domains: c.tallies}
	without := c.numbersOf(q.Without)
	for i := range c.sites {
		s := &c.sites[i]
		if slices.ContainsFunc(without, s.within) {
			continue
		}
		here := tally{members: s.members, failing: s.failing}
		if q.Suspects {
			here.failing += s.suspects
		}
		if !q.Alone {
			here.add(tally{members: s.beside.Members, failing: s.beside.Failing})
		}
		if !q.Alone && q.Suspects {
			here.failing += s.beside.Suspect
		}
		n.whole.add(here)
		for _, d := range s.in {
			n.domains[d].add(here)
		}
	}
	n.domains[0] = tally{} // of those that lie in no such domain
	for _, t := range n.domains {
		if t.members >= q.AtLeast && t.members > 0 && t.members < n.whole.members {
			n.rivals++
		}
	}
	return n
}

func (t *tally) add(other tally) {
	t.members += other.members
	t.failing += other.failing
}

// numbersOf returns the numbers of the domains with machines in them.
func (c *Census) numbersOf(domains []fleet.Domain) []int {
	var out []int
	for _, d := range domains {
		if n, known := c.numbers[d]; known {
			out = append(out, n)
		}
	}
	return out
}

// judge says how one domain's failures look.
func (n *count) judge(d fleet.Domain, t tally, q Question) Finding {
	f := Finding{Domain: d, Failing: t.failing, Members: t.members, Chance: 1, Alone: 1}
	if t.members < n.whole.members {
		rivals := float64(max(1, n.rivals))
		f.Chance = min(1, Chance(n.whole.members, n.whole.failing, t.members, t.failing)*rivals)
		f.odds = logChance(n.whole.members, n.whole.failing, t.members, t.failing) + math.Log(rivals)
		f.Alone = min(1, Chance(n.whole.members, t.failing, t.members, t.failing)*rivals)
	}
	f.Concentrated = q.remarkable(t) && f.Chance <= threshold
	return f
}

// remarkable reports whether enough machines fail in a domain, and enough of its own, for it to be blamed if chance was
// not.
func (q Question) remarkable(t tally) bool {
	return t.failing >= max(1, q.AtLeast) && 2*t.failing >= t.members
}

// before reports whether f is rather to be blamed than other.
func (f Finding) before(other Finding) bool {
	switch {
	case f.Chance != other.Chance:
		return f.Chance < other.Chance
	case f.Chance == 0 && f.odds != other.odds:
		return f.odds < other.odds
	case f.Domain.Kind != other.Domain.Kind:
		return f.Domain.Kind.MoreSpecific(other.Domain.Kind)
	}
	return f.Domain.Name < other.Domain.Name
}

// Blame returns the domain in which failures concentrate beyond chance; of several the least probable, of equals the
// most specific. Concentrated is false when there is none.
func (c *Census) Blame(q Question) Finding {
	var best Finding
	for _, f := range c.Suspicions(q) {
		if !best.Concentrated || f.before(best) {
			best = f
		}
	}
	return best
}

// Suspicions returns every domain in which failures concentrate beyond chance, in the order of the machines.
func (c *Census) Suspicions(q Question) []Finding {
	n := c.count(q)
	var out []Finding
	if n.whole.failing < q.AtLeast {
		return nil
	}
	for d, t := range n.domains {
		if !q.remarkable(t) {
			continue
		}
		if f := n.judge(c.domains[d], t, q); f.Concentrated {
			out = append(out, f)
		}
	}
	return out
}

// Unclear returns, by the numbers of the domains, where some machines fail and others may: on a host, in a rack, and
// wherever all that may fail would be beyond chance with those that do.
func (c *Census) Unclear(q Question) []bool {
	failing, suspect := make([]int, len(c.domains)), make([]int, len(c.domains))
	for i := range c.sites {
		s := &c.sites[i]
		for _, d := range s.in {
			failing[d] += s.failing + s.beside.Failing
			suspect[d] += s.suspects + s.beside.Suspect
		}
	}
	unclear := make([]bool, len(c.domains))
	for d, is := range c.domains {
		near := is.Kind == fleet.DomainHost || is.Kind == fleet.DomainRack
		unclear[d] = near && failing[d] > 0 && suspect[d] > 0
	}
	q.Suspects = true
	for _, f := range c.Suspicions(q) {
		d := c.numbers[f.Domain]
		unclear[d] = suspect[d] > 0
	}
	return unclear
}

// In returns the numbers of the domains that the site lies in; 0 stands for none.
func (c *Census) In(site int) []int { return c.sites[site].in[:] }

// Look says how the failures of one domain look, be they remarkable or not.
func (c *Census) Look(d fleet.Domain, q Question) Finding {
	n := c.count(q)
	if k, known := c.numbers[d]; known && n.domains[k].members > 0 {
		return n.judge(d, n.domains[k], q)
	}
	return Finding{Domain: d, Chance: 1, Alone: 1}
}

// Stands reports whether a domain that was blamed is so still: by its own failures, whatever fails elsewhere meanwhile.
// What was told is not taken back as easily as it is told.
func (f Finding) Stands() bool { return f.Alone <= lenience*threshold }

// lenience is how much likelier by chance a concentration may become before it no longer counts as one.
const lenience = 10

// Covers reports whether every failure in the inner domain is one of the outer, which has others besides.
func (c *Census) Covers(outer, inner fleet.Domain) bool {
	more := false
	for i := range c.sites {
		if c.sites[i].failing+c.sites[i].beside.Failing == 0 {
			continue
		}
		switch in, out := c.Within(i, inner), c.Within(i, outer); {
		case in && !out:
			return false
		case out && !in:
			more = true
		}
	}
	return more
}
