package ledger

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/spares"
)

// HandOut gives the places of machines that cannot serve to spares that can, as they are believed to be at the end of
// the round, and has as many stand by as there are to be.
func HandOut(r *round.Round, believed func(int) *belief.Machine) {
	l, wanted := r.Sit.Whole.Ledger, r.S.Wanted
	if wanted == nil || l == nil || wanted.Spares.Count == 0 && len(l.Spares) == 0 || spares.Withheld(&r.Sit) != "" {
		return
	}
	all := candidates(r, l, believed)
	changed := spares.Assign(all, spares.Need{Serving: l.Asked(wanted), Spares: wanted.Spares.Count})
	if len(changed) == 0 {
		return
	}
	var idle []fleet.MachineName
	for i := range all {
		if all[i].Spare {
			idle = append(idle, all[i].Machine)
		}
	}
	for _, rem := range l.Removals {
		if l.IsSpare(rem.Machine) {
			idle = append(idle, rem.Machine)
		}
	}
	next := l.WithSpares(idle)
	if err := CheckRoles(next, l, wanted); err != nil {
		r.Record(record.Record{Kind: record.Paged, Reason: fleet.ReasonLawBroken, Detail: err.Error()})
		return
	}
	for _, h := range changed {
		rec := record.Record{Kind: record.Change, Reason: fleet.ReasonTakesPlace, Machine: h.Serves,
			Detail: string(h.StandsBy)}
		if h.Serves == "" {
			rec.Reason, rec.Machine, rec.Detail = fleet.ReasonStandsBy, h.StandsBy, ""
		}
		r.Record(rec)
	}
	enforce(r, next)
	r.Again = r.Again || len(r.Relieved) > 0
}

// candidates returns the machines that stay, in the order of their numbers. Of what was asked for in this round nothing
// is there yet.
func candidates(r *round.Round, l *belief.Ledger, believed func(int) *belief.Machine) []spares.One {
	var all []spares.One
	add := func(name fleet.MachineName, is spares.Fitness) *spares.One {
		if n, ok := name.Ordinal(); !ok || !r.S.Spec.Has(n) || l.Removal(name) != nil || l.Surging(name) != "" {
			return new(spares.One)
		}
		all = append(all, spares.One{Machine: name, Spare: l.IsSpare(name), Fitness: is})
		return &all[len(all)-1]
	}
	top := 0
	for i := range r.S.Machines {
		m := believed(i)
		is := add(m.Name, spares.Fit(m, &r.Sit))
		is.Relieved = slices.Contains(r.Relieved, m.Name)
		is.Renewed = l.Update.Goes() && l.Update.Stands(m)
		top, _ = m.Name.Ordinal()
	}
	for n := top + 1; n <= r.S.Spec.Top(); n++ {
		add(r.S.Spec.Name.Machine(n), spares.Lost)
	}
	return all
}

// recordGrowth records that there are to be more machines that serve, or more spares.
func recordGrowth(r *round.Round, was, is *belief.Ledger) {
	if is.Posts() > was.Posts() {
		r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonSizeUp, Size: is.Posts(), Limit: was.Posts()})
	}
	if len(is.Spares) > len(was.Spares) {
		r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonSparesUp, Size: len(is.Spares),
			Limit: len(was.Spares)})
	}
}
