// Package placement chooses the host on which a new instance of a machine is built.
//
// It promises to name none on which nothing may be ordered, and to say why where there is none at all. Where the
// provider chooses the hypervisor (fleet.Host.Closed), as OpenStack does, what is named stands for all of them, and
// whether one of them has room is not known. How full a host is, it does not know either.
package placement

import (
	"hash/fnv"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// Choice is among the hosts, as they stand for one machine.
type Choice struct {
	m *belief.Machine
	s *guard.Situation
	// inDomain counts the instances of the fleet's other machines in each domain that it is spread over, and onHost
	// those of all, the one that is just replaced among them.
	inDomain map[string]int
	onHost   map[fleet.HostName]int
}

// Of returns the choice for the machine, which is counted where it was before this round.
func Of(m, was *belief.Machine, s *guard.Situation, onHost map[fleet.HostName]int) Choice {
	c := Choice{m: m, s: s, inDomain: make(map[string]int), onHost: onHost}
	by := s.Spec.Placement.By()
	for i := range s.Hosts {
		h := &s.Hosts[i]
		c.inDomain[h.Within(by)] += onHost[h.Name]
		if host, somewhere := was.Takes(); somewhere && host == h.Name {
			c.inDomain[h.Within(by)]--
		}
	}
	return c
}

// Host returns the host for a new instance: of those that are allowed, in the domain with the fewest of the fleet's,
// the one with the fewest; equals are told apart by a hash of the repair's id. A host in a domain that fails as a whole
// is taken only when there is no other, and never for a machine that is moved out of it; so is one on which it was
// built in vain. One where another instance bears the machine's mark, and so most likely its name, only when there is
// no other at all.
func (c Choice) Host(id string) (fleet.HostName, bool) {
	free := func(h fleet.Host) bool {
		return !slices.ContainsFunc(c.m.Strays, func(s belief.Stray) bool { return s.Host == h.Name })
	}
	if host, ok := c.leastLoaded(id, func(h fleet.Host) bool { return c.outside(h) && free(h) && c.untried(h) }); ok {
		return host, ok
	}
	if host, ok := c.leastLoaded(id, func(h fleet.Host) bool { return c.outside(h) && free(h) }); ok {
		return host, ok
	}
	if host, ok := c.leastLoaded(id, c.outside); ok || c.evacuated() {
		return host, ok
	}
	return c.leastLoaded(id, func(fleet.Host) bool { return true })
}

// untried reports whether no build of the machine failed on the host in this incident.
func (c Choice) untried(h fleet.Host) bool { return !slices.Contains(c.m.Spurned, h.Name) }

func (c Choice) leastLoaded(id string, fit func(fleet.Host) bool) (fleet.HostName, bool) {
	best, found := (*fleet.Host)(nil), false
	for i := range c.s.Hosts {
		h := &c.s.Hosts[i]
		if !usable(h, c.s) || !c.m.Reaches(*h) || !c.allowed(h) || !fit(*h) {
			continue
		}
		if !found || c.emptier(id, h, best) {
			best, found = h, true
		}
	}
	if !found {
		return "", false
	}
	return best.Name, true
}

func (c Choice) emptier(id string, a, b *fleet.Host) bool {
	if by := c.s.Spec.Placement.Spread; by != "" {
		if x, y := c.inDomain[a.Within(by)], c.inDomain[b.Within(by)]; x != y {
			return x < y
		}
	}
	if x, y := c.onHost[a.Name], c.onHost[b.Name]; x != y {
		return x < y
	}
	return rank(id, a.Name) < rank(id, b.Name)
}

// allowed reports whether the fleet's placement lets an instance of it be built there.
func (c Choice) allowed(h *fleet.Host) bool {
	policy := &c.s.Spec.Placement
	return policy.Allows(*h) && (!policy.Apart || c.inDomain[h.Within(policy.By())] == 0)
}

// usable reports whether something may be built there: the host answers, it is neither to be empty nor held,
// and what is built there could write.
func usable(h *fleet.Host, s *guard.Situation) bool {
	return h.Up && !h.Closed && !h.Disabled && h.Fence.Access != fleet.AccessCut && !guard.HostHeld(h.Name, s)
}

// BuildsOn reports whether the host of that name is usable.
func BuildsOn(name fleet.HostName, s *guard.Situation) bool {
	return slices.ContainsFunc(s.Hosts, func(h fleet.Host) bool { return h.Name == name && usable(&h, s) })
}

// Nowhere says why there is no host to build on.
func (c Choice) Nowhere() fleet.Reason {
	up, reached, allowed := false, false, false
	for i := range c.s.Hosts {
		h := &c.s.Hosts[i]
		if !h.Up || h.Closed || h.Disabled {
			continue
		}
		if guard.HostHeld(h.Name, c.s) {
			return fleet.ReasonHold
		}
		reaches := c.m.Reaches(*h)
		up, reached, allowed = true, reached || reaches, allowed || reaches && c.allowed(h)
	}
	switch {
	case up && !reached:
		return fleet.ReasonDiskElsewhere
	case up && !allowed:
		return fleet.ReasonNoPlace
	}
	return fleet.ReasonNoHost
}

// outside reports whether the host lies in no domain with an open parent incident.
func (c Choice) outside(h fleet.Host) bool {
	return !slices.ContainsFunc(c.s.Whole.Parents, func(p belief.Parent) bool { return !p.Domain.Spares(h) })
}

// evacuated reports whether the machine is being moved out of a domain: its instance stood, and was not gone.
func (c Choice) evacuated() bool {
	parent := guard.Parent(c.m, c.s)
	return parent != nil && guard.Leaving(parent, c.s)
}

func rank(id string, host fleet.HostName) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id + "\x00" + string(host))) // hash.Hash never fails to write
	return h.Sum64()
}

// Spurn has the next builds of the machine avoid the host, and reports whether the next one may begin at once: it is
// the first that failed, and hale, or the provider where that chooses, can build elsewhere.
func (c Choice) Spurn(host fleet.HostName) bool {
	m := c.m
	if slices.Contains(m.Spurned, host) {
		return false
	}
	m.Spurned = append(slices.Clone(m.Spurned), host)
	if len(m.Spurned) > 1 || m.Anchor != nil {
		return false
	}
	_, elsewhere := c.leastLoaded("", c.untried)
	return elsewhere || slices.ContainsFunc(c.s.Hosts, func(h fleet.Host) bool { return h.Closed })
}

// InVain returns the host on which the attempt that ends built in vain, if it built.
func InVain(m *belief.Machine, why fleet.Reason) (host fleet.HostName, vain bool) {
	switch r := m.Repair; {
	case !r.Step.Builds(), r.Kind != belief.RepairHeal && r.Kind != belief.RepairBuild:
	case why == fleet.ReasonCallFailed && !r.Next.None():
		return r.Next.Host, true
	case why == fleet.ReasonNotVerified && m.Current.Expired:
		return m.Current.Host, true
	}
	return "", false
}
