package rollout

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// progress is how far an update came.
type progress struct {
	machines int // of the fleet, that stay
	beyond   int // of these, beyond the size
	serving  int // of these, without spares
	tries    int // of those that serve, that are as it wants them, or are being built so
	tried    int // of those that serve, that are as it wants them, and healthy
	old      int // that are not as it wants them
	on       int // that are, or are being built
	under    int // that are being built, or adjusted
	well     int // that are as it wants them, and healthy
	changed  int // that it changed, or is changing
	fine     int // that it changed, and are healthy
	goes     int // that are as it wants them, or are being built so, and are to go
	failed   fleet.Reason
	told     bool // a person, of the machine that failed
	spoils   bool // a machine failed once it was built from the template, or while it was
}

func progressOf(r *round.Round, l *belief.Ledger) progress {
	var p progress
	for i := range r.S.Machines {
		switch m := &r.S.Machines[i].Machine; {
		case stays(l, m):
			p.add(m, l)
		case l.Update.Stands(m) || m.Repair.CarriesOut(l.Update.Order):
			p.goes++
		}
	}
	return p
}

// stays reports whether the machine is of the fleet, and is not to go: by what is booked in this round.
func stays(l *belief.Ledger, m *belief.Machine) bool {
	n, ok := m.Name.Ordinal()
	booked := policy.Spec{Size: l.Size, Left: l.Left}
	return ok && booked.Has(n) && l.Removal(m.Name) == nil
}

// begun reports whether the update changed any machine, or is about to.
func (p *progress) begun() bool { return p.changed > 0 }

// add counts one machine.
func (p *progress) add(m *belief.Machine, l *belief.Ledger) {
	u, serves := l.Update, !l.IsSpare(m.Name)
	stands := u.Stands(m)
	under := m.Repair.CarriesOut(u.Order)
	again := m.Repair != nil && m.Repair.Kind.Chore() && !m.Repair.Target.None() &&
		m.Repair.Target.Edition == u.Edition // a person has it replaced, and it will be so again
	healthy := m.Health.Verdict == belief.VerdictHealthy && m.Current.Certified && m.Incident == nil
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	count(&p.machines, true)
	count(&p.beyond, l.Surging(m.Name) != "")
	count(&p.serving, serves)
	count(&p.tries, serves && (stands || under))
	count(&p.tried, serves && stands && !under && healthy)
	count(&p.old, !stands)
	count(&p.under, under)
	count(&p.on, stands || under || again)
	count(&p.well, stands && !under && healthy)
	count(&p.changed, u.Did(m) || under)
	count(&p.fine, u.Did(m) && stands && !under && healthy)
	p.fails(m, u, stands, under)
}

// fails notes what one machine that failed tells of the update.
func (p *progress) fails(m *belief.Machine, u *belief.Update, stands, under bool) {
	switch {
	case m.Change != nil && m.Change.Order == u.Order && !m.Change.Updated() &&
		m.Change.Ended != fleet.ReasonWithdrawn && m.Change.Ended != fleet.ReasonRemoved: // or its number is taken anew
		p.failed, p.told = fleet.ReasonUpdateStopped, true
		p.spoils = p.spoils || stands || m.Current.None()
	case stands && !under && !u.Proven && m.Incident != nil && !m.Incident.Blind():
		p.failed, p.spoils = fleet.ReasonUpdateStopped, true
	}
}

// dispensable returns how many of the machines that serve may be taken away now; where no minimum is asked for, all of
// them.
func dispensable(r *round.Round, l *belief.Ledger) int {
	serving := 0
	for i := range r.S.Machines {
		if v := &r.S.Machines[i]; guard.Served(&v.Machine, v, &r.S.Spec, l) {
			serving++
		}
	}
	return serving - guard.LeastServing(&r.S.Spec, l)
}

// Left returns how many machines of the size the update has yet to change.
func Left(r *round.Round, l *belief.Ledger) int {
	n := 0
	for i := range r.S.Machines {
		if m := &r.S.Machines[i].Machine; stays(l, m) && l.Surging(m.Name) == "" && !l.Update.Stands(m) {
			n++
		}
	}
	return n
}

// awaits reports whether a machine beyond the size is to serve before another one is changed.
func awaits(r *round.Round, l *belief.Ledger) bool {
	return r.S.Spec.Update.Surge > 0 && Left(r, l) > 0 && !slices.ContainsFunc(l.Surge, func(s belief.Surge) bool {
		i, known := r.Ordered(s.Machine)
		return s.Order == l.Update.Order && known &&
			guard.Served(&r.S.Machines[i].Machine, &r.S.Machines[i], &r.S.Spec, l)
	})
}

// isShort reports whether no further machine begins only since too few would serve without it.
func isShort(r *round.Round, l *belief.Ledger, p *progress) bool {
	if p.under > 0 || p.old == 0 || len(r.S.Machines) == 0 || dispensable(r, l) > 0 || standIns(r, l) > 0 {
		return false
	}
	return !slices.ContainsFunc(r.S.Machines, func(v situation.View) bool {
		return fits(&v.Machine, l) && !guard.Serves(&v.Machine, &r.S.Spec, l)
	})
}
