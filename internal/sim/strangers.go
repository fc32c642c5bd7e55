package sim

import (
	"fmt"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/world"
)

// spareMachines is how many instances may come to be selected beyond those that there are at the start.
const spareMachines = 16

// Strangers is how many machines there are for a fleet that selects to find: as many as its file says, or a few.
func Strangers(a policy.Adoption) int {
	switch {
	case a.Expected > 0:
		return a.Expected
	case strings.ContainsAny(a.Select.Name, "*?"):
		return 3
	}
	return 1
}

// StrangerName is the name of the nth machine that the fleet selects. The names are in the order of the numbers.
func StrangerName(s policy.Selector, n, of int) string {
	digits := len(fmt.Sprint(of))
	name := strings.Replace(s.Name, "*", fmt.Sprintf("old%0*d", digits, n), 1)
	name = strings.ReplaceAll(name, "*", "")
	if digits < 2 { // then each ? has room for the whole number
		name = strings.Replace(name, "?", fmt.Sprint(n), 1)
	}
	return strings.ReplaceAll(name, "?", "x")
}

// plantStrangers gives the fleet machines that existed before hale, and one beside them that is none of its business.
func (s *stage) plantStrangers() {
	homes, sel := s.options.Standing(), s.spec.Adopt.Select
	for i, h := range homes {
		n := i + 1
		id := fmt.Sprintf("planted-%d", n)
		s.trace.Name(fleet.InstanceID(id))
		s.w.Plant(world.Status{ID: id, Name: StrangerName(sel, n, len(homes)), Host: h, Metadata: string(sel.Metadata),
			Tags: string(fleet.TagsOf(sel.Tags)), Mark: world.Mark{
				Installation: "nobody", Fleet: string(s.spec.Name), Machine: string(s.spec.Name.Machine(n)),
				Generation: 1,
				Certified:  true, Unmarked: true,
			}})
	}
	s.w.Plant(world.Status{ID: "somebody-else", Name: "somebody-else", Host: homes[0]})
}

// named says why a run cannot make up machines that the fleet selects.
func (o Options) named() error {
	if !o.Spec.Adopt.Selects() {
		return nil
	}
	for n := 1; n <= o.Spec.Size; n++ {
		if name := StrangerName(o.Spec.Adopt.Select, n, o.Spec.Size); !o.Spec.Adopt.Select.Means(name) || n > 1 &&
			name == StrangerName(o.Spec.Adopt.Select, n-1, o.Spec.Size) {
			return fmt.Errorf("fleet %s: a simulation cannot make up %d machines that it selects", o.Spec.Name,
				o.Spec.Size)
		}
	}
	return nil
}
