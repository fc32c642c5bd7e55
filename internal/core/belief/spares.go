package belief

import (
	"cmp"
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// IsSpare reports whether the machine does not serve, since it is a spare. There may be no ledger.
func (l *Ledger) IsSpare(name fleet.MachineName) bool {
	return l != nil && len(l.Spares) > 0 && slices.Contains(l.Spares, name)
}

// Idle returns how many of the machines that stay are spares. There may be no ledger.
func (l *Ledger) Idle() int {
	n := 0
	if l == nil {
		return n
	}
	for _, name := range l.Spares {
		if l.Removal(name) == nil {
			n++
		}
	}
	return n
}

// Serving returns how many machines with a place among those that serve are left when the removals are over.
func (l *Ledger) Serving() int { return l.Staying() - l.Idle() }

// Posts returns how many places there are among those that serve; machines that are to go have theirs until then, and
// one beyond the size has none.
func (l *Ledger) Posts() int { return l.Size - len(l.Spares) - len(l.Surge) }

// Due returns how many machines are asked for, spares included.
func (l *Ledger) Due(wanted *policy.Spec) int { return l.Asked(wanted) + wanted.Spares.Count }

// WithSpares returns a ledger in which these machines are the spares.
func (l *Ledger) WithSpares(spares []fleet.MachineName) *Ledger {
	next := *l
	next.Spares = slices.Clone(spares)
	return next.sorted()
}

// sorted puts the spares in the order of their numbers. It changes the ledger in place.
func (l *Ledger) sorted() *Ledger {
	slices.SortFunc(l.Spares, func(a, b fleet.MachineName) int {
		x, _ := a.Ordinal()
		y, _ := b.Ordinal()
		return cmp.Compare(x, y)
	})
	return l
}
