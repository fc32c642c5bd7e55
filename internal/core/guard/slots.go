package guard

import (
	"hale/internal/core/belief"
	"hale/internal/core/budget"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// SlotOf returns the slot that a repair of the machine takes.
func SlotOf(m *belief.Machine, spec *policy.Spec, hosts []fleet.Host) budget.Slot {
	s := budget.Slot{Machine: m.Name, Provider: spec.Provider, Host: m.Lies().Host}
	if m.Repair != nil {
		s.Repair, s.Start = m.Repair.ID, m.Repair.Starts()
	}
	for i := range hosts {
		if hosts[i].Name == s.Host {
			s.Place = hosts[i].Place
		}
	}
	return s
}

// Full is a budget that fleets share and that is used up.
type Full struct {
	Limit policy.SharedLimit
	Name  string // of the scope
	Taken int
}

// SharedBudget returns the first budget shared with other fleets that leaves the machine no repair; nil when there is
// none such.
func SharedBudget(m *belief.Machine, s *Situation) *Full {
	return full(m, s, s.Spec.Limits.Shared, false)
}

// Starting returns the limit of starts at once that leaves the machine none; nil when there is none such.
func Starting(m *belief.Machine, s *Situation) *Full { return full(m, s, policy.StartLimits(), true) }

func full(m *belief.Machine, s *Situation, limits []policy.SharedLimit, start bool) *Full {
	if len(limits) == 0 || len(s.Slots) == 0 {
		return nil
	}
	own := SlotOf(m, &s.Spec, s.Hosts)
	for _, limit := range limits {
		if own.In(limit.Scope) == "" {
			continue
		}
		taken := 0
		for i := range s.Slots {
			if o := &s.Slots[i]; o.Start == start && o.Machine != m.Name && own.Shares(limit.Scope, o) {
				taken++
			}
		}
		if taken >= limit.InRepair {
			return &Full{Limit: limit, Name: own.In(limit.Scope), Taken: taken}
		}
	}
	return nil
}

// TakesSlot reports whether the machine's repair is to stand in the book of slots.
func TakesSlot(m *belief.Machine, spec *policy.Spec) bool {
	return m.Repair.Starts() || m.Repair.Budgeted() && len(spec.Limits.Shared) > 0
}

// TakeSlot books the repair of the machine, if it just began, for those that are decided after it in the same round.
func TakeSlot(m *belief.Machine, s *Situation) {
	if !TakesSlot(m, &s.Spec) {
		return
	}
	if old, has := s.Slots.Of(m.Name); !has || old.Repair != m.Repair.ID || old.Start != m.Repair.Starts() {
		s.Slots = s.Slots.With(SlotOf(m, &s.Spec, s.Hosts))
	}
}
