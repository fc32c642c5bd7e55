package picture

import (
	"slices"

	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Spec returns the fleet's spec with what is in force instead of what the configuration asks for.
func (p *Picture) Spec() *policy.Spec { return &p.is.Spec }

// Wanted returns the spec as the configuration has it.
func (p *Picture) Wanted() *policy.Spec { return p.wanted }

// Want takes in an edited spec of the same fleet, without a gap in watching: what is known by checks that are the
// same stays known; a check that is new or was changed begins with nothing known. What of the edit would destroy
// something is for the next decision. It returns the names of the checks that are not there any more; Aim stays as it
// was.
func (p *Picture) Want(spec policy.Spec, now fleet.Now) (dropped []fleet.CheckName) {
	was, is := p.is.Spec.Asked(), spec.Asked()
	judged, told := p.is.Spec.Checks, p.is.Spec.Tells
	for _, c := range was {
		if !slices.ContainsFunc(is, func(k *policy.Check) bool { return k.Name == c.Name }) {
			dropped = append(dropped, c.Name)
		}
	}
	for _, c := range is {
		if !slices.ContainsFunc(was, func(k *policy.Check) bool { return change.SameCheck(*k, *c) }) {
			p.made[c.Name] = now.Mono
		}
	}
	p.wanted, p.dirty = &spec, true
	p.force(now)
	p.measure(now)
	for i := range p.views {
		v := &p.views[i]
		v.Checks, v.Tells = carried(judged, v.Checks, spec.Checks), carried(told, v.Tells, spec.Tells)
		p.due(i)
	}
	return dropped
}

// carried returns the states of the checks, with what is known of those that are as they were.
func carried(was []policy.Check, known []fleet.CheckState, is []policy.Check) []fleet.CheckState {
	out := unheard(is)
	for k := range is {
		for i := range was {
			if change.SameCheck(was[i], is[k]) {
				out[k] = known[i]
			}
		}
	}
	return out
}

// force works out what is in force, and makes room for the machines that this asks for.
func (p *Picture) force(now fleet.Now) {
	p.is.Spec, p.dirty = p.is.Whole.Ledger.Force(*p.wanted), true
	if p.is.Spec.Adopt.Selects() {
		p.is.Spec.Adopt.Left = p.is.Whole.Left()
		p.is.Spec.Size = p.size()
		return
	}
	for n := 1; n <= p.is.Spec.Top(); n++ {
		if _, known := p.byName[p.is.Spec.Name.Machine(n)]; known {
			continue
		}
		p.grow(unbuilt(&p.is.Spec, n, now))
		if p.catalogue != nil { // what bears its mark already counts from the first round on
			p.seeMachine(p.catalogue, len(p.views)-1, nil)
		}
	}
}

// Pending returns what of the configuration waits for a person's word.
func (p *Picture) Pending() change.Plan {
	return change.Pending(p.wanted, p.is.Whole.Ledger, p.views, p.is.Hosts)
}
