// Package rollout takes another template through a fleet: which machines try it first, which follow, when it is proven,
// and when it goes no further.
//
// It promises that no machine is chosen beyond what the policy allows at once, and that none follows before the template
// proved itself. It begins nothing: package decide does, as far as the guard lets it.
package rollout

import (
	"cmp"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/round"
)

// New returns the update that a person ordered: to the template in force, which needs no trial, or to another.
func New(r *round.Round, l *belief.Ledger, o *fleet.Order) *belief.Update {
	u := &belief.Update{Template: r.S.Wanted.Template, Edition: max(l.Editions, l.Edition) + 1, Order: o.ID, By: o.By}
	if u.Template.Builds(l.Template) {
		u.Edition, u.Proven = l.Edition, true
	}
	return u
}

// progressOf is how far an update came.
type progress struct {
	machines int // of the fleet, that stay
	old      int // that are not built from it
	on       int // that are, or are being
	under    int // that are being
	well     int // that are, and are healthy
	failed   fleet.Reason
	told     bool // a person, of the machine that failed
}

func progressOf(r *round.Round, l *belief.Ledger) progress {
	var p progress
	for i := range r.S.Machines {
		m := &r.S.Machines[i].Machine
		if n, ok := m.Name.Ordinal(); ok && r.S.Spec.Has(n) && l.Removal(m.Name) == nil {
			p.add(m, l.Update)
		}
	}
	return p
}

// add counts one machine.
func (p *progress) add(m *belief.Machine, u *belief.Update) {
	built := !m.Current.None() && m.Current.Edition == u.Edition
	under := m.Repair != nil && m.Repair.Order == u.Order
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	count(&p.machines, true)
	count(&p.old, !built)
	count(&p.under, under)
	count(&p.on, built || under)
	count(&p.well, built && !under && m.Health.Verdict == belief.VerdictHealthy && m.Current.Certified &&
		m.Incident == nil)
	switch {
	case m.Change != nil && m.Change.Order == u.Order && m.Change.Ended != fleet.ReasonUpdated &&
		m.Change.Ended != fleet.ReasonWithdrawn:
		p.failed, p.told = fleet.ReasonUpdateStopped, true
	case built && !under && !u.Proven && m.Incident != nil && !m.Incident.Blind():
		p.failed = fleet.ReasonUpdateStopped
	}
}

// pilots returns how many machines are to try another template first.
func pilots(r *round.Round) int { return max(1, r.S.Spec.Update.Pilots) }

// Book books how far another template came: whether it is proven, has failed, or is in force everywhere.
func Book(r *round.Round, l *belief.Ledger) *belief.Ledger {
	if !l.Update.Goes() {
		return l
	}
	u, p := *l.Update, progressOf(r, l)
	say := func(kind record.Kind, reason fleet.Reason) {
		r.Record(record.Record{Kind: kind, Reason: reason, Order: u.Order, By: u.By, Size: p.machines})
	}
	switch {
	// put back, or changed once more: this one is not wanted
	case r.S.Wanted != nil && !u.Template.Builds(r.S.Wanted.Template):
		u.Stopped = fleet.ReasonWithdrawn
		say(record.Change, fleet.ReasonWithdrawn)
	case p.failed != "":
		u.Stopped = p.failed
		say(record.Change, p.failed)
		if !p.told {
			say(record.Paged, p.failed)
		}
	case p.old == 0 && p.well == p.machines:
		say(record.Change, fleet.ReasonUpdated)
		next := l.Updated(nil)
		next.Template, next.Edition = u.Template, u.Edition
		return next
	case u.Proven:
		return l
	case p.well < min(pilots(r), p.machines) || p.well < p.on:
		u.Calm = 0
	case u.Calm == 0:
		u.Calm = r.S.Now.Mono
		r.S.Now.Await(u.Calm.Add(r.S.Spec.Update.Soak))
	case r.S.Now.Due(u.Calm.Add(r.S.Spec.Update.Soak)):
		u.Proven = true
		say(record.Change, fleet.ReasonProven)
		r.Again = true
	}
	if u.Stopped == l.Update.Stopped && u.Calm == l.Update.Calm && u.Proven == l.Update.Proven {
		return l
	}
	return l.Updated(&u)
}

// Choose opens the machines that are to be built from the other template next: as many as may try it first, or as
// many as the budget has room for. One that failed on yet another template goes first, then those with the highest
// numbers.
func Choose(r *round.Round, l *belief.Ledger) {
	p := progressOf(r, l)
	room := r.S.Spec.Places() - p.under
	if !l.Update.Proven {
		room = min(room, pilots(r)-p.on)
	}
	var fit []int
	for i := range r.S.Machines {
		if fits(r, &r.S.Machines[i].Machine, l) {
			fit = append(fit, i)
		}
	}
	slices.SortStableFunc(fit, func(a, b int) int {
		return cmp.Or(cmp.Compare(strayed(&r.S.Machines[b].Machine), strayed(&r.S.Machines[a].Machine)),
			cmp.Compare(b, a))
	})
	for _, i := range fit[:max(0, min(room, len(fit)))] {
		r.Chosen = append(r.Chosen, r.S.Machines[i].Machine.Name)
		r.Open(i)
	}
}

// strayed is 1 for a machine that failed on another template, and waits for a person's word; else 0.
func strayed(m *belief.Machine) int {
	if m.Quarantine != nil && m.Quarantine.Reason == fleet.ReasonPilotFailed {
		return 1
	}
	return 0
}

// fits reports whether the machine may be built from the other template now: it is well, or failed on another one.
func fits(r *round.Round, m *belief.Machine, l *belief.Ledger) bool {
	n, ok := m.Name.Ordinal()
	if !ok || !r.S.Spec.Has(n) || l.Removal(m.Name) != nil || m.Current.None() ||
		m.Current.Edition == l.Update.Edition || m.Repair != nil ||
		m.Change != nil && m.Change.Order == l.Update.Order {
		return false
	}
	return strayed(m) > 0 || m.Incident == nil && m.Health.Verdict == belief.VerdictHealthy && m.Current.Certified
}

// IsChosen reports whether the machine is to be built from another template next.
func IsChosen(r *round.Round, m *belief.Machine) bool { return slices.Contains(r.Chosen, m.Name) }
