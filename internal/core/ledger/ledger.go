package ledger

import (
	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/rollout"
	"hale/internal/core/round"
)

// Book enters into the ledger what the configuration asks for and destroys nothing, and how wanted changes of machines
// ended. Whatever would destroy something waits for a person's word: package change says what that is.
func Book(r *round.Round) {
	wanted := r.S.Wanted
	if wanted == nil || wanted.Adopt.Selects() { // of what exists already there is as much as there is
		return
	}
	was := r.Sit.Whole.Ledger
	l := was
	if l == nil {
		l = belief.OpenLedger(wanted, standing(r))
	}
	if l.Changing() {
		l = rollout.Book(r, bookChanges(r, l))
	}
	l = listen(r, l)
	if due := l.Due(wanted); due > l.Staying() {
		l = grow(r, l, due)
	}
	l = surge(r, l)
	if l != was {
		enforce(r, l)
	}
}

// enforce lets the round go by what is in force from now on.
func enforce(r *round.Round, l *belief.Ledger) {
	r.Sit.Whole.Ledger = l
	r.S.Spec = l.Force(*r.S.Wanted)
	r.Sit.Spec, r.Tally.Size = r.S.Spec, r.S.Spec.Size
}

// standing returns the highest number of a machine that has an instance.
func standing(r *round.Round) int {
	top := 0
	for i := range r.S.Machines {
		m := &r.S.Machines[i].Machine
		if n, _ := m.Name.Ordinal(); n > top && !m.Current.None() && !m.Current.Adopted {
			top = n
		}
	}
	return top
}

// grow takes removals back that made no call yet, the last ordered first, and then asks for more machines, until there
// are to be as many, spares included, and beside those beyond the size. What a person named goes all the same.
func grow(r *round.Round, l *belief.Ledger, size int) *belief.Ledger {
	for i := len(l.Removals) - 1; i >= 0 && size > l.Staying(); i-- {
		rem := l.Removals[i]
		if rem.Named {
			continue
		}
		if at, known := r.Ordered(rem.Machine); known && r.S.Machines[at].Machine.Repair.BeganRemoval(rem.Order) {
			continue // it is gone, or a call of it may yet arrive when the machine serves again
		}
		r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonWithdrawn, Machine: rem.Machine,
			Order: rem.Order, By: rem.By})
		l = l.Dropped(rem.Machine)
	}
	if size += len(l.Surge); size > l.Size {
		was := l
		l, r.Again = l.Grown(size, r.S.Wanted), true
		recordGrowth(r, was, l)
		remember(r, was.Posts(), l.Posts())
	}
	return l
}

// bookChanges books the removals that came to an end.
func bookChanges(r *round.Round, l *belief.Ledger) *belief.Ledger {
	for _, rem := range l.Removals {
		at, known := r.Ordered(rem.Machine)
		if !known {
			continue
		}
		c := r.S.Machines[at].Machine.Change
		if c == nil || c.Order != rem.Order {
			continue
		}
		rec := record.Record{Kind: record.Change, Reason: fleet.ReasonGivenUp, Machine: rem.Machine,
			Order: rem.Order, By: rem.By,
			Detail: string(c.Ended), Limit: l.Posts()}
		if c.Ended == fleet.ReasonRemoved {
			if rec.Reason, rec.Detail = fleet.ReasonSizeDown, ""; l.Surging(rem.Machine) != "" {
				rec.Detail = string(fleet.ReasonSurgeOver)
			}
			l = l.Without(rem.Machine, r.S.Now.Wall)
		} else {
			l = l.Dropped(rem.Machine)
		}
		rec.Size = l.Posts()
		r.Record(rec)
	}
	return l
}

// Confirm takes a person's word for the plan that waits, if it is the plan that the person was shown.
func Confirm(r *round.Round, o *fleet.Order) {
	l := r.Sit.Whole.Ledger
	if r.S.Wanted == nil || l == nil {
		r.Rule(o, fleet.ReasonNothingWaits)
		return
	}
	p := change.Pending(r.S.Wanted, l, r.S.Machines, r.S.Hosts)
	switch {
	case p.Empty():
		r.Rule(o, fleet.ReasonNothingWaits)
		return
	case p.ID != o.Plan:
		r.Rule(o, fleet.ReasonStalePlan)
		return
	case p.Blocked != "":
		r.Rule(o, p.Blocked)
		return
	}
	r.Rule(o, "")
	r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonConfirmedPlan, Order: o.ID, By: o.By,
		Detail: p.ID, Size: p.To, Limit: p.From})
	next := *l
	next.Removals = append([]belief.Removal(nil), l.Removals...)
	for _, t := range p.Remove {
		next.Removals = append(next.Removals, belief.Removal{Machine: t.Machine, Instance: t.Instance, Why: t.Why,
			Order: o.ID, By: o.By})
	}
	if p.Template {
		next.Update = rollout.New(r, l, o)
		next.Editions = max(l.Editions, next.Update.Edition)
	}
	enforce(r, &next)
	r.Again = true
}

// OpenChanging opens the machines that are to be changed by a person's order: nothing else may be heard of them.
func OpenChanging(r *round.Round) {
	l := r.S.Whole.Ledger
	for i := range l.Removals {
		if at, known := r.Ordered(l.Removals[i].Machine); known {
			r.Open(at)
		}
	}
	if l.Update.Goes() {
		rollout.Choose(r, l)
	}
}

// IsChanging reports whether the machine is to be changed by a person's order.
func IsChanging(r *round.Round, m *belief.Machine) bool {
	return r.Sit.Whole.Ledger.Changing() && (r.Sit.Whole.Ledger.Removal(m.Name) != nil || rollout.IsChosen(r, m))
}
