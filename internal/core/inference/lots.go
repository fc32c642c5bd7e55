package inference

import (
	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/correlation"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// Lots returns how the fleet's machines fare, place by place, for the owners of others: they look for the causes of all
// failures together. What nothing is known of may fail.
func Lots(spec *policy.Spec, whole *belief.Whole, views []situation.View, now fleet.Now) []fleet.Lot {
	var r Inference
	r.Begin(&round.Round{
		S:   situation.Situation{State: situation.State{Spec: *spec, Now: now}},
		Sit: guard.Situation{State: situation.State{Whole: *whole}},
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
		if is == correlation.Sound && m.Health.Verdict == belief.VerdictUnknown && !m.Health.Muted() {
			is = correlation.Suspect
		}
		c.Mark(c.Add(&at), is)
	}
	return c.Lots()
}
