package fleet

import (
	"reflect"
	"slices"
	"time"
)

// Ledger is the one book of what is in force in a fleet: its size and its template, whatever the configuration says by
// now. An edit that destroys nothing enters it at once; one that would destroy waits for a person's word. It is never
// changed in place: whoever books something makes another one.
type Ledger struct {
	// Size is how many machines there are to be.
	Size int
	// Left are the numbers that machines below the highest one gave up, ascending: they have no machine any more.
	Left []int `json:",omitempty"`
	// Template is what an instance is built from, and Edition its number: an instance's own tells which template it was
	// built from.
	Template Template
	Edition  uint64 `json:",omitempty"`
	// Ordered is the size that people, or opinions, want instead of the configuration's; nil: none.
	Ordered *OrderedSize `json:",omitempty"`
	// Moves counts how often opinions moved the size, so that each move has a name of its own.
	Moves uint64 `json:",omitempty"`
	// Removals are machines that are to go, by a person's order or by an opinion's, in the order in which they go.
	Removals []Removal `json:",omitempty"`
	// Update is another template on its way through the fleet; nil: none is. Editions is the highest number ever given.
	Update   *Update `json:",omitempty"`
	Editions uint64  `json:",omitempty"`
	// Provider is where the machines are. It does not change.
	Provider ProviderName
}

// Removal is a machine that is to go.
type Removal struct {
	Machine  MachineName
	Instance InstanceID `json:",omitempty"` // that the person was shown; empty: it had none
	Why      Reason     // it is this one
	Order    OrderID    // the person's, or the name of the opinion's move
	By       string
	// Opinion is by which it goes; empty: by a person's word.
	Opinion OpinionName `json:",omitempty"`
	// Chosen is when it was chosen, where it has some time left before anything is done; it restarts with a new owner
	// (L15). Zero: it has none.
	Chosen Instant `json:",omitempty"`
	// Named says that the person named the machine, and not an instance of it: it goes whichever it has by then, and no
	// size that is asked for brings it back.
	Named bool `json:",omitempty"`
	// Lowers says that the size asked for is one less with it: no size was asked for since.
	Lowers bool `json:",omitempty"`
}

// Update is another template on its way through the fleet.
type Update struct {
	Template Template
	Edition  uint64
	Order    OrderID // the person's
	By       string
	// Calm is since when as many as are to try it first are built from it, and healthy; zero: they are not.
	Calm Instant `json:",omitempty"`
	// Proven says that these stood the time: it goes through the whole fleet.
	Proven bool `json:",omitempty"`
	// Stopped says why it goes no further; what was replaced stays. Empty: it goes on.
	Stopped Reason `json:",omitempty"`
}

// Goes reports whether the update goes on. There may be none.
func (u *Update) Goes() bool { return u != nil && u.Stopped == "" }

// TemplateOf returns what instances of the edition are built from. Which disks are to be kept is for the configuration
// to say.
func (l *Ledger) TemplateOf(edition uint64, wanted *Spec) Template {
	if l.Update != nil && l.Update.Edition == edition {
		return l.Update.Template.Cherished(wanted.Template.Disks)
	}
	return l.Template.Cherished(wanted.Template.Disks)
}

// Updated returns a ledger with another state of its update.
func (l *Ledger) Updated(u *Update) *Ledger {
	next := *l
	next.Update = u
	return &next
}

// Removal returns the order by which the machine is to go, or nil.
func (l *Ledger) Removal(name MachineName) *Removal {
	if l == nil {
		return nil
	}
	for i := range l.Removals {
		if l.Removals[i].Machine == name {
			return &l.Removals[i]
		}
	}
	return nil
}

// Changing reports whether any machine is to be changed by a person's order.
func (l *Ledger) Changing() bool { return l != nil && (len(l.Removals) > 0 || l.Update != nil) }

// Staying returns how many machines are left when the removals are over.
func (l *Ledger) Staying() int { return l.Size - len(l.Removals) }

// Dropped returns a ledger without the order to remove the machine: it was given up, or taken back.
func (l *Ledger) Dropped(name MachineName) *Ledger {
	next := *l
	next.Removals = slices.DeleteFunc(slices.Clone(l.Removals), func(r Removal) bool { return r.Machine == name })
	return next.settled()
}

// Without returns a ledger in which the machine has gone, as of now.
func (l *Ledger) Without(name MachineName, now time.Time) *Ledger {
	lowered := l.Ordered
	if r := l.Removal(name); r != nil && r.Lowers && lowered != nil {
		lowered = &OrderedSize{Size: lowered.Size - 1, File: lowered.File, Order: r.Order, By: r.By, At: now}
	}
	next := l.Dropped(name)
	next.Ordered = lowered
	next = next.settled()
	n, _ := name.Ordinal()
	next.Size--
	next.Left = append(slices.Clone(l.Left), n)
	slices.Sort(next.Left)
	// the highest numbers need not be kept in mind
	for k := len(next.Left); k > 0 && next.Left[k-1] == next.Size+k; k-- {
		next.Left = next.Left[:k-1]
	}
	return next
}

// OpenLedger begins the book for a fleet that has machines with instances up to the number top: nothing that stands is
// given up because the configuration speaks of fewer.
func OpenLedger(wanted *Spec, top int) *Ledger {
	return &Ledger{Size: max(wanted.Size, top), Template: wanted.Template, Provider: wanted.Provider}
}

// Force returns the spec with what is in force instead of what it asks for. Without a ledger everything it asks for is.
func (l *Ledger) Force(wanted Spec) Spec {
	if l == nil || wanted.Adopt.Selects() {
		return wanted
	}
	wanted.Size, wanted.Left, wanted.Template = l.Size, l.Left, l.Template.Cherished(wanted.Template.Disks)
	return wanted
}

// Cherished returns the template with what the disks say about which of them are to be kept: that is policy, and obeyed
// at once. What a made disk is belongs to how an instance is built.
func (t Template) Cherished(disks []Disk) Template {
	t.Disks = slices.Clone(t.Disks)
	for i := range t.Disks {
		k := slices.IndexFunc(disks, func(d Disk) bool { return d.Name == t.Disks[i].Name })
		if k >= 0 && disks[k].Size == 0 && t.Disks[i].Size == 0 {
			t.Disks[i] = disks[k]
		}
	}
	return t
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

// Builds reports whether an instance built from the one is as one built from the other: whether a disk that the
// template brings is to be kept makes no difference to that.
func (t Template) Builds(o Template) bool {
	same := slices.EqualFunc(t.Disks, o.Disks, func(a, b Disk) bool {
		return a.Name == b.Name && a.Size == b.Size && a.Type == b.Type && (a.Size == 0 || a.Ephemeral == b.Ephemeral)
	})
	t.Disks, o.Disks = nil, nil
	return same && reflect.DeepEqual(t, o)
}

// Equal reports whether the two say the same.
func (l *Ledger) Equal(other *Ledger) bool {
	return l == other || l != nil && other != nil && reflect.DeepEqual(*l, *other) // they share memory as a rule
}

// restart makes the book good for a new owner with another clock.
func (l *Ledger) restart(now Now) *Ledger {
	if l == nil {
		return nil
	}
	next := *l
	if next.Update != nil && next.Update.Calm != 0 {
		u := *next.Update
		u.Calm, next.Update = 0, &u
	}
	if next.Ordered.pins() {
		o := *next.Ordered
		o.Pin.restart(now)
		next.Ordered = &o
	}
	next.Removals = slices.Clone(l.Removals)
	for i := range next.Removals {
		if next.Removals[i].Chosen != 0 {
			next.Removals[i].Chosen = now.Mono
		}
	}
	return &next
}

// stretched returns the book in which a pin lasts as long as it would have, had the wall clock not been set.
func (l *Ledger) stretched(now Now) *Ledger {
	if l == nil || !l.Ordered.pins() {
		return l
	}
	next, o := *l, *l.Ordered
	o.Pin.stretch(now)
	next.Ordered = &o
	return &next
}
