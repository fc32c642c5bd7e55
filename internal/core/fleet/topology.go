package fleet

// DomainKind is a sort of thing that takes everything in it along when it fails.
type DomainKind string

// The kinds of domain, the most specific first.
const (
	DomainHost    DomainKind = "host"
	DomainRack    DomainKind = "rack"
	DomainRoom    DomainKind = "room"
	DomainZone    DomainKind = "zone"
	DomainNetwork DomainKind = "network"
	DomainStorage DomainKind = "storage"
)

// grade orders the kinds from the most specific; an unknown one comes last.
func (k DomainKind) grade() int {
	switch k {
	case DomainHost:
		return 0
	case DomainRack:
		return 1
	case DomainRoom:
		return 2
	case DomainZone:
		return 3
	case DomainNetwork:
		return 4
	case DomainStorage:
		return 5
	}
	return 6
}

// MoreSpecific reports whether k names a smaller sort of thing than other.
func (k DomainKind) MoreSpecific(other DomainKind) bool { return k.grade() < other.grade() }

// Domain is one such thing: a rack, a network.
type Domain struct {
	Kind DomainKind
	Name string
}

// None reports whether there is no domain.
func (d Domain) None() bool { return d.Name == "" }

// Place is where a host stands, as far as anybody said; what is empty is not known.
type Place struct {
	Rack, Room, Zone string
	// Storage is what the instances of the host lie on, where hosts share it.
	Storage string
}

// Contains reports whether the domain is the host, or a place that it stands in. Of networks a host knows nothing.
func (d Domain) Contains(h Host) bool {
	if d.None() {
		return false
	}
	return h.Within(d.Kind) == d.Name
}

// Spares reports whether an instance built on the host would surely lie outside the domain. The template's network is
// the same everywhere, and a host without a named storage may share it.
func (d Domain) Spares(h Host) bool {
	switch d.Kind {
	case DomainNetwork:
		return false
	case DomainStorage:
		return h.Place.Storage != "" && !d.Contains(h)
	case DomainHost, DomainRack, DomainRoom, DomainZone:
	}
	return !d.Contains(h)
}
