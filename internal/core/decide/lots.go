package decide

import (
	"hale/internal/core/correlation"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// Lots returns how the fleet's machines fare, place by place, for the owners of others: they look for the causes of all
// failures together. What nothing is known of may fail.
func Lots(spec *fleet.Spec, whole *fleet.Whole, views []fleet.View, now fleet.Now) []fleet.Lot {
	r := round{
		s:   fleet.Situation{State: fleet.State{Spec: *spec, Now: now}},
		sit: guard.Situation{State: fleet.State{Whole: *whole}},
	}
	var c correlation.Census
	c.Begin(nil)
	for i := range views {
		v := &views[i]
		m := &v.Machine
		at := m.Lies()
		if guard.Surplus(m, spec) || at.None() {
			continue
		}
		w := work{}
		w.M, w.View = m, v
		is := inference{&r}.shows(&w)
		if is == correlation.Sound && m.Health.Verdict == fleet.VerdictUnknown && !m.Health.Muted() {
			is = correlation.Suspect
		}
		c.Mark(c.Add(&at), is)
	}
	return c.Lots()
}
