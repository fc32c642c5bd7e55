package fleet

import (
	"cmp"
	"slices"
)

// Slot is a machine in repair, as all fleets of the installation count it.
type Slot struct {
	Machine  MachineName
	Repair   string
	Provider ProviderName
	// Start says that its repair only sets going what does not run: it counts among the starts, and not in the budgets.
	Start bool `json:",omitempty"`
	// Host and Place are where the machine lay when its repair began.
	Host  HostName `json:",omitempty"`
	Place Place    `json:",omitzero"`
}

// Slots are the machines in repair of all fleets, sorted by name: the book in which the budgets that fleets share are
// kept (L5).
type Slots []Slot

// Of returns the machine's slot, and whether it has one.
func (s Slots) Of(m MachineName) (Slot, bool) {
	i, ok := slices.BinarySearchFunc(s, m, func(a Slot, m MachineName) int { return cmp.Compare(a.Machine, m) })
	if !ok {
		return Slot{}, false
	}
	return s[i], true
}

// With returns the book with the slot in it, in place of what the machine had.
func (s Slots) With(slot Slot) Slots {
	out := s.Without(slot.Machine)
	at, _ := slices.BinarySearchFunc(out, slot.Machine, func(a Slot, m MachineName) int {
		return cmp.Compare(a.Machine,
			m)
	})
	return slices.Insert(out, at, slot)
}

// Without returns the book without the machine.
func (s Slots) Without(m MachineName) Slots {
	return slices.DeleteFunc(slices.Clone(s), func(a Slot) bool { return a.Machine == m })
}

// ScopeKind says what a shared budget is about.
type ScopeKind string

// The scopes that fleets share.
const (
	ScopeInstallation ScopeKind = "installation"
	ScopeProvider     ScopeKind = "provider"
	ScopeHost         ScopeKind = "host" // of the provider, as all below
	ScopeRack         ScopeKind = "rack"
	ScopeRoom         ScopeKind = "room"
	ScopeZone         ScopeKind = "zone"
)

// SharedLimit bounds the machines in repair at once in each scope of a kind.
type SharedLimit struct {
	Scope    ScopeKind
	InRepair int
}

// StartLimits bound how many machines that are off are started at once, of all fleets: when a host or a rack is
// back, its machines are not all to boot in one moment.
func StartLimits() []SharedLimit {
	return []SharedLimit{{ScopeHost, 8}, {ScopeProvider, 40}, {ScopeInstallation, 80}}
}

// In returns which scope of the kind the slot lies in; empty: in none that anybody named.
func (s *Slot) In(k ScopeKind) string {
	switch k {
	case ScopeInstallation:
		return string(ScopeInstallation)
	case ScopeProvider:
		return string(s.Provider)
	case ScopeHost:
		return string(s.Host)
	case ScopeRack:
		return s.Place.Rack
	case ScopeRoom:
		return s.Place.Room
	case ScopeZone:
		return s.Place.Zone
	}
	return ""
}

// Shares reports whether the two lie in one scope of the kind.
func (s *Slot) Shares(k ScopeKind, o *Slot) bool {
	in := s.In(k)
	return in != "" && in == o.In(k) && (k == ScopeInstallation || s.Provider == o.Provider)
}
