package ledger

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/record"
	"hale/internal/core/rollout"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// surge books the machines beyond the size: those that came for an order that is over are to go, and where an order is
// to change a machine that serves, some come that serve meanwhile.
func surge(r *round.Round, l *belief.Ledger) *belief.Ledger {
	for _, s := range l.Surge {
		if l.Removal(s.Machine) == nil && !isNeeded(r, l, s) {
			l = dismissSurge(r, l, s)
		}
	}
	if r.S.Wanted.Update.Surge == 0 {
		return l
	}
	if l.Update.Goes() {
		l = callFor(r, l, belief.Surge{Order: l.Update.Order, By: l.Update.By}, rollout.Left(r, l))
	}
	for i := range r.S.Machines {
		m := &r.S.Machines[i].Machine
		if isReplaced(r, m) && guard.Serves(m, &r.S.Spec, l) {
			l = callFor(r, l, belief.Surge{Order: m.Wanted.Order, By: m.Wanted.By}, 1)
		}
	}
	return l
}

// isReplaced reports whether a person wants a new instance in the machine's place, and it has not begun.
func isReplaced(r *round.Round, m *belief.Machine) bool {
	return m.HasChore(r.S.Now) && m.Wanted.Chore == fleet.OrderReplace
}

// isNeeded reports whether the order is not over for which the machine is there.
func isNeeded(r *round.Round, l *belief.Ledger, s belief.Surge) bool {
	came := new(belief.Machine) // it is not there yet
	if at, known := r.Ordered(s.Machine); known {
		came = &r.S.Machines[at].Machine
	}
	if l.Update.Needs(s.Order, came) {
		return true
	}
	return slices.ContainsFunc(r.S.Machines, func(v situation.View) bool {
		m := &v.Machine
		return isReplaced(r, m) && m.Wanted.Order == s.Order || m.Repair.CarriesOut(s.Order) && m.Repair.Kind.Chore()
	})
}

// callFor returns a ledger in which so many machines are beyond the size for the order, or as many as there is room
// for: what is to go, and has not, takes some.
func callFor(r *round.Round, l *belief.Ledger, as belief.Surge, n int) *belief.Ledger {
	for i := range l.Surge {
		if l.Surge[i].Order == as.Order {
			n--
		}
	}
	if n = min(n, l.Due(r.S.Wanted)+r.S.Wanted.Update.Surge-l.Size); n <= 0 {
		return l
	}
	had := len(l.Surge)
	l, r.Again = l.Surged(n, as, r.S.Wanted.Name), true
	for _, s := range l.Surge[had:] {
		r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonSurge, Machine: s.Machine, Order: s.Order,
			By: s.By})
	}
	return l
}

// dismissSurge returns a ledger in which the machine is to go.
func dismissSurge(r *round.Round, l *belief.Ledger, s belief.Surge) *belief.Ledger {
	next := named(l)
	rem := belief.Removal{Machine: s.Machine, Why: fleet.ReasonSurgeOver, Order: nameOf(next), By: s.By,
		Named: true}
	if at, known := r.Ordered(s.Machine); known {
		rem.Instance = r.S.Machines[at].Machine.Current.ID
	}
	next.Removals = append(slices.Clone(l.Removals), rem)
	r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonSurgeOver, Machine: s.Machine,
		Instance: rem.Instance, Order: rem.Order, By: s.By})
	r.Again = true
	return next
}
