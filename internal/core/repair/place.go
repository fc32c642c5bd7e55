package repair

import (
	"hash/fnv"
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// placement chooses the host for a new instance of the machine.
type placement struct {
	*Chart
	// inDomain counts the instances of the fleet's other machines in each domain that it is spread over, and onHost
	// those of all, the one that is just replaced among them.
	inDomain map[string]int
	onHost   map[fleet.HostName]int
}

func newPlacement(w *Chart) placement {
	p := placement{Chart: w, inDomain: make(map[string]int), onHost: w.Load()}
	by := w.Situation.Spec.Placement.By()
	for i := range w.Situation.Hosts {
		h := &w.Situation.Hosts[i]
		p.inDomain[h.Within(by)] += p.onHost[h.Name]
		if was, somewhere := w.View.Machine.Takes(); somewhere && was == h.Name {
			p.inDomain[h.Within(by)]--
		}
	}
	return p
}

// choose returns the host for a new instance: of those that are allowed, in the domain with the fewest of the fleet's,
// the one with the fewest; equals are told apart by a hash of the repair's id. A host in a domain that fails as a whole
// is taken only when there is no other, and never for a machine that is moved out of it; so is one on which it was
// built in vain. One where another instance bears the machine's mark, and so most likely its name, only when there is
// no other at all.
func (p placement) choose(id string) (fleet.HostName, bool) {
	free := func(h fleet.Host) bool {
		return !slices.ContainsFunc(p.M.Strays, func(s fleet.Stray) bool { return s.Host == h.Name })
	}
	if host, ok := p.leastLoaded(id, func(h fleet.Host) bool { return p.outside(h) && free(h) && p.untried(h) }); ok {
		return host, ok
	}
	if host, ok := p.leastLoaded(id, func(h fleet.Host) bool { return p.outside(h) && free(h) }); ok {
		return host, ok
	}
	if host, ok := p.leastLoaded(id, p.outside); ok || p.evacuated() {
		return host, ok
	}
	return p.leastLoaded(id, func(fleet.Host) bool { return true })
}

// untried reports whether no build of the machine failed on the host in this incident.
func (p placement) untried(h fleet.Host) bool { return !slices.Contains(p.M.Spurned, h.Name) }

func (p placement) leastLoaded(id string, fit func(fleet.Host) bool) (fleet.HostName, bool) {
	best, found := (*fleet.Host)(nil), false
	for i := range p.Situation.Hosts {
		h := &p.Situation.Hosts[i]
		if !p.usable(h) || !p.M.Reaches(*h) || !p.allowed(h) || !fit(*h) {
			continue
		}
		if !found || p.emptier(id, h, best) {
			best, found = h, true
		}
	}
	if !found {
		return "", false
	}
	return best.Name, true
}

func (p placement) emptier(id string, a, b *fleet.Host) bool {
	if by := p.Situation.Spec.Placement.Spread; by != "" {
		if x, y := p.inDomain[a.Within(by)], p.inDomain[b.Within(by)]; x != y {
			return x < y
		}
	}
	if x, y := p.onHost[a.Name], p.onHost[b.Name]; x != y {
		return x < y
	}
	return rank(id, a.Name) < rank(id, b.Name)
}

// allowed reports whether the fleet's placement lets an instance of it be built there.
func (p placement) allowed(h *fleet.Host) bool {
	policy := &p.Situation.Spec.Placement
	return policy.Allows(*h) && (!policy.Apart || p.inDomain[h.Within(policy.By())] == 0)
}

// usable reports whether something may be ordered there: the host answers, it is neither to be empty nor held,
// and what is built there could write.
func (w *Chart) usable(h *fleet.Host) bool {
	return h.Up && !h.Closed && !h.Disabled && h.Fence.Access != fleet.AccessCut && !guard.HostHeld(h.Name, w.Situation)
}

// buildsOn reports whether the host of that name is usable.
func (w *Chart) buildsOn(name fleet.HostName) bool {
	return slices.ContainsFunc(w.Situation.Hosts, func(h fleet.Host) bool { return h.Name == name && w.usable(&h) })
}

// nowhere says why there is no host to build on.
func (p placement) nowhere() fleet.Reason {
	up, reached, allowed := false, false, false
	for i := range p.Situation.Hosts {
		h := &p.Situation.Hosts[i]
		if !h.Up || h.Closed || h.Disabled {
			continue
		}
		if guard.HostHeld(h.Name, p.Situation) {
			return fleet.ReasonHold
		}
		reaches := p.M.Reaches(*h)
		up, reached, allowed = true, reached || reaches, allowed || reaches && p.allowed(h)
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
func (p placement) outside(h fleet.Host) bool {
	return !slices.ContainsFunc(p.Situation.Whole.Parents, func(p fleet.Parent) bool { return !p.Domain.Spares(h) })
}

// evacuated reports whether the machine is being moved out of a domain: its instance stood, and was not gone.
func (p placement) evacuated() bool {
	parent := guard.Parent(p.M, p.Situation)
	return parent != nil && guard.Leaving(parent, p.Situation)
}

func rank(id string, host fleet.HostName) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id + "\x00" + string(host))) // hash.Hash never fails to write
	return h.Sum64()
}

// builtInVain returns the host on which the attempt that ends built in vain, if it built.
func builtInVain(m *fleet.Machine, why fleet.Reason) (host fleet.HostName, vain bool) {
	switch r := m.Repair; {
	case !r.Step.Builds(), r.Kind != fleet.RepairHeal && r.Kind != fleet.RepairBuild:
	case why == fleet.ReasonCallFailed && !r.Next.None():
		return r.Next.Host, true
	case why == fleet.ReasonNotVerified && m.Current.Expired:
		return m.Current.Host, true
	}
	return "", false
}

// spurn has the next builds of the machine avoid the host, and reports whether the next one may begin at once: it is
// the first that failed, and hale, or the provider where that chooses, can build elsewhere.
func (p placement) spurn(host fleet.HostName) bool {
	m := p.M
	if slices.Contains(m.Spurned, host) {
		return false
	}
	m.Spurned = append(slices.Clone(m.Spurned), host)
	if len(m.Spurned) > 1 || m.Anchor != nil {
		return false
	}
	_, elsewhere := p.leastLoaded("", p.untried)
	return elsewhere || slices.ContainsFunc(p.Situation.Hosts, func(h fleet.Host) bool { return h.Closed })
}
