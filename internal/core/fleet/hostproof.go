package fleet

import (
	"slices"
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

// HostProof is what is known of a host that does not answer, by a person's word, or by that of its power controller
// when a person asked it.
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
func (p *HostProof) Over(now Now) bool { return now.Reached(p.Until) || now.Due(p.Ends) }

// LongestWord is the longest that a proof about a host may count.
const LongestWord = 24 * time.Hour

// HostProofOf returns what the order says.
func HostProofOf(o *Order, now Now) HostProof {
	return HostProof{Order: o.ID, Host: o.Host, Proof: o.Proof, By: o.By, Reason: o.Reason, At: now.Wall,
		Until: now.Wall.Add(o.For), Ends: now.Mono.Add(o.For)}
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

// LeftBehind is an instance that was replaced while its host was proven off, or cut from what it could write to: it is
// still there, and removed when the host is back. It may be destroyed (L2), as it might have been then.
type LeftBehind struct {
	Incarnation
	Proof Proof
	At    time.Time
	// Since is when it was left, or when its present owner began: what was seen before says nothing of its access.
	Since Instant `json:",omitempty"`
	// Open says that its host's access was seen restored while it might run (ProofAccessCut): it may write, beside the
	// machine's instance.
	Open bool `json:",omitempty"`
}

// Cut reports whether it may run, and cannot write.
func (l LeftBehind) Cut() bool { return l.Proof == ProofAccessCut && !l.Open }

// RestsOn appends the hosts that must stay cut, since something is, or is to be, built in the machine's place.
func (m *Machine) RestsOn(hosts []HostName) []HostName {
	for i := range m.Left {
		if m.Left[i].Proof == ProofAccessCut {
			hosts = append(hosts, m.Left[i].Host)
		}
	}
	r := m.Repair
	if r != nil && (r.Proof == ProofAccessCut || r.Intent != nil && r.Intent.Op == OpFence) { // which it may be
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
func (m *Machine) Leave(i Incarnation, p Proof, now Now) {
	m.Left = append(slices.Clone(m.Left), LeftBehind{Incarnation: i, Proof: p, At: now.Wall, Since: now.Mono})
	m.Left = m.Left[max(0, len(m.Left)-mostLeft):]
}

// LeftAt returns the index of the instance among those left behind; -1: it is not.
func (m *Machine) LeftAt(id InstanceID) int {
	return slices.IndexFunc(m.Left, func(l LeftBehind) bool { return l.ID == id })
}

// Lapse notes that the host's access was seen restored, and returns the instances that may write since then.
func (m *Machine) Lapse(host Host) []Incarnation {
	var out []Incarnation
	for i := range m.Left {
		l := &m.Left[i]
		if l.Host != host.Name || !l.Cut() || host.Fence.Access != AccessOpen || host.Fence.AccessAt <= l.Since {
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
func (m *Machine) Retrieve(id InstanceID) {
	if m.LeftAt(id) >= 0 {
		m.Left = slices.DeleteFunc(slices.Clone(m.Left), func(l LeftBehind) bool { return l.ID == id })
	}
}
