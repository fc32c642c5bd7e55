package fleet

import "slices"

// Placement says on which hosts a fleet's new instances are built. The zero value: on any, spread over the hosts. It
// moves nothing that stands.
type Placement struct {
	// Spread is the kind of domain over which they are spread evenly, before hosts; empty: hosts alone.
	Spread DomainKind
	// Apart says that no two of them may be in one such domain (anti-affinity). Hosts without a stated place count as
	// one domain.
	Apart bool
	// Only are the domains in which they may be built: of each kind that is named, one (affinity). Empty: anywhere.
	Only []Domain
}

// By returns the kind of domain over which instances are spread.
func (p *Placement) By() DomainKind {
	if p.Spread == "" {
		return DomainHost
	}
	return p.Spread
}

// Allows reports whether the host lies in one of the domains of each kind that is named.
func (p *Placement) Allows(h Host) bool {
	for _, d := range p.Only {
		same := func(other Domain) bool { return other.Kind == d.Kind && other.Contains(h) }
		if !slices.ContainsFunc(p.Only, same) {
			return false
		}
	}
	return true
}

// Within returns the name of the host's domain of that kind; empty: its place is not stated.
func (h *Host) Within(kind DomainKind) string {
	switch kind {
	case DomainHost:
		return string(h.Name)
	case DomainRack:
		return h.Place.Rack
	case DomainRoom:
		return h.Place.Room
	case DomainZone:
		return h.Place.Zone
	case DomainStorage:
		return h.Place.Storage
	case DomainNetwork:
	}
	return ""
}
