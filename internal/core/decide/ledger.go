package decide

import (
	"hale/internal/core/change"
	"hale/internal/core/fleet"
)

// changing is the part of a round that follows what people want the fleet to be: how many machines it has, and from
// which template they are built.
type changing struct{ *round }

// book enters into the ledger what the configuration asks for and destroys nothing, and how wanted changes of machines
// ended. Whatever would destroy something waits for a person's word: package change says what that is.
func (r changing) book() {
	wanted := r.s.Wanted
	if wanted == nil || wanted.Adopt.Selects() { // of what exists already there is as much as there is
		return
	}
	was := r.sit.Whole.Ledger
	l := was
	if l == nil {
		l = fleet.OpenLedger(wanted, r.standing())
	}
	if l.Changing() {
		l = r.bookUpdate(r.bookChanges(l))
	}
	l = r.listen(l)
	if asked := l.Asked(wanted); asked > l.Staying() {
		l = r.grow(l, asked)
	}
	if l != was {
		r.enforce(l)
	}
}

// enforce lets the round go by what is in force from now on.
func (r changing) enforce(l *fleet.Ledger) {
	r.sit.Whole.Ledger = l
	r.s.Spec = l.Force(*r.s.Wanted)
	r.sit.Spec, r.tally.Size = r.s.Spec, r.s.Spec.Size
}

// standing returns the highest number of a machine that has an instance.
func (r changing) standing() int {
	top := 0
	for i := range r.s.Machines {
		m := &r.s.Machines[i].Machine
		if n, _ := m.Name.Ordinal(); n > top && !m.Current.None() && !m.Current.Adopted {
			top = n
		}
	}
	return top
}

// grow takes removals back that did not begin, the last ordered first, and then asks for more machines. What a person
// named goes all the same.
func (r changing) grow(l *fleet.Ledger, size int) *fleet.Ledger {
	for i := len(l.Removals) - 1; i >= 0 && size > l.Staying(); i-- {
		rem := l.Removals[i]
		if rem.Named {
			continue
		}
		if at, known := r.ordered(rem.Machine); known && r.s.Machines[at].Machine.Repair.Removes() {
			continue // it is gone already
		}
		r.record(fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonWithdrawn, Machine: rem.Machine,
			Order: rem.Order, By: rem.By})
		l = l.Dropped(rem.Machine)
	}
	if size > l.Size {
		r.record(fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonSizeUp, Size: size, Limit: l.Size})
		l, r.again = l.Grown(size), true
	}
	return l
}

// bookChanges books the removals that came to an end.
func (r changing) bookChanges(l *fleet.Ledger) *fleet.Ledger {
	for _, rem := range l.Removals {
		at, known := r.ordered(rem.Machine)
		if !known {
			continue
		}
		c := r.s.Machines[at].Machine.Change
		if c == nil || c.Order != rem.Order {
			continue
		}
		rec := fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonGivenUp, Machine: rem.Machine,
			Order: rem.Order, By: rem.By,
			Detail: string(c.Ended), Limit: l.Size}
		if c.Ended == fleet.ReasonRemoved {
			l, rec.Reason, rec.Detail = l.Without(rem.Machine, r.s.Now.Wall), fleet.ReasonSizeDown, ""
		} else {
			l = l.Dropped(rem.Machine)
		}
		rec.Size = l.Size
		r.record(rec)
	}
	return l
}

// confirm takes a person's word for the plan that waits, if it is the plan that the person was shown.
func (r changing) confirm(o *fleet.Order) {
	l := r.sit.Whole.Ledger
	if r.s.Wanted == nil || l == nil {
		r.rule(o, fleet.ReasonNothingWaits)
		return
	}
	p := change.Pending(r.s.Wanted, l, r.s.Machines)
	switch {
	case p.Empty():
		r.rule(o, fleet.ReasonNothingWaits)
		return
	case p.ID != o.Plan:
		r.rule(o, fleet.ReasonStalePlan)
		return
	case p.Blocked != "":
		r.rule(o, p.Blocked)
		return
	}
	r.rule(o, "")
	r.record(fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonConfirmedPlan, Order: o.ID, By: o.By,
		Detail: p.ID, Size: p.To, Limit: p.From})
	next := *l
	next.Removals = append([]fleet.Removal(nil), l.Removals...)
	for _, t := range p.Remove {
		next.Removals = append(next.Removals, fleet.Removal{Machine: t.Machine, Instance: t.Instance, Why: t.Why,
			Order: o.ID, By: o.By})
	}
	if p.Template {
		next.Update = r.updateTo(l, o)
		next.Editions = max(l.Editions, next.Update.Edition)
	}
	r.enforce(&next)
	r.again = true
}

// openChanging opens the machines that are to be changed by a person's order: nothing else may be heard of them.
func (r changing) openChanging() {
	l := r.s.Whole.Ledger
	for i := range l.Removals {
		if at, known := r.ordered(l.Removals[i].Machine); known {
			r.open(at)
		}
	}
	if l.Update.Goes() {
		r.chooseNext(l)
	}
}

// isChanging reports whether the machine is to be changed by a person's order.
func (r changing) isChanging(m *fleet.Machine) bool {
	return r.sit.Whole.Ledger.Changing() && (r.sit.Whole.Ledger.Removal(m.Name) != nil || r.isChosen(m))
}
