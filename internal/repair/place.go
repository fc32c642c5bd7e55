package repair

import (
	"hash/fnv"
	"slices"

	"hale/internal/fleet"
	"hale/internal/guard"
)

// place chooses the host for a new instance: of those that are allowed, in the domain with the fewest of the fleet's, the one with the
// fewest; equals are told apart by a hash of the repair's id. A host in a domain that fails as a whole is taken only when there is no other,
// and never for a machine that is moved out of it; one where another instance bears the machine's mark, and so most likely its name, only
// when there is no other at all.
func (w *Work) place(id string) (fleet.HostName, bool) {
	free := func(h fleet.Host) bool {
		return !slices.ContainsFunc(w.M.Strays, func(s fleet.Stray) bool { return s.Host == h.Name })
	}
	if host, ok := w.leastLoaded(id, func(h fleet.Host) bool { return w.outside(h) && free(h) }); ok {
		return host, ok
	}
	if host, ok := w.leastLoaded(id, w.outside); ok || w.evacuated() {
		return host, ok
	}
	return w.leastLoaded(id, func(fleet.Host) bool { return true })
}

func (w *Work) leastLoaded(id string, fit func(fleet.Host) bool) (fleet.HostName, bool) {
	best, found := (*fleet.Host)(nil), false
	inDomain, onHost := w.crowd()
	for i := range w.Situation.Hosts {
		h := &w.Situation.Hosts[i]
		if !w.usable(h) || !w.M.Reaches(*h) || !w.allowed(h, inDomain) || !fit(*h) {
			continue
		}
		if !found || w.emptier(id, h, best, inDomain, onHost) {
			best, found = h, true
		}
	}
	if !found {
		return "", false
	}
	return best.Name, true
}

func (w *Work) emptier(id string, a, b *fleet.Host, inDomain map[string]int, onHost map[fleet.HostName]int) bool {
	if by := w.Situation.Spec.Placement.Spread; by != "" {
		if x, y := inDomain[a.Within(by)], inDomain[b.Within(by)]; x != y {
			return x < y
		}
	}
	if x, y := onHost[a.Name], onHost[b.Name]; x != y {
		return x < y
	}
	return rank(id, a.Name) < rank(id, b.Name)
}

// crowd counts the instances of the fleet's other machines in each domain that it is spread over, and those of all, the one that is just
// replaced among them, on each host.
func (w *Work) crowd() (inDomain map[string]int, onHost map[fleet.HostName]int) {
	inDomain, onHost = make(map[string]int), w.Load()
	by := w.Situation.Spec.Placement.By()
	for i := range w.Situation.Hosts {
		h := &w.Situation.Hosts[i]
		inDomain[h.Within(by)] += onHost[h.Name]
		if was, somewhere := w.View.Machine.Takes(); somewhere && was == h.Name {
			inDomain[h.Within(by)]--
		}
	}
	return inDomain, onHost
}

// allowed reports whether the fleet's placement lets an instance of it be built there.
func (w *Work) allowed(h *fleet.Host, inDomain map[string]int) bool {
	p := &w.Situation.Spec.Placement
	return p.Allows(*h) && (!p.Apart || inDomain[h.Within(p.By())] == 0)
}

// usable reports whether something may be ordered there: the host answers, nobody wants it to be empty, or holds it, and what is built there could write.
func (w *Work) usable(h *fleet.Host) bool {
	return h.Up && !h.Closed && !h.Disabled && h.Fence.Access != fleet.AccessCut && !guard.HostHeld(h.Name, w.Situation)
}

// buildsOn reports whether the host of that name is usable.
func (w *Work) buildsOn(name fleet.HostName) bool {
	return slices.ContainsFunc(w.Situation.Hosts, func(h fleet.Host) bool { return h.Name == name && w.usable(&h) })
}

// nowhere says why there is no host to build on.
func (w *Work) nowhere() fleet.Reason {
	inDomain, _ := w.crowd()
	up, reached, allowed := false, false, false
	for i := range w.Situation.Hosts {
		h := &w.Situation.Hosts[i]
		if !h.Up || h.Closed || h.Disabled {
			continue
		}
		if guard.HostHeld(h.Name, w.Situation) {
			return fleet.ReasonHold
		}
		reaches := w.M.Reaches(*h)
		up, reached, allowed = true, reached || reaches, allowed || reaches && w.allowed(h, inDomain)
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
func (w *Work) outside(h fleet.Host) bool {
	return !slices.ContainsFunc(w.Situation.Whole.Parents, func(p fleet.Parent) bool { return !p.Domain.Spares(h) })
}

// evacuated reports whether the machine is being moved out of a domain: its instance stood, and was not gone.
func (w *Work) evacuated() bool {
	p := guard.Parent(w.M, w.Situation)
	return p != nil && guard.Leaving(p, w.Situation)
}

func rank(id string, host fleet.HostName) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id + "\x00" + string(host))) // hash.Hash never fails to write
	return h.Sum64()
}
