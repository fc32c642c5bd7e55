package fleet

import (
	"net/netip"
	"time"
)

// Means is how often a host's power, or its access to storage or network, can be tried to be cut from outside, and how
// long one try may take. The zero value: it cannot.
type Means struct {
	Tries int
	// Cuts are the further tries after those, which leave the host its power and cut its access.
	Cuts  int `json:",omitempty"`
	Limit time.Duration
	// Delay is for how long the host is left as it is before the first try: another hale that takes this side for dead
	// may be quicker.
	Delay time.Duration `json:",omitempty"`
	// Access is what the cut method said of the host's access last, and AccessAt when.
	Access   Access  `json:",omitempty"`
	AccessAt Instant `json:",omitempty"`
	// OffAt is when its power controller said last that the host is off; zero: it says that it is on, or nothing.
	OffAt Instant `json:",omitempty"`
}

// offHolds is for how long a controller's word that a host is off says something.
const offHolds = time.Minute

// SaidOff reports whether the host's power controller says that it is off.
func (m Means) SaidOff(now Now) bool { return m.OffAt != 0 && now.Within(offHolds, m.OffAt) }

// Access says whether a host reaches storage and network.
type Access string

// The kinds of access. Without a cut method, or with one that does not answer, it is unknown.
const (
	AccessUnknown Access = ""
	AccessOpen    Access = "open"
	AccessCut     Access = "cut"
)

// Enough returns how many of the tries may end with a proof that satisfies the demand.
func (m Means) Enough(f Fence) int {
	n := 0
	if f.Enough(ProofHostOff) {
		n = m.Tries
	}
	if f.Enough(ProofAccessCut) {
		n += m.Cuts
	}
	return n
}

// LongestWord is the longest that a proof about a host may count.
const LongestWord = 24 * time.Hour

// Host is one place for instances.
type Host struct {
	Name  HostName
	Up    bool
	Place Place
	// Closed says that nothing is built there, and Disabled that the provider's operator wants nothing to be on it;
	// see provider.HostAnswer.
	Closed, Disabled bool
	// Independent says that the host alone knows what is on it; see provider.HostAnswer.
	Independent bool
	// Fence is how its power can be cut, and Serves says that machines of other fleets are known to answer on it.
	Fence  Means
	Serves bool
	// Address is the host's own; invalid: not known, or two hosts have it.
	Address netip.Addr
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
