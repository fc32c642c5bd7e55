package ledger

import (
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/rollout"
	"hale/internal/core/round"
)

// Withdraw takes back an order that the ledger carries out, a removal, a plan, a size or the pause of an update: as far
// as no call of it was made. What was is not, and the update stops where it is.
func Withdraw(r *round.Round, o *fleet.Order) {
	l := r.Sit.Whole.Ledger
	if l == nil {
		r.Rule(o, fleet.ReasonNothingOfIt)
		return
	}
	next, begun := l, false
	var taken []record.Record
	for _, rem := range l.Removals {
		if rem.Order != o.After {
			continue
		}
		if at, known := r.Ordered(rem.Machine); known && r.S.Machines[at].Machine.Repair.BeganRemoval(rem.Order) {
			begun = true
			continue
		}
		taken = append(taken, record.Record{Kind: record.Change, Reason: fleet.ReasonWithdrawn, Machine: rem.Machine,
			Order: rem.Order, By: o.By})
		next = next.Dropped(rem.Machine)
	}
	switch {
	case len(taken) > 0 || rollout.Carries(l, o.After):
		r.Rule(o, "")
		r.Record(taken...)
		next = rollout.Withdraw(r, next, o)
		enforce(r, next)
		r.Again = true
	case begun:
		r.Rule(o, fleet.ReasonHasBegun)
	default:
		r.Rule(o, fleet.ReasonNothingOfIt)
	}
}
