package picture

import (
	"cmp"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
)

// Silenced returns the neighbourhoods, sorted, in which machines fail by their checks, or may, or are in repair and
// not well yet: it matters who else is heard there.
func (p *Picture) Silenced() []fleet.Neighbourhood {
	var out []fleet.Neighbourhood
	for _, i := range p.Open() {
		m := &p.views[i].Machine
		ill := m.Incident != nil && m.Health.Verdict != belief.VerdictHealthy ||
			m.Health.Verdict == belief.VerdictSuspect
		if ill && !m.Health.Cause.Stopped() && !m.Current.None() {
			out = append(out, m.Current.Neighbourhood())
		}
	}
	slices.SortFunc(out, func(a, b fleet.Neighbourhood) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Network, b.Network))
	})
	return slices.Compact(out)
}

// SetOthers takes in what the other fleets on the provider hear in the neighbourhoods that are Silenced.
func (p *Picture) SetOthers(all []fleet.Hearing) {
	if !slices.Equal(p.others, all) {
		p.others, p.dirty = all, true
	}
}

// SetTolls takes in how many machines fail in the other fleets, for the brakes that they share. The picture keeps it.
func (p *Picture) SetTolls(all []belief.Toll) {
	if slices.Equal(p.is.Tolls, all) {
		return
	}
	p.is.Tolls = all
	p.dirty = p.dirty || len(p.is.Whole.Brakes) > 0 || len(p.Open()) > 0 // else nothing waits that could begin
}

// SetUnready takes in which fleets do not serve that come before this one. The picture keeps it. When they all serve
// again, what metrics were read to be meanwhile is forgotten: it says nothing of what is needed from now on.
func (p *Picture) SetUnready(all []situation.Ahead, now fleet.Now) {
	if slices.Equal(p.is.Unready, all) {
		return
	}
	p.is.Unready, p.dirty = all, true
	if len(all) == 0 {
		p.measureAnew(now)
	}
}

// SetLots takes in how the machines of the other fleets on the provider fare, sorted by place. The picture keeps it.
func (p *Picture) SetLots(all []fleet.Lot) {
	if slices.Equal(p.lots, all) {
		return
	}
	p.lots = all
	p.dirty = p.dirty || len(p.is.Whole.Parents) > 0 || len(p.Open()) > 0 // else nothing waits that could begin
}

// SetAnswers takes in which hosts of the neighbourhoods that are Silenced answer at their own address, sorted.
func (p *Picture) SetAnswers(hosts []fleet.HostName) {
	if !slices.Equal(p.is.Answers, hosts) {
		p.is.Answers, p.dirty = hosts, true
	}
}

// Mute returns the instances, and where they are, of the machines that are held since nothing bears witness to their
// silence, or were and are not well yet: it matters whether their processors do anything.
func (p *Picture) Mute() []fleet.Instance {
	var found []fleet.Instance
	for _, i := range p.Open() {
		m := &p.views[i].Machine
		held := m.Waiting == fleet.ReasonNoWitness || slices.Contains(p.is.Still, m.Current.ID)
		if held && !m.Current.None() && m.Health.Verdict == belief.VerdictUnhealthy {
			found = append(found, fleet.Instance{ID: m.Current.ID, Host: m.Current.Host})
		}
	}
	return found
}

// SetStill takes in which of those that are Mute stand still, sorted.
func (p *Picture) SetStill(all []fleet.InstanceID) {
	if !slices.Equal(p.is.Still, all) {
		p.is.Still, p.dirty = all, true
	}
}
