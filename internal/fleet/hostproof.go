package fleet

import (
	"slices"
	"time"
)

// Means is how often a host's power can be tried to be cut from outside, and how long one try may take. The zero value: it cannot.
type Means struct {
	Tries int
	Limit time.Duration
}

// HostProof is what is known of a host that does not answer, in somebody's word: a person's, or that of its power controller which a person asked.
type HostProof struct {
	Order  OrderID
	Host   HostName
	Proof  Proof // ProofWord or ProofHostOff
	By     string
	Reason string    `json:",omitempty"`
	At     time.Time // when it was taken up
	// Until is when it counts no more. Its end forbids harm: no clock lengthens it.
	Until time.Time
	Ends  Instant
}

// Over reports whether it counts no more.
func (p *HostProof) Over(now Now) bool { return !now.Wall.Before(p.Until) || now.Due(p.Ends) }

// LongestWord is the longest that a proof about a host may count.
const LongestWord = 24 * time.Hour

// HostProofOf returns what the order says.
func HostProofOf(o *Order, now Now) HostProof {
	return HostProof{Order: o.ID, Host: o.Host, Proof: o.Proof, By: o.By, Reason: o.Reason, At: now.Wall, Until: now.Wall.Add(o.For), Ends: now.Mono.Add(o.For)}
}

// ProofOf returns what is known of the host by people's orders.
func (w *Whole) ProofOf(host HostName, now Now) Proof {
	best := ProofNone
	for i := range w.Fenced {
		if p := &w.Fenced[i]; p.Host == host && !p.Over(now) && p.Proof.Meets(best) {
			best = p.Proof
		}
	}
	return best
}

// LeftBehind is an instance that was replaced while its host was proven off: it is still there, and removed when the host is back. It may be destroyed (L2),
// as it might have been then.
type LeftBehind struct {
	Incarnation
	Proof Proof
	At    time.Time
}

// mostLeft bounds what a machine left behind.
const mostLeft = 8

// Leave notes an instance that is left where it is. Of many, the oldest is forgotten.
func (m *Machine) Leave(i Incarnation, p Proof, at time.Time) {
	m.Left = append(slices.Clone(m.Left), LeftBehind{i, p, at})
	m.Left = m.Left[max(0, len(m.Left)-mostLeft):]
}

// LeftAt returns the index of the instance among those left behind; -1: it is not.
func (m *Machine) LeftAt(id InstanceID) int {
	return slices.IndexFunc(m.Left, func(l LeftBehind) bool { return l.ID == id })
}

// Retrieve takes an instance off what was left behind.
func (m *Machine) Retrieve(id InstanceID) {
	if m.LeftAt(id) >= 0 {
		m.Left = slices.DeleteFunc(slices.Clone(m.Left), func(l LeftBehind) bool { return l.ID == id })
	}
}
