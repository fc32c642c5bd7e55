package rollout

import (
	"cmp"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/round"
	"hale/internal/core/spares"
)

// Choose opens the machines that are to be changed next: as many as may try the template first, or as many as the batch
// and the budget have room for. One beyond the size goes first, then one that failed on yet another template, then
// spares, which serve no one, and then those that the policy names. A machine that serves is taken only where no spare
// of the template can take its place before, and, where some are to come beyond the size, once one of them serves.
func Choose(r *round.Round, l *belief.Ledger) {
	p := progressOf(r, l)
	if l.Update.IsPaused() || len(r.S.Unready) > 0 || ask(r, l, p.begun()).holds != "" {
		return
	}
	if anyRests(r, l) {
		return // spares are changed first, and these are being turned on
	}
	room := r.S.Spec.Places() - p.under
	switch batch, _ := batchOf(r, l); {
	case !l.Update.Proven:
		room = min(room, pilots(r)-p.on-p.goes) // one that is to go tries it until it has gone
	case batch > 0:
		room = min(room, l.Update.Upto-p.changed) // the first batch is booked in this round
	}
	free, stands, trying := dispensable(r, l), standIns(r, l), 0
	if awaits(r, l) { // what another order left beyond the size proves nothing of this template
		free = 0
	}
	if !l.Update.Proven {
		trying = min(pilots(r), p.serving) - p.tries // a spare proves nothing before it serves
	}
	for _, i := range inOrder(r, l) {
		m := &r.S.Machines[i].Machine
		switch serves := guard.Serves(m, &r.S.Spec, l); {
		case serves && stands > 0 && (room > 0 || trying > 0): // first another takes its place
			r.Relieved = append(r.Relieved, m.Name)
			stands--
			room--
			trying--
			continue
		case room <= 0:
			return
		case !serves: // nothing is lost with it
		case free <= 0:
			continue
		default:
			free--
		}
		room--
		r.Chosen = append(r.Chosen, m.Name)
		r.Open(i)
	}
}

// inOrder lists the machines that may be changed, those that go first in front.
func inOrder(r *round.Round, l *belief.Ledger) []int {
	var fit []int
	for i := range r.S.Machines {
		if fits(&r.S.Machines[i].Machine, l) {
			fit = append(fit, i)
		}
	}
	slices.SortStableFunc(fit, func(a, b int) int { return compare(r, l, a, b) })
	return fit
}

// anyRests reports whether a spare that is to be changed is turned off, or is just being turned off or on.
func anyRests(r *round.Round, l *belief.Ledger) bool {
	return slices.ContainsFunc(l.Spares, func(name fleet.MachineName) bool {
		i, known := r.Ordered(name)
		if !known {
			return false
		}
		m := &r.S.Machines[i].Machine
		rests := m.Health.Cause == belief.CauseSpareOff || m.Repair != nil && m.Repair.Order.OfSpare()
		return rests && stays(l, m) && !l.Update.Stands(m)
	})
}

// standIns counts the spares that are as the update wants them, and can take the place of a machine that serves.
func standIns(r *round.Round, l *belief.Ledger) int {
	n, sit := 0, guard.Situation{State: r.S.State}
	for _, name := range l.Spares {
		if i, known := r.Ordered(name); known {
			m := &r.S.Machines[i].Machine
			if stays(l, m) && l.Update.Stands(m) && spares.Fit(m, &sit) == spares.Ready {
				n++
			}
		}
	}
	return n
}

// compare orders the machines, by their index, in which they are changed.
func compare(r *round.Round, l *belief.Ledger, a, b int) int {
	m, o := &r.S.Machines[a].Machine, &r.S.Machines[b].Machine
	if c := cmp.Or(cmp.Compare(beyond(l, o), beyond(l, m)), cmp.Compare(strayed(o), strayed(m)),
		cmp.Compare(idle(l, o), idle(l, m))); c != 0 {
		return c
	}
	switch r.S.Spec.Update.Order {
	case policy.UpdateLowest:
		return cmp.Compare(a, b)
	case policy.UpdateOldest:
		return cmp.Or(cmp.Compare(m.Current.Edition, o.Current.Edition), cmp.Compare(built(r, a), built(r, b)),
			cmp.Compare(b, a))
	case policy.UpdateHighest:
	}
	return cmp.Compare(b, a)
}

// built returns when the machine's instance was built, by its mark; 0: that is not known.
func built(r *round.Round, i int) int64 {
	v := &r.S.Machines[i]
	if s := v.Sighting(v.Machine.Current.ID); s.Known() && !s.Instance.Mark.Built.IsZero() {
		return s.Instance.Mark.Built.UnixNano()
	}
	return 0
}

// strayed is 1 for a machine that failed on another template, and waits for a person's word; else 0.
func strayed(m *belief.Machine) int {
	if m.Quarantine != nil && m.Quarantine.Reason == fleet.ReasonPilotFailed {
		return 1
	}
	return 0
}

// beyond is 1 for a machine that the update has beyond the size, else 0.
func beyond(l *belief.Ledger, m *belief.Machine) int {
	if Joins(l, m.Name) {
		return 1
	}
	return 0
}

// Joins reports whether the machine is beyond the size for the update: it is built from its template. There may be no
// ledger.
func Joins(l *belief.Ledger, name fleet.MachineName) bool {
	return l != nil && l.Update.Goes() && l.Surging(name) == l.Update.Order
}

// idle is 1 for a spare, else 0.
func idle(l *belief.Ledger, m *belief.Machine) int {
	if l.IsSpare(m.Name) {
		return 1
	}
	return 0
}

// fits reports whether the machine may be changed now: it is well, or failed on another template, or is to be built
// beyond the size.
func fits(m *belief.Machine, l *belief.Ledger) bool {
	joins := m.Current.None() && Joins(l, m.Name)
	if !stays(l, m) || m.Current.None() && !joins || l.Update.Stands(m) || m.Repair != nil ||
		m.Change != nil && m.Change.Order == l.Update.Order && m.Change.Ended != fleet.ReasonRemoved {
		return false
	}
	return joins || strayed(m) > 0 || m.Incident == nil && m.Health.Verdict == belief.VerdictHealthy &&
		m.Current.Certified
}

// IsChosen reports whether the machine is to be changed next. What was chosen for an update that was taken back since,
// in this round, or that a person paused, is not.
func IsChosen(r *round.Round, m *belief.Machine) bool {
	was, is := r.S.Whole.Ledger.Update, r.Sit.Whole.Ledger.Update
	return slices.Contains(r.Chosen, m.Name) && is != nil && is.Order == was.Order && !is.IsPaused()
}
