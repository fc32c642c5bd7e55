package ledger

import (
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
	var all []spares.One
	for i := range r.S.Machines {
		m := believed(i)
		if n, ok := m.Name.Ordinal(); ok && r.S.Spec.Has(n) && l.Removal(m.Name) == nil {
			all = append(all, spares.One{Machine: m.Name, Spare: l.IsSpare(m.Name), Fitness: spares.Fit(m, &r.Sit)})
		}
	}
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
	for _, h := range changed {
		rec := record.Record{Kind: record.Change, Reason: fleet.ReasonTakesPlace, Machine: h.Serves,
			Detail: string(h.StandsBy)}
		if h.Serves == "" {
			rec.Reason, rec.Machine, rec.Detail = fleet.ReasonStandsBy, h.StandsBy, ""
		}
		r.Record(rec)
	}
	enforce(r, l.WithSpares(idle))
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
