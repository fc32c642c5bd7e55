package belief

import (
	"slices"

	"hale/internal/core/fleet"
)

// Surge is a machine beyond the size: it serves while other machines are changed by the order, and goes when that is
// over.
type Surge struct {
	Machine fleet.MachineName
	Order   fleet.OrderID
	By      string // who gave it
}

// Surging returns the order for which the machine is there beyond the size; empty: it is of the size. There may be no
// ledger.
func (l *Ledger) Surging(name fleet.MachineName) fleet.OrderID {
	if l != nil {
		for i := range l.Surge {
			if l.Surge[i].Machine == name {
				return l.Surge[i].Order
			}
		}
	}
	return ""
}

// Leaves reports whether the machine is to go, or is beyond the size and goes when its time there is over. There may be
// no ledger.
func (l *Ledger) Leaves(name fleet.MachineName) bool {
	return l.Removal(name) != nil || l.Surging(name) != ""
}

// Beside returns how many machines of those that there are to be do not count for the size: spares that stay, and those
// beyond it. There may be no ledger.
func (l *Ledger) Beside() int {
	if l == nil {
		return 0
	}
	return l.Idle() + len(l.Surge)
}

// Surged returns a ledger with so many more machines beyond the size, as that one is.
func (l *Ledger) Surged(n int, as Surge, name fleet.Name) *Ledger {
	next, fresh := l.extended(l.Size + n)
	next.Surge = slices.Clone(l.Surge)
	for _, number := range fresh {
		as.Machine = name.Machine(number)
		next.Surge = append(next.Surge, as)
	}
	return &next
}

// Settling returns a ledger in which no machine is beyond the size: those that were are of it.
func (l *Ledger) Settling() *Ledger {
	next := *l
	next.Surge = nil
	next.Removals = slices.DeleteFunc(slices.Clone(l.Removals), func(r Removal) bool {
		return r.Why == fleet.ReasonSurgeOver
	})
	return &next
}

// withoutSurge forgets that the machine is beyond the size. It changes the ledger in place.
func (l *Ledger) withoutSurge(name fleet.MachineName) {
	l.Surge = slices.DeleteFunc(slices.Clone(l.Surge), func(s Surge) bool { return s.Machine == name })
	if len(l.Surge) == 0 {
		l.Surge = nil
	}
}

// surging returns how many machines beyond the size are not to go yet.
func (l *Ledger) surging() int {
	n := 0
	for i := range l.Surge {
		if l.Removal(l.Surge[i].Machine) == nil {
			n++
		}
	}
	return n
}

// Needs reports whether the update needs the machine, which came beyond the size for the order. When it fails, the
// machine stays to be looked at until people say what follows, if there is anything to look at. There may be no update.
func (u *Update) Needs(order fleet.OrderID, m *Machine) bool {
	return u != nil && u.Order == order && (u.Goes() || u.Stopped != fleet.ReasonWithdrawn && !m.Current.None())
}
