package decide

import (
	"maps"

	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/round"
)

// lookAhead judges a machine that the round changed once more, as it is now, only for what is tested on the way: when
// to look again depends on what it became. Nothing follows from it.
func (r *deciding) lookAhead(w *work) {
	defer func() { _ = recover() }() // a defect shows in the round that judges the machine so
	view, tally := *w.View, r.Tally
	view.Machine, view.Look, view.Outcome, view.Gathered = *w.M, nil, nil, nil
	w.M.CopyTo(&r.before)
	x := work{telling: &r.telling,
		Member: round.Member{Index: w.Index, Site: w.Site, Fated: w.Fated, Unasked: w.Unasked}}
	x.Chart = chart.Chart{M: &r.before, View: &view, Situation: &r.Sit, Installation: r.S.Installation,
		Load: func() map[fleet.HostName]int { return maps.Clone(r.load()) }}
	tally.Remove(x.M, &r.S.Spec)
	r.see(&x, tally)
	x.judge()
	goOn(&x)
	r.warnings.Warn(&x.Chart)
}
