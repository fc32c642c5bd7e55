package fleets

import (
	"fmt"
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// unhealthyWhen returns the condition. By default any check that is down suffices; without checks there is only the
// provider's word.
func (c *compiler) unhealthyWhen() policy.Condition {
	d := c.draft.unhealthyWhen
	if d.Given() {
		return c.condition(d.Spot, d.Value)
	}
	var terms []policy.Condition
	for _, name := range c.judging() {
		terms = append(terms, policy.Condition{Op: policy.OpTerm, Term: fleet.CheckName(name)})
	}
	if len(terms) == 0 {
		return policy.Condition{Op: policy.OpTerm, Term: policy.ProviderTerm}
	}
	return policy.Condition{Op: policy.OpAny, Of: terms}
}

// checkNames returns the names of the fleet's checks, sorted.
func (c *compiler) checkNames() []string {
	var names []string
	for _, n := range c.draft.checks.Value {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names
}

func (c *compiler) condition(s keys.Spot, d conditionDraft) policy.Condition {
	if d.term.How != keys.Absent {
		return c.term(d.term)
	}
	var ways []policy.ConditionOp
	out := policy.Condition{}
	if d.any.Written() {
		ways, out.Of = append(ways, policy.OpAny), c.conditions(d.any)
	}
	if d.all.Written() {
		ways, out.Of = append(ways, policy.OpAll), c.conditions(d.all)
	}
	if d.atLeast.Written() || d.of.Written() {
		ways, out.Of = append(ways, policy.OpAtLeast), c.conditions(d.of)
		out.N = d.atLeast.Value
		c.counted(d)
	}
	switch len(ways) {
	case 0:
		c.Add(s, "names no check", "write any: [ … ], all: [ … ] or at_least: 2 with of: [ … ]")
	case 1:
		out.Op = ways[0]
	default:
		c.Add(s, fmt.Sprintf("says both %s and %s", ways[0], ways[1]),
			"put one inside the other, as any: [page, {all: [alive, ssh]}]")
	}
	return out
}

// counted judges at_least and of, which belong together.
func (c *compiler) counted(d conditionDraft) {
	switch {
	case !d.of.Written():
		c.Add(d.atLeast.Spot, "comes without of", "add of: [ … ] with what is counted")
	case !d.atLeast.Written():
		c.Add(d.of.Spot, "comes without at_least", "add at_least: 2, or use any or all")
	case d.of.Known() && d.atLeast.Known() && d.atLeast.Value > len(d.of.Value):
		c.Add(d.atLeast.Spot, fmt.Sprintf("%d of %d can never be", d.atLeast.Value, len(d.of.Value)),
			fmt.Sprintf("choose 1 to %d", len(d.of.Value)))
	}
}

func (c *compiler) conditions(list keys.At[[]keys.At[conditionDraft]]) []policy.Condition {
	var out []policy.Condition
	for i, item := range list.Value {
		if item.How != keys.Given {
			continue
		}
		again := slices.ContainsFunc(list.Value[:i], func(e keys.At[conditionDraft]) bool {
			return item.Value.term.Given() && e.Value.term.Value == item.Value.term.Value
		})
		if again {
			c.Add(item.Spot, fmt.Sprintf("%s is in the list already", item.Value.term.Value), "name each once")
		}
		out = append(out, c.condition(item.Spot, item.Value))
	}
	return out
}

func (c *compiler) term(t keys.At[string]) policy.Condition {
	c.judgingCheck(t, append(c.judging(), string(policy.ProviderTerm)), "")
	return policy.Condition{Op: policy.OpTerm, Term: fleet.CheckName(t.Value)}
}
