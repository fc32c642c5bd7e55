package picture

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/situation"
)

// SetMembers takes in what the pools say of the fleet's machines, sorted by balancer. A machine is due when its pool
// says something else of it, or it waits for the pool's word, and when all have said something since hale last acted on
// it.
func (p *Picture) SetMembers(words []fleet.PoolWord) {
	news := len(words) != len(p.poolRevs)
	for i := range words {
		news = news || p.poolRevs[i] != words[i].Rev
	}
	if !news {
		return
	}
	p.poolRevs = p.poolRevs[:0]
	for i := range words {
		p.poolRevs = append(p.poolRevs, words[i].Rev)
	}
	for i := range p.views {
		v := &p.views[i]
		members := make([]fleet.Membership, len(words))
		for k := range words {
			members[k] = words[k].Of(v.Machine.Name)
		}
		same, heard := slices.EqualFunc(members, v.Members, fleet.Membership.Same), p.heard(v)
		v.Members = members
		if r := v.Machine.Repair; r != nil && r.Phase == belief.PhaseLeave || !same || !heard && p.heard(v) {
			p.Again(i)
		}
	}
}

// heard reports whether what the pools said of the machine is of what it is today.
func (p *Picture) heard(v *situation.View) bool { return guard.Heard(v, &p.is.Spec, v.Machine.Acted) }
