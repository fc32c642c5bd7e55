package picture

import (
	"slices"

	"hale/internal/fleet"
)

// Silenced returns the neighbourhoods in which machines fail by their checks, or may, or are in repair and not well yet: it
// matters who else is heard there.
func (p *Picture) Silenced() []fleet.Neighbourhood {
	var out []fleet.Neighbourhood
	for _, i := range p.Open() {
		m := &p.views[i].Machine
		ill := m.Incident != nil && m.Health.Verdict != fleet.VerdictHealthy || m.Health.Verdict == fleet.VerdictSuspect
		if !ill || m.Health.Cause.Stopped() || m.Current.None() {
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
