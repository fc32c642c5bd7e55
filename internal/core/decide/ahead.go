package decide

import (
	"maps"

	"hale/internal/core/chart"
	"hale/internal/core/fleet"
)

// lookAhead judges a machine that the round changed once more, as it is now, only for what is tested on the way: when
// to look again depends on what it became. Nothing follows from it.
func (r *round) lookAhead(w *work) {
	defer func() { _ = recover() }() // a defect shows in the round that judges the machine so
	view, tally := *w.View, r.tally
	view.Machine, view.Look, view.Outcome, view.Gathered = *w.M, nil, nil, nil
	w.M.CopyTo(&r.before)
	x := work{index: w.index, site: w.site, telling: r.telling, fated: w.fated, unasked: w.unasked}
	x.Chart = chart.Chart{M: &r.before, View: &view, Situation: &r.sit, Installation: r.s.Installation,
		Load: func() map[fleet.HostName]int { return maps.Clone(r.load()) }}
	tally.Remove(x.M, &r.s.Spec)
	r.see(&x, tally)
	x.judge()
	goOn(&x)
	warn(r, &x)
}
