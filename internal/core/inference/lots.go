package inference

import (
	"hale/internal/core/chart"
	"hale/internal/core/correlation"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/round"
)

// Lots returns how the fleet's machines fare, place by place, for the owners of others: they look for the causes of all
// failures together. What nothing is known of may fail.
func Lots(spec *fleet.Spec, whole *fleet.Whole, views []fleet.View, now fleet.Now) []fleet.Lot {
	var r Inference
	r.Begin(&round.Round{
		S:   fleet.Situation{State: fleet.State{Spec: *spec, Now: now}},
		Sit: guard.Situation{State: fleet.State{Whole: *whole}},
	})
	var c correlation.Census
	c.Begin(nil)
	for i := range views {
		v := &views[i]
		m := &v.Machine
		at := m.Lies()
		if guard.Surplus(m, spec) || at.None() {
			continue
		}
		is := r.shows(&round.Member{On: &chart.Chart{M: m, View: v}})
		if is == correlation.Sound && m.Health.Verdict == fleet.VerdictUnknown && !m.Health.Muted() {
			is = correlation.Suspect
		}
		c.Mark(c.Add(&at), is)
	}
	return c.Lots()
}
