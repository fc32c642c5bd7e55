package picture

import (
	"slices"

	"hale/internal/fleet"
)

// Silenced returns the neighbourhoods in which machines fail by their checks, or may: it matters who else is heard there.
func (p *Picture) Silenced() []fleet.Neighbourhood {
	var out []fleet.Neighbourhood
	for _, i := range p.Open() {
		m := &p.views[i].Machine
		fails := m.Health.Verdict == fleet.VerdictUnhealthy && m.Health.Cause == fleet.CauseChecks
		if !fails && m.Health.Verdict != fleet.VerdictSuspect || m.Current.None() {
			continue
		}
		if n := m.Current.Neighbourhood(); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// SetOthers takes in what the other fleets on the provider hear in the neighbourhoods that are Silenced.
func (p *Picture) SetOthers(all []fleet.Hearing) {
	if !slices.Equal(p.others, all) {
		p.others, p.dirty = all, true
	}
}

// SetAnswers takes in which hosts of the neighbourhoods that are Silenced answer at their own address, sorted.
func (p *Picture) SetAnswers(hosts []fleet.HostName) {
	if !slices.Equal(p.answers, hosts) {
		p.answers, p.dirty = hosts, true
	}
}
