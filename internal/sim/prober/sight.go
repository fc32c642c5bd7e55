package prober

import (
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/sim/world"
)

// Fails reports whether the policy calls a machine unhealthy that is as this one is now, asked from where its peers
// stand: a dead web server is no failure to a fleet that is only pinged. It works that out by itself, from the world
// and the policy, as the judge does with everything.
func Fails(w *world.World, spec *policy.Spec, vm *world.VM) bool {
	stands := vm.Power != world.Running // in the provider's word
	if stands && !names(spec.UnhealthyWhen, policy.ProviderTerm) {
		return true
	}
	heard := w.Hear("", vm.Address)
	return holds(spec.UnhealthyWhen, func(term fleet.CheckName) bool {
		if term == policy.ProviderTerm {
			return stands
		}
		for k := range spec.Checks {
			if c := &spec.Checks[k]; c.Name == term {
				return probe.MeaningOf(resultOf(c, answer(c, heard))) == probe.MeansFailure
			}
		}
		return false
	})
}

func names(c policy.Condition, term fleet.CheckName) bool {
	for _, o := range c.Of {
		if names(o, term) {
			return true
		}
	}
	return c.Op == policy.OpTerm && c.Term == term
}

// holds evaluates a condition with known terms.
func holds(c policy.Condition, is func(fleet.CheckName) bool) bool {
	if c.Op == policy.OpTerm {
		return is(c.Term)
	}
	n := 0
	for _, o := range c.Of {
		if holds(o, is) {
			n++
		}
	}
	switch c.Op {
	case policy.OpAll:
		return n == len(c.Of) && n > 0
	case policy.OpAtLeast:
		return n >= c.N
	case policy.OpAny, policy.OpTerm:
	}
	return n > 0
}
