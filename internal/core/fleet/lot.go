package fleet

import "cmp"

// Lot is how the machines of a fleet fare that lie in the same place: what its owner shows to the others on its
// provider, so that each of them looks for the causes of all failures together. It may be a moment old.
type Lot struct {
	Host             HostName
	Network, Storage string
	Members          int
	Failing          int
	// Suspect may turn out to fail, or nothing is known of them now.
	Suspect int
}

// Compare orders lots by place.
func (l Lot) Compare(other Lot) int {
	return cmp.Or(cmp.Compare(l.Host, other.Host), cmp.Compare(l.Network, other.Network),
		cmp.Compare(l.Storage, other.Storage))
}

// Outdated returns what the lot says when its owner has not looked of late: what failed then may fail still, and of the
// others nothing is known. So it may hold a repair, and never speaks for one.
func (l Lot) Outdated() Lot {
	l.Suspect = l.Members - l.Failing
	return l
}
