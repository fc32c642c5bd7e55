package fleets

import (
	"fmt"
	"slices"

	"hale/internal/core/fleet"
)

// protected returns the numbers of the protected machines.
func (c *compiler) protected() []int {
	var out []int
	for _, p := range c.draft.protect.Value {
		if !p.Known() {
			continue
		}
		m := fleet.MachineName(p.Value)
		n, ok := m.Ordinal()
		switch {
		case !ok || string(m.Fleet()) != c.name:
			c.Add(p.Spot, fmt.Sprintf("%s is no machine of fleet %s", p.Value, c.name),
				fmt.Sprintf("write %s-1, %s-2 and so on", c.name, c.name))
		case slices.Contains(out, n):
			c.Add(p.Spot, p.Value+" is protected already", "take one of the two out")
		default:
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}
