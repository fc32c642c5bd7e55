package ledger

import (
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/round"
)

// Withdraw takes back an order that the ledger carries out, a removal, a plan or a size: as far as no call of it was
// made. What was is not, and the update stops where it is.
func Withdraw(r *round.Round, o *fleet.Order) {
	l := r.Sit.Whole.Ledger
	if l == nil {
		r.Rule(o, fleet.ReasonNothingOfIt)
		return
	}
	next, some, begun := l, false, false
	var taken []record.Record
	for _, rem := range l.Removals {
		if rem.Order != o.After {
			continue
		}
		some = true
		if at, known := r.Ordered(rem.Machine); known && r.S.Machines[at].Machine.Repair.BeganRemoval(rem.Order) {
			begun = true
			continue
		}
		taken = append(taken, record.Record{Kind: record.Change, Reason: fleet.ReasonWithdrawn, Machine: rem.Machine,
			Order: rem.Order, By: o.By})
		next = next.Dropped(rem.Machine)
	}
	if u := l.Update; u.Goes() && u.Order == o.After {
		stopped := *u
		stopped.Stopped, some = fleet.ReasonWithdrawn, true
		taken = append(taken, record.Record{Kind: record.Change, Reason: fleet.ReasonWithdrawn, Order: u.Order, By: o.By})
		next = next.Updated(&stopped)
	}
	switch {
	case len(taken) > 0:
		r.Rule(o, "")
		r.Record(taken...)
		enforce(r, next)
		r.Again = true
	case begun:
		r.Rule(o, fleet.ReasonHasBegun)
	case !some:
		r.Rule(o, fleet.ReasonNothingOfIt)
	}
}
