package fleet

import (
	"slices"
	"time"
)

// LargestSize is the most machines that a fleet can be asked to have.
const LargestSize = 10_000

// OrderedSize is the last word on how many machines there are to be, beside the configuration: a person's, a program's
// or an opinion's. It holds until the configuration itself asks for another size than it did then.
type OrderedSize struct {
	Size int
	// File is what the configuration asked for when the order was given; 0: nothing.
	File   int
	Order  OrderID // the last one
	By     string
	Reason string `json:",omitempty"` // in that person's words
	At     time.Time
	// Opinion is the one that moved the size; empty: a person, or a program, did.
	Opinion OpinionName `json:",omitempty"`
	// Pin is until when no opinion and no signal moves the size; zero: they may.
	Pin Expiry `json:",omitzero"`
}

// Pinned reports whether no opinion and no signal may move the size now. There may be no order.
func (o *OrderedSize) Pinned(now Now) bool {
	return o != nil && !o.Pin.Until.IsZero() && !o.Pin.Over(now)
}

func (o *OrderedSize) pins() bool { return o != nil && !o.Pin.Until.IsZero() }

// Outspoken reports whether the configuration asks for another size than when people ordered one: its word is the later
// one.
func (l *Ledger) Outspoken(wanted *Spec) bool {
	said := wanted.Said()
	return l.Ordered != nil && said != 0 && l.Ordered.File != said
}

// LastWord returns the order that says the size; nil: the configuration does, or nothing. There may be no ledger.
func (l *Ledger) LastWord(wanted *Spec) *OrderedSize {
	if l == nil || wanted.Adopt.Selects() || l.Outspoken(wanted) {
		return nil
	}
	return l.Ordered
}

// Asked returns how many machines are asked for, within the bounds: by the last word on it, or else by the
// configuration, or where that says no size, as many as there are. Removals that lower it are left out of it.
func (l *Ledger) Asked(wanted *Spec) int {
	switch {
	case l == nil || l.Outspoken(wanted):
		return wanted.Sizing.Bound(wanted.Size)
	case l.Ordered == nil && wanted.Said() == 0:
		return wanted.Sizing.Bound(l.Staying())
	case l.Ordered == nil:
		return wanted.Sizing.Bound(wanted.Size)
	}
	return wanted.Sizing.Bound(l.ordered())
}

// ordered returns the size that was ordered, without the removals that lower it.
func (l *Ledger) ordered() int {
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
	if o := l.Ordered; o != nil && o.Size == o.File && !lowers && !o.pins() {
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
		next.Ordered = &OrderedSize{Size: l.Asked(wanted), File: wanted.Said(), Order: o.ID, By: o.By,
			Reason: o.Reason, At: o.At}
	}
	next.Removals = append(slices.Clone(l.Removals), r)
	return &next
}
