package picture

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// SetMembers takes in what the pools say of the fleet's machines, sorted by balancer. A machine is due when its pool
// says something else of it, or it waits for the pool's word.
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
		if r := v.Machine.Repair; r != nil && r.Phase == belief.PhaseLeave ||
			!slices.EqualFunc(members, v.Members, fleet.Membership.Same) {
			p.Again(i)
		}
		v.Members = members
	}
}
