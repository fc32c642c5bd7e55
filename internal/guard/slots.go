package guard

import "hale/internal/fleet"

// SlotOf returns the slot that a repair of the machine takes.
func SlotOf(m *fleet.Machine, spec *fleet.Spec, hosts []fleet.Host) fleet.Slot {
	s := fleet.Slot{Machine: m.Name, Provider: spec.Provider, Host: m.Lies().Host}
	if m.Repair != nil {
		s.Repair = m.Repair.ID
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
	Limit fleet.SharedLimit
	Name  string // of the scope
	Taken int
}

// SharedBudget returns the first budget shared with other fleets that leaves the machine no repair; nil when there is none such.
func SharedBudget(m *fleet.Machine, s *Situation) *Full {
	if len(s.Spec.Limits.Shared) == 0 {
		return nil
	}
	own := SlotOf(m, &s.Spec, s.Hosts)
	for _, limit := range s.Spec.Limits.Shared {
		taken := 0
		for i := range s.Slots {
			if o := &s.Slots[i]; o.Machine != m.Name && own.Shares(limit.Scope, o) {
				taken++
			}
		}
		if taken >= limit.InRepair && own.In(limit.Scope) != "" {
			return &Full{Limit: limit, Name: own.In(limit.Scope), Taken: taken}
		}
	}
	return nil
}

// TakeSlot books the repair of the machine, if it just began, for those that are decided after it in the same round.
func TakeSlot(m *fleet.Machine, s *Situation) {
	if len(s.Spec.Limits.Shared) == 0 || m.Repair == nil || !m.Repair.Kind.Budgeted() {
		return
	}
	if old, has := s.Slots.Of(m.Name); !has || old.Repair != m.Repair.ID {
		s.Slots = s.Slots.With(SlotOf(m, &s.Spec, s.Hosts))
	}
}
