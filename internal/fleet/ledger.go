package fleet

import (
	"reflect"
	"slices"
)

// Ledger is the one book of what is in force in a fleet: its size and its template, whatever the configuration says by now. An edit
// that destroys nothing enters it at once; one that would destroy waits for a person's word. It is never changed in place: whoever
// books something makes another one.
type Ledger struct {
	// Size is how many machines there are to be.
	Size int
	// Left are the numbers that machines below the highest one gave up, ascending: they have no machine any more.
	Left []int `json:",omitempty"`
	// Template is what an instance is built from, and Edition its number: an instance's own tells which template it was built from.
	Template Template
	Edition  uint64 `json:",omitempty"`
}

// OpenLedger begins the book for a fleet that has machines with instances up to the number top: nothing that stands is given up
// because the configuration speaks of fewer.
func OpenLedger(wanted *Spec, top int) *Ledger {
	return &Ledger{Size: max(wanted.Size, top), Template: wanted.Template}
}

// Force returns the spec with what is in force instead of what it asks for. Without a ledger everything it asks for is.
func (l *Ledger) Force(wanted Spec) Spec {
	if l == nil {
		return wanted
	}
	wanted.Size, wanted.Left, wanted.Template = l.Size, l.Left, l.Template
	return wanted
}

// Grown returns a ledger with so many machines: numbers that were given up are taken again first.
func (l *Ledger) Grown(size int) *Ledger {
	next := *l
	back := min(max(size-l.Size, 0), len(l.Left))
	next.Left = slices.Clone(l.Left[back:])
	next.Size = size
	return &next
}

// Has reports whether the number is that of one of the fleet's machines.
func (s *Spec) Has(ordinal int) bool {
	return ordinal <= s.Top() && !slices.Contains(s.Left, ordinal)
}

// Top returns the highest number that one of the fleet's machines may have.
func (s *Spec) Top() int { return s.Size + len(s.Left) }

// Equal reports whether instances built from the two are the same.
func (t Template) Equal(o Template) bool { return reflect.DeepEqual(t, o) }

// Equal reports whether the two say the same.
func (l *Ledger) Equal(other *Ledger) bool {
	return l == other || l != nil && other != nil && reflect.DeepEqual(*l, *other) // they share memory as a rule
}
