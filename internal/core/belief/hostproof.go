package belief

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
)

// HostProof is what is known of a host that does not answer, by a person's word, or by that of its power controller
// when a person asked it.
type HostProof struct {
	Order  fleet.OrderID
	Host   fleet.HostName
	Proof  fleet.Proof // ProofWord or ProofHostOff
	By     string
	Reason string    `json:",omitempty"`
	At     time.Time // when it was taken up
	// Until is when it counts no more. Its end forbids harm: no clock lengthens it.
	Until time.Time
	Ends  fleet.Instant
}

// Over reports whether it counts no more.
func (p *HostProof) Over(now fleet.Now) bool { return now.Reached(p.Until) || now.Due(p.Ends) }

// HostProofOf returns what the order says.
func HostProofOf(o *fleet.Order, now fleet.Now) HostProof {
	return HostProof{Order: o.ID, Host: o.Host, Proof: o.Proof, By: o.By, Reason: o.Reason, At: now.Wall,
		Until: now.Wall.Add(o.For), Ends: now.Mono.Add(o.For)}
}

// ProofOf returns what is known of the host by people's orders.
func (w *Whole) ProofOf(host fleet.HostName, now fleet.Now) fleet.Proof {
	best := fleet.ProofNone
	for i := range w.Fenced {
		if p := &w.Fenced[i]; p.Host == host && !p.Over(now) && p.Proof.Meets(best) {
			best = p.Proof
		}
	}
	return best
}

// LeftBehind is an instance that was replaced while its host was proven off, or cut from what it could write to: it is
// still there, and removed when the host is back. It may be destroyed (L2), as it might have been then.
type LeftBehind struct {
	Incarnation
	Proof fleet.Proof
	At    time.Time
	// Since is when it was left, or when its present owner began: what was seen before says nothing of its access.
	Since fleet.Instant `json:",omitempty"`
	// Open says that its host's access was seen restored while it might run (ProofAccessCut): it may write, beside the
	// machine's instance.
	Open bool `json:",omitempty"`
}

// Cut reports whether it may run, and cannot write.
func (l LeftBehind) Cut() bool { return l.Proof == fleet.ProofAccessCut && !l.Open }

// RestsOn appends the hosts that must stay cut, since something is, or is to be, built in the machine's place.
func (m *Machine) RestsOn(hosts []fleet.HostName) []fleet.HostName {
	for i := range m.Left {
		if m.Left[i].Proof == fleet.ProofAccessCut {
			hosts = append(hosts, m.Left[i].Host)
		}
	}
	r := m.Repair
	if r != nil && (r.Proof == fleet.ProofAccessCut || r.Intent != nil &&
		r.Intent.Op == fleet.OpFence) { // which it may be
		hosts = append(hosts, r.Target.Host)
	}
	return hosts
}

// Rivalled reports whether an instance that was left behind may write by now, beside the machine's own.
func (m *Machine) Rivalled() bool {
	return slices.ContainsFunc(m.Left, func(l LeftBehind) bool { return l.Open })
}

// mostLeft bounds what a machine left behind.
const mostLeft = 8

// Leave notes an instance that is left where it is. Of many, the oldest is forgotten.
func (m *Machine) Leave(i Incarnation, p fleet.Proof, now fleet.Now) {
	m.Left = append(slices.Clone(m.Left), LeftBehind{Incarnation: i, Proof: p, At: now.Wall, Since: now.Mono})
	m.Left = m.Left[max(0, len(m.Left)-mostLeft):]
}

// LeftAt returns the index of the instance among those left behind; -1: it is not.
func (m *Machine) LeftAt(id fleet.InstanceID) int {
	return slices.IndexFunc(m.Left, func(l LeftBehind) bool { return l.ID == id })
}

// Lapse notes that the host's access was seen restored, and returns the instances that may write since then.
func (m *Machine) Lapse(host fleet.Host) []Incarnation {
	var out []Incarnation
	for i := range m.Left {
		l := &m.Left[i]
		if l.Host != host.Name || !l.Cut() || host.Fence.Access != fleet.AccessOpen || host.Fence.AccessAt <= l.Since {
			continue
		}
		if out == nil {
			m.Left = slices.Clone(m.Left)
			l = &m.Left[i]
		}
		l.Open = true
		out = append(out, l.Incarnation)
	}
	return out
}

// Retrieve takes an instance off what was left behind.
func (m *Machine) Retrieve(id fleet.InstanceID) {
	if m.LeftAt(id) >= 0 {
		m.Left = slices.DeleteFunc(slices.Clone(m.Left), func(l LeftBehind) bool { return l.ID == id })
	}
}
