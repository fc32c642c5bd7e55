package owner

import (
	"hale/internal/core/belief"
	"hale/internal/core/budget"
	"hale/internal/core/guard"
	"hale/internal/core/round"
)

// The budgets that fleets share are kept in one book, under one key: the owner that begins a repair enters it in the
// transaction that stores the repair, which holds only if the book is as it was read. So no two owners take the same
// last place.

// slot returns what the book is to say of the machine; nil: nothing.
func (o *Owner) slot(m *belief.Machine) *budget.Slot {
	spec := o.Spec()
	if !guard.TakesSlot(m, spec) {
		return nil
	}
	if old, ok := o.State().Slots.Of(m.Name); ok && old.Repair == m.Repair.ID && old.Start == m.Repair.Starts() {
		return &old // where it lay when the repair began
	}
	s := guard.SlotOf(m, spec, o.State().Hosts)
	return &s
}

// entered returns the book as it is to be once the belief is stored, and whether that differs from the present one.
func (o *Owner) entered(m *belief.Machine) (book budget.Slots, differs bool) {
	now := o.State().Slots
	old, has := now.Of(m.Name)
	want := o.slot(m)
	switch {
	case want == nil && !has, want != nil && has && *want == old:
		return now, false
	case want == nil:
		return now.Without(m.Name), true
	}
	return now.With(*want), true
}

// begins reports whether the decision begins a repair that needs a place in the book, or goes on to a step that needs
// another one.
func (o *Owner) begins(m *round.Decided) bool {
	was, is := o.View(m.Index).Machine.Repair, m.Belief.Repair
	return o.slot(&m.Belief) != nil && (was == nil || was.ID != is.ID || was.Starts() != is.Starts())
}

// Claims returns the book as it agrees with what this owner believes: repairs that ended without it, as when hale died
// or the fleet had no owner, give their places back.
func (o *Owner) Claims() budget.Slots {
	book := o.State().Slots
	for _, s := range book {
		if s.Machine.Fleet() != o.Wanted().Name {
			continue
		}
		i, known := o.Index(s.Machine)
		if !known || o.slot(&o.View(i).Machine) == nil || o.View(i).Machine.Repair.ID != s.Repair {
			book = book.Without(s.Machine)
		}
	}
	for i := range o.Len() {
		if s := o.slot(&o.View(i).Machine); s != nil {
			book = book.With(*s)
		}
	}
	return book
}
