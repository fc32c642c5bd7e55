package policy

import (
	"slices"

	"hale/internal/core/fleet"
)

// Placement says on which hosts a fleet's new instances are built. The zero value: on any, spread over the hosts. It
// moves nothing that stands.
type Placement struct {
	// Spread is the kind of domain over which they are spread evenly, before hosts; empty: hosts alone.
	Spread fleet.DomainKind
	// Apart says that no two of them may be in one such domain (anti-affinity). Hosts without a stated place count as
	// one domain.
	Apart bool
	// Only are the domains in which they may be built: of each kind that is named, one (affinity). Empty: anywhere.
	Only []fleet.Domain
}

// By returns the kind of domain over which instances are spread.
func (p *Placement) By() fleet.DomainKind {
	if p.Spread == "" {
		return fleet.DomainHost
	}
	return p.Spread
}

// Allows reports whether the host lies in one of the domains of each kind that is named.
func (p *Placement) Allows(h fleet.Host) bool {
	for _, d := range p.Only {
		same := func(other fleet.Domain) bool { return other.Kind == d.Kind && other.Contains(h) }
		if !slices.ContainsFunc(p.Only, same) {
			return false
		}
	}
	return true
}
