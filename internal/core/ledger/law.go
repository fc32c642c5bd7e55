package ledger

import (
	"fmt"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Move is what opinions did to a ledger, or did not.
type Move struct {
	Was     *belief.Ledger
	Wanted  *policy.Spec
	Missing bool // an opinion has none
	Now     fleet.Now
}

// CheckMove verifies what opinions made of the size: it is within the bounds, and no size that a person pinned; of the
// machines that go none must stay, and none goes while an opinion is missing.
func CheckMove(l *belief.Ledger, m *Move) error {
	if l == m.Was {
		return nil
	}
	z, o := m.Wanted.Sizing, l.Ordered
	switch {
	case o == nil || o.Opinion == "" || o == m.Was.Ordered:
	case o.Size < z.Min || o.Size > max(z.Max, m.Was.Posts()): // what is there already may stay for now
		return fmt.Errorf("%s: L13: opinion %s wants %d machines, beyond %d to %d", m.Wanted.Name, o.Opinion, o.Size,
			z.Min, z.Max)
	case m.Was.Ordered.Pinned(m.Now):
		return fmt.Errorf("%s: L13: opinion %s moves a size that is pinned", m.Wanted.Name, o.Opinion)
	}
	for i := range l.Removals {
		if r := &l.Removals[i]; r.Opinion != "" && m.Was.Removal(r.Machine) == nil {
			if err := checkLeaving(l, r.Machine, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckRoles verifies what handing out places made of the ledger was: the same machines are in it, no fewer of them
// serve than are asked for, and no place is given away without need.
func CheckRoles(l, was *belief.Ledger, wanted *policy.Spec) error {
	switch asked := l.Asked(wanted); {
	case l.Size != was.Size || len(l.Removals) != len(was.Removals):
		return fmt.Errorf("%s: L13: places are handed out, and the machines are others", wanted.Name)
	case l.Serving() < asked && l.Serving() < was.Serving():
		return fmt.Errorf("%s: L13: %d machines serve, and %d are asked for", wanted.Name, l.Serving(), asked)
	case l.Idle() > max(was.Idle(), wanted.Spares.Count):
		return fmt.Errorf("%s: L13: %d machines stand by, of %d", wanted.Name, l.Idle(), wanted.Spares.Count)
	}
	return nil
}

// checkLeaving verifies that the machine may go by an opinion's word.
func checkLeaving(l *belief.Ledger, name fleet.MachineName, m *Move) error {
	n, _ := name.Ordinal()
	z := m.Wanted.Sizing
	switch {
	case m.Missing:
		return fmt.Errorf("%s: L9: %s goes while an opinion is missing", m.Wanted.Name, name)
	case l.Serving() < z.Min:
		return fmt.Errorf("%s: L13: %s goes, and %d are left of %d at least", m.Wanted.Name, name, l.Serving(), z.Min)
	case slices.Contains(z.Stay, n), slices.Contains(m.Wanted.Protected, n):
		return fmt.Errorf("%s: L13: %s goes, which is to stay", m.Wanted.Name, name)
	}
	return nil
}
