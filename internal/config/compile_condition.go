package config

import (
	"fmt"
	"slices"

	"hale/internal/fleet"
)

// unhealthyWhen returns the condition. By default any check that is down suffices; without checks there is only the
// provider's word.
func (c *fleetCompiler) unhealthyWhen() fleet.Condition {
	d := c.draft.unhealthyWhen
	if d.given() {
		return c.condition(d.spot, d.value)
	}
	var terms []fleet.Condition
	for _, name := range c.checkNames() {
		terms = append(terms, fleet.Condition{Op: fleet.OpTerm, Term: fleet.CheckName(name)})
	}
	if len(terms) == 0 {
		return fleet.Condition{Op: fleet.OpTerm, Term: fleet.ProviderTerm}
	}
	return fleet.Condition{Op: fleet.OpAny, Of: terms}
}

// checkNames returns the names of the fleet's checks, sorted.
func (c *fleetCompiler) checkNames() []string {
	var names []string
	for _, n := range c.draft.checks.value {
		names = append(names, n.name)
	}
	slices.Sort(names)
	return names
}

func (c *fleetCompiler) condition(s spot, d conditionDraft) fleet.Condition {
	if d.term.how != absent {
		return c.term(d.term)
	}
	var ways []fleet.ConditionOp
	out := fleet.Condition{}
	if d.any.written() {
		ways, out.Of = append(ways, fleet.OpAny), c.conditions(d.any)
	}
	if d.all.written() {
		ways, out.Of = append(ways, fleet.OpAll), c.conditions(d.all)
	}
	if d.atLeast.written() || d.of.written() {
		ways, out.Of = append(ways, fleet.OpAtLeast), c.conditions(d.of)
		out.N = d.atLeast.value
		c.counted(d)
	}
	switch len(ways) {
	case 0:
		c.add(s, "names no check", "write any: [ … ], all: [ … ] or at_least: 2 with of: [ … ]")
	case 1:
		out.Op = ways[0]
	default:
		c.add(s, fmt.Sprintf("says both %s and %s", ways[0], ways[1]),
			"put one inside the other, as any: [page, {all: [alive, ssh]}]")
	}
	return out
}

// counted judges at_least and of, which belong together.
func (c *fleetCompiler) counted(d conditionDraft) {
	switch {
	case !d.of.written():
		c.add(d.atLeast.spot, "comes without of", "add of: [ … ] with what is counted")
	case !d.atLeast.written():
		c.add(d.of.spot, "comes without at_least", "add at_least: 2, or use any or all")
	case d.of.known() && d.atLeast.known() && d.atLeast.value > len(d.of.value):
		c.add(d.atLeast.spot, fmt.Sprintf("%d of %d can never be", d.atLeast.value, len(d.of.value)),
			fmt.Sprintf("choose 1 to %d", len(d.of.value)))
	}
}

func (c *fleetCompiler) conditions(list at[[]at[conditionDraft]]) []fleet.Condition {
	var out []fleet.Condition
	for i, item := range list.value {
		if item.how != given {
			continue
		}
		again := slices.ContainsFunc(list.value[:i], func(e at[conditionDraft]) bool {
			return item.value.term.given() && e.value.term.value == item.value.term.value
		})
		if again {
			c.add(item.spot, fmt.Sprintf("%s is in the list already", item.value.term.value), "name each once")
		}
		out = append(out, c.condition(item.spot, item.value))
	}
	return out
}

func (c *fleetCompiler) term(t at[string]) fleet.Condition {
	known := append(c.checkNames(), string(fleet.ProviderTerm))
	if t.known() && !slices.Contains(known, t.value) {
		c.add(t.spot, fmt.Sprintf("there is no check %s", t.value), didYouMean(t.value, known))
	}
	return fleet.Condition{Op: fleet.OpTerm, Term: fleet.CheckName(t.value)}
}
