package law

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// standsBy judges what hale does with a machine of its own accord, as it is a spare, or was one: it turns off only a
// spare that is to be off, while no machine that serves is known to fail and no other template goes through the fleet;
// and it starts only what it turned off so.
func (j *Judge) standsBy(is *belief.Machine, l *belief.Ledger, all []belief.Machine) {
	name := string(is.Name)
	switch is.Repair.Step {
	case fleet.StepStop:
		switch {
		case !j.Spec.Spares.Off, !l.IsSpare(is.Name):
			j.court.Broken("L4", name, "it is turned off, and is no spare that is to be off")
		case l.Update.Goes():
			j.court.Broken("S67", name, "it is turned off while another template goes through the fleet")
		case slices.ContainsFunc(all, func(m belief.Machine) bool {
			return m.Incident != nil && !m.Incident.Blind() && !l.IsSpare(m.Name) && l.Removal(m.Name) == nil
		}):
			j.court.Broken("S67", name, "it is turned off while a machine that serves fails")
		}
		j.Has(name, fleet.OrderStop)
		j.rests[name] = true
	case fleet.StepStart:
		if !j.rests[name] {
			j.court.Broken("L10", name, "it is started as a spare, and was not turned off as one")
		}
		j.WantedOn(name)
		j.Has(name, fleet.OrderStart)
	default:
		j.court.Broken("L3", name, string(is.Repair.Step)+", which nothing calls for")
	}
}

// StartedToGo returns how many machines are started that are to go: they were no failures before, and are in the round
// in which that begins.
func StartedToGo(all []belief.Machine, l *belief.Ledger) int {
	n := 0
	for i := range all {
		if m := &all[i]; m.Repair != nil && m.Repair.Revives && l.Removal(m.Name) != nil {
			n++
		}
	}
	return n
}
