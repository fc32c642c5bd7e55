// Package budget is the book of the machines in repair of all fleets, in which the budgets that fleets share are kept
// (L5). Who may take a place in it is for package guard.
package budget

import (
	"cmp"
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Slot is a machine in repair, as all fleets of the installation count it.
type Slot struct {
	Machine  fleet.MachineName
	Repair   string
	Provider fleet.ProviderName
	// Start says that its repair only sets going what does not run: it counts among the starts, and not in the budgets.
	Start bool `json:",omitempty"`
	// Host and Place are where the machine lay when its repair began.
	Host  fleet.HostName `json:",omitempty"`
	Place fleet.Place    `json:",omitzero"`
}

// Slots are the machines in repair of all fleets, sorted by name: the book in which the budgets that fleets share are
// kept (L5).
type Slots []Slot

// Of returns the machine's slot, and whether it has one.
func (s Slots) Of(m fleet.MachineName) (Slot, bool) {
	i, ok := slices.BinarySearchFunc(s, m, func(a Slot, m fleet.MachineName) int { return cmp.Compare(a.Machine, m) })
	if !ok {
		return Slot{}, false
	}
	return s[i], true
}

// With returns the book with the slot in it, in place of what the machine had.
func (s Slots) With(slot Slot) Slots {
	out := s.Without(slot.Machine)
	at, _ := slices.BinarySearchFunc(out, slot.Machine, func(a Slot, m fleet.MachineName) int {
		return cmp.Compare(a.Machine,
			m)
	})
	return slices.Insert(out, at, slot)
}

// Without returns the book without the machine.
func (s Slots) Without(m fleet.MachineName) Slots {
	return slices.DeleteFunc(slices.Clone(s), func(a Slot) bool { return a.Machine == m })
}

// In returns which scope of the kind the slot lies in; empty: in none that anybody named.
func (s *Slot) In(k policy.ScopeKind) string {
	switch k {
	case policy.ScopeInstallation:
		return string(policy.ScopeInstallation)
	case policy.ScopeProvider:
		return string(s.Provider)
	case policy.ScopeHost:
		return string(s.Host)
	case policy.ScopeRack:
		return s.Place.Rack
	case policy.ScopeRoom:
		return s.Place.Room
	case policy.ScopeZone:
		return s.Place.Zone
	}
	return ""
}

// Shares reports whether the two lie in one scope of the kind.
func (s *Slot) Shares(k policy.ScopeKind, o *Slot) bool {
	in := s.In(k)
	return in != "" && in == o.In(k) && (k == policy.ScopeInstallation || s.Provider == o.Provider)
}
