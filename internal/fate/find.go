package fate

import "hale/internal/fleet"

// Question says whom to count, and how.
type Question struct {
	// AtLeast is how many machines must fail in a domain before it is blamed.
	AtLeast int
	// Suspects counts those, too, that may yet turn out to fail.
	Suspects bool
	// Without leaves the machines of these domains out: their fate is known already.
	Without []fleet.Domain
}

// Finding is how the failures of one domain look.
type Finding struct {
	Domain           fleet.Domain
	Failing, Members int
	// Chance is how likely so many or more are in this or any other domain that could be blamed, if failures fell at random.
	Chance float64
	// Concentrated says that this is beyond chance, and the domain to blame.
	Concentrated bool
}

// tally is the count of one domain.
type tally struct {
	domain           fleet.Domain
	members, failing int
}

// count is the fleet, domain by domain, as a question sees it.
type count struct {
	members, failing int
	domains          []tally
	rivals           int // domains large enough to be blamed, and smaller than the fleet
}

func (c *Census) count(q Question) count {
	var n count
	index := make(map[fleet.Domain]int)
	for i := range c.sites {
		s := &c.sites[i]
		if s.among(q.Without) {
			continue
		}
		failing := s.failing
		if q.Suspects {
			failing += s.suspects
		}
		n.members += s.members
		n.failing += failing
		for _, d := range s.domains {
			k, known := index[d]
			if !known {
				k = len(n.domains)
				n.domains = append(n.domains, tally{domain: d})
				index[d] = k
			}
			n.domains[k].members += s.members
			n.domains[k].failing += failing
		}
	}
	for _, t := range n.domains {
		if t.members >= q.AtLeast && t.members < n.members {
			n.rivals++
		}
	}
	return n
}

func (s *site) among(domains []fleet.Domain) bool {
	for _, d := range domains {
		if s.within(d) {
			return true
		}
	}
	return false
}

// judge says how one domain's failures look.
func (n count) judge(t tally, q Question) Finding {
	f := Finding{Domain: t.domain, Failing: t.failing, Members: t.members, Chance: 1}
	if t.members < n.members {
		f.Chance = min(1, Chance(n.members, n.failing, t.members, t.failing)*float64(max(1, n.rivals)))
	}
	f.Concentrated = t.failing >= max(1, q.AtLeast) && 2*t.failing >= t.members && f.Chance <= threshold
	return f
}

// before reports whether f is rather to be blamed than other.
func (f Finding) before(other Finding) bool {
	switch {
	case f.Chance != other.Chance:
		return f.Chance < other.Chance
	case f.Domain.Kind != other.Domain.Kind:
		return f.Domain.Kind.MoreSpecific(other.Domain.Kind)
	}
	return f.Domain.Name < other.Domain.Name
}

// Blame returns the domain in which failures concentrate beyond chance; of several the least probable, of equals the most
// specific. Concentrated is false when there is none.
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
	if n.failing < q.AtLeast {
		return nil
	}
	for _, t := range n.domains {
		if t.failing < q.AtLeast || 2*t.failing < t.members {
			continue
		}
		if f := n.judge(t, q); f.Concentrated {
			out = append(out, f)
		}
	}
	return out
}

// Look says how the failures of one domain look, be they remarkable or not.
func (c *Census) Look(d fleet.Domain, q Question) Finding {
	n := c.count(q)
	for _, t := range n.domains {
		if t.domain == d {
			return n.judge(t, q)
		}
	}
	return Finding{Domain: d, Chance: 1}
}

// Beyond reports whether the failures are still more than chance explains, whatever their share of the domain.
func (f Finding) Beyond() bool { return f.Chance <= threshold }

// Covers reports whether every failure in the inner domain is one of the outer, which has others besides.
func (c *Census) Covers(outer, inner fleet.Domain) bool {
	more := false
	for i := range c.sites {
		s := &c.sites[i]
		if s.failing == 0 {
			continue
		}
		switch in, out := s.within(inner), s.within(outer); {
		case in && !out:
			return false
		case out && !in:
			more = true
		}
	}
	return more
}
