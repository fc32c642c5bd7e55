package engine

import (
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/engine/notes"
)

// cares returns what the engine's fleets on the provider adopted, of those that may act.
func (e *Engine) cares(of fleet.ProviderName) func() notes.Cares {
	return func() notes.Cares {
		c := notes.Cares{Cared: fleet.Cared{Whole: true}}
		for _, o := range *e.owners.Load() {
			f := o.published.Load()
			if f.Spec.Provider != of || !f.Spec.Adopt.Selects() {
				continue
			}
			c.Selects = true
			if f.Acting != "" {
				c.Whole = false
				continue
			}
			for i := range f.Machines {
				m := &f.Machines[i].Machine
				if f.Spec.Mode == policy.ModeAct && m.Current.Adopted && m.Current.Certified {
					c.IDs = append(c.IDs, m.Current.ID)
				}
			}
		}
		slices.Sort(c.IDs)
		return c
	}
}
