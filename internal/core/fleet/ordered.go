package fleet

import (
	"slices"
	"time"
)

// LargestSize is the most machines that a fleet can be asked to have.
const LargestSize = 10_000

// OrderedSize is how many machines people ordered, beside the configuration. It holds until the configuration itself
// asks for another size than it did then.
type OrderedSize struct {
	Size int
	// File is what the configuration asked for when the order was given.
	File   int
	Order  OrderID // the last one
	By     string
	Reason string `json:",omitempty"` // in that person's words
	At     time.Time
}

// Outspoken reports whether the configuration asks for another size than when people ordered one: its word is the later
// one.
func (l *Ledger) Outspoken(wanted *Spec) bool {
	return l.Ordered != nil && l.Ordered.File != wanted.Size
}

// Asked returns how many machines are asked for: by people, or else by the configuration. Removals that lower it are
// left out of it.
func (l *Ledger) Asked(wanted *Spec) int {
	if l == nil || l.Ordered == nil || l.Outspoken(wanted) {
		return wanted.Size
	}
	size := l.Ordered.Size
	for i := range l.Removals {
		if l.Removals[i].Lowers {
			size--
		}
	}
	return size
}

// Order returns a ledger in which so many machines are asked for, whatever was before. Asking for what the
// configuration asks for is to ask for nothing.
func (l *Ledger) Order(o *OrderedSize) *Ledger {
	next := *l
	next.Removals = slices.Clone(l.Removals)
	for i := range next.Removals {
		next.Removals[i].Lowers = false
	}
	next.Ordered = o
	return next.settled()
}

// settled forgets an order by which no other size is asked for than by the configuration. It changes the ledger in
// place.
func (l *Ledger) settled() *Ledger {
	lowers := slices.ContainsFunc(l.Removals, func(r Removal) bool { return r.Lowers })
	if o := l.Ordered; o != nil && o.Size == o.File && !lowers {
		l.Ordered = nil
	}
	return l
}

// Removing returns a ledger in which the machine that a person named is to go, and one less is asked for; but where
// fewer are asked for already than there are, it is one of those that are too many.
func (l *Ledger) Removing(r Removal, o *Order, wanted *Spec) *Ledger {
	next := *l
	r.Named, r.Lowers = true, l.Asked(wanted) >= l.Staying()
	if r.Lowers && l.Ordered == nil {
		next.Ordered = &OrderedSize{Size: wanted.Size, File: wanted.Size, Order: o.ID, By: o.By, Reason: o.Reason,
			At: o.At}
	}
	next.Removals = append(slices.Clone(l.Removals), r)
	return &next
}
