package belief

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Ledger is the one book of what is in force in a fleet: its size and its template, whatever the configuration says by
// now. An edit that destroys nothing enters it at once; one that would destroy waits for a person's word. It is never
// changed in place: whoever books something makes another one.
type Ledger struct {
	// Size is how many machines there are to be, spares included, and those beyond the size that people ask for.
	Size int
	// Spares are those of the machines that do not serve, in the order of their numbers: who serves is a role, and
	// changes hands.
	Spares []fleet.MachineName `json:",omitempty"`
	// Surge are those of the machines that are beyond the size for the time of an order, in the order in which they
	// came.
	Surge []Surge `json:",omitempty"`
	// Left are the numbers that machines below the highest one gave up, ascending: they have no machine any more.
	Left []int `json:",omitempty"`
	// Template is what an instance is built from, and Edition its number: an instance's own tells which template it was
	// built from.
	Template policy.Template
	Edition  uint64 `json:",omitempty"`
	// Ordered is the size that people, or opinions, want instead of the configuration's; nil: none.
	Ordered *OrderedSize `json:",omitempty"`
	// Moves counts how often opinions moved the size, or machines were chosen to go within bounds, so that each of
	// these has a name of its own: how an earlier choice of a machine ended says nothing of another one.
	Moves uint64 `json:",omitempty"`
	// Removals are machines that are to go, by a person's order or by an opinion's, in the order in which they go.
	Removals []Removal `json:",omitempty"`
	// Update is another template on its way through the fleet; nil: none is. Editions is the highest number ever given.
	Update   *Update `json:",omitempty"`
	Editions uint64  `json:",omitempty"`
	// Provider is where the machines are. It does not change.
	Provider fleet.ProviderName
}

// Removal is a machine that is to go.
type Removal struct {
	Machine  fleet.MachineName
	Instance fleet.InstanceID `json:",omitempty"` // that the person was shown; empty: it had none
	Why      fleet.Reason     // it is this one
	Order    fleet.OrderID    // the person's, or the name of the opinion's move
	By       string
	// Opinion is by which it goes; empty: by a person's word.
	Opinion fleet.OpinionName `json:",omitempty"`
	// Chosen is when it was chosen, where it has some time left before anything is done; it restarts with a new owner
	// (L15). Zero: it has none.
	Chosen fleet.Instant `json:",omitempty"`
	// Named says that the person named the machine, and not an instance of it: it goes whichever it has by then, and no
	// size that is asked for brings it back.
	Named bool `json:",omitempty"`
	// Lowers says that the size asked for is one less with it: no size was asked for since.
	Lowers bool `json:",omitempty"`
}

// Removal returns the order by which the machine is to go, or nil.
func (l *Ledger) Removal(name fleet.MachineName) *Removal {
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

// Changing reports whether any machine is to be changed by a person's order, or is beyond the size for one.
func (l *Ledger) Changing() bool {
	return l != nil && (len(l.Removals) > 0 || l.Update != nil || len(l.Surge) > 0)
}

// Staying returns how many machines are left when removals, and the orders for which some are beyond the size, are
// over; spares included.
func (l *Ledger) Staying() int { return l.Size - len(l.Removals) - l.surging() }

// Dropped returns a ledger without the order to remove the machine: it was given up, or taken back. One that cannot go
// when its time beyond the size is over is of the size from then on: people say what becomes of it.
func (l *Ledger) Dropped(name fleet.MachineName) *Ledger {
	next := *l
	if r := l.Removal(name); r != nil && r.Why == fleet.ReasonSurgeOver {
		next.withoutSurge(name)
	}
	next.Removals = slices.DeleteFunc(slices.Clone(l.Removals), func(r Removal) bool { return r.Machine == name })
	return next.settled()
}

// Without returns a ledger in which the machine has gone, as of now.
func (l *Ledger) Without(name fleet.MachineName, now time.Time) *Ledger {
	lowered := l.Ordered
	if r := l.Removal(name); r != nil && r.Lowers && lowered != nil {
		lowered = &OrderedSize{Size: lowered.Size - 1, File: lowered.File, Order: r.Order, By: r.By, At: now,
			Pin: lowered.Pin}
	}
	next := l.Dropped(name)
	next.Ordered = lowered
	next = next.settled()
	next.Spares = slices.DeleteFunc(slices.Clone(l.Spares), func(n fleet.MachineName) bool { return n == name })
	next.withoutSurge(name)
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
func OpenLedger(wanted *policy.Spec, top int) *Ledger {
	l := &Ledger{Size: max(wanted.Size, top), Template: wanted.Template, Provider: wanted.Provider}
	return l.Grown(max(l.Size, wanted.Size+wanted.Spares.Count), wanted)
}

// Force returns the spec with what is in force instead of what it asks for. Without a ledger everything it asks for is.
func (l *Ledger) Force(wanted policy.Spec) policy.Spec {
	if l == nil || wanted.Adopt.Selects() {
		return wanted
	}
	wanted.Size, wanted.Left, wanted.Template = l.Size, l.Left, l.Template.Cherished(wanted.Template.Disks)
	return wanted
}

// Grown returns a ledger with so many machines, spares included: numbers that were given up are taken again first. The
// last of the new ones are spares, where there are fewer of these than there are to be.
func (l *Ledger) Grown(size int, wanted *policy.Spec) *Ledger {
	next, fresh := l.extended(size)
	spares := slices.Clone(l.Spares)
	for len(fresh) > 0 && next.Idle() < wanted.Spares.Count {
		spares = append(spares, wanted.Name.Machine(fresh[len(fresh)-1]))
		next.Spares, fresh = spares, fresh[:len(fresh)-1]
	}
	return next.sorted()
}

// extended returns the ledger with so many machines, and the numbers of those that are new.
func (l *Ledger) extended(size int) (next Ledger, fresh []int) {
	next = *l
	back := min(max(size-l.Size, 0), len(l.Left))
	next.Left = slices.Clone(l.Left[back:])
	next.Size = size
	fresh = slices.Clone(l.Left[:back])
	for n := l.Size + len(l.Left) + 1; n <= next.Size+len(next.Left); n++ {
		fresh = append(fresh, n)
	}
	return next, fresh
}

// Equal reports whether the two say the same.
func (l *Ledger) Equal(other *Ledger) bool {
	return l == other || l != nil && other != nil && reflect.DeepEqual(*l, *other) // they share memory as a rule
}

// restart makes the book good for a new owner with another clock.
func (l *Ledger) restart(now fleet.Now) *Ledger {
	if l == nil {
		return nil
	}
	next := *l
	next.Update = l.Update.restart(now)
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
func (l *Ledger) stretched(now fleet.Now) *Ledger {
	if l == nil || !l.Ordered.pins() {
		return l
	}
	next, o := *l, *l.Ordered
	o.Pin.stretch(now)
	next.Ordered = &o
	return &next
}

// OrderedSize is the last word on how many machines there are to be, beside the configuration: a person's, a program's
// or an opinion's. It holds until the configuration itself asks for another size than it did then.
type OrderedSize struct {
	Size int
	// File is what the configuration asked for when the order was given; 0: nothing.
	File   int
	Order  fleet.OrderID // the last one
	By     string
	Reason string `json:",omitempty"` // in that person's words
	At     time.Time
	// Opinion is the one that moved the size; empty: a person, or a program, did.
	Opinion fleet.OpinionName `json:",omitempty"`
	// Within says that it was given within bounds that let machines go: those that it makes too many need no other
	// word.
	Within bool `json:",omitempty"`
	// Pin is until when no opinion and no signal moves the size; zero: they may.
	Pin Expiry `json:",omitzero"`
}

// Pinned reports whether no opinion and no signal may move the size now. There may be no order.
func (o *OrderedSize) Pinned(now fleet.Now) bool {
	return o != nil && !o.Pin.Until.IsZero() && !o.Pin.Over(now)
}

func (o *OrderedSize) pins() bool { return o != nil && !o.Pin.Until.IsZero() }

// Outspoken reports whether the configuration asks for another size than when people ordered one: its word is the later
// one.
func (l *Ledger) Outspoken(wanted *policy.Spec) bool {
	said := wanted.Said()
	return l.Ordered != nil && (said != 0 && l.Ordered.File != said || wanted.Sizing == nil && l.Ordered.Opinion != "")
}

// LastWord returns the order that says the size; nil: the configuration does, or nothing. There may be no ledger.
func (l *Ledger) LastWord(wanted *policy.Spec) *OrderedSize {
	if l == nil || wanted.Adopt.Selects() || l.Outspoken(wanted) {
		return nil
	}
	return l.Ordered
}

// Asked returns how many machines that serve are asked for, within the bounds: by the last word on it, or else by the
// configuration, or where that says no size, as many as there are. Removals that lower it are left out of it.
func (l *Ledger) Asked(wanted *policy.Spec) int {
	switch {
	case l == nil || l.Outspoken(wanted):
		return wanted.Sizing.Bound(wanted.Size)
	case l.Ordered == nil && wanted.Said() == 0:
		return wanted.Sizing.Bound(l.Serving())
	case l.Ordered == nil:
		return wanted.Sizing.Bound(wanted.Size)
	}
	return wanted.Sizing.Bound(l.ordered())
}

// Lifted reports whether the bounds ask for more machines than the last word on the size did, the configuration's
// among them. When they give way it counts again.
func (l *Ledger) Lifted(wanted *policy.Spec) bool {
	word := wanted.Said()
	if l.LastWord(wanted) != nil {
		word = l.ordered()
	}
	return word != 0 && word < l.Asked(wanted)
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

// Kept returns how many machines that serve are asked for, or were when the last word was given: if the bounds leave
// room for fewer since then, that is an edit, and no part of the word.
func (l *Ledger) Kept(wanted *policy.Spec) int {
	if l.LastWord(wanted) == nil {
		return l.Asked(wanted)
	}
	return max(l.Asked(wanted), l.ordered())
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
	if o := l.Ordered; o != nil && o.Size == o.File && !lowers && !o.Within && !o.pins() {
		l.Ordered = nil
	}
	return l
}

// Removing returns a ledger in which the machine that a person named is to go, and one less is asked for. Where there
// are more machines than are asked for, it is one of those that are too many, and the number stays. A spare counts so,
// too, where there are more spares than the file says. Where there are not, another machine took its place, and one
// less is asked for: than the file says, whatever the bounds make of that, for they are no word on the size.
func (l *Ledger) Removing(r Removal, o *fleet.Order, wanted *policy.Spec) *Ledger {
	next := *l
	excess := l.IsSpare(r.Machine) && l.Idle() > wanted.Spares.Count || l.Surging(r.Machine) != ""
	r.Named, r.Lowers = true, !excess && l.Asked(wanted) >= l.Serving()
	if r.Lowers && l.Ordered == nil {
		next.Ordered = &OrderedSize{Size: cmp.Or(wanted.Said(), l.Asked(wanted)), File: wanted.Said(), Order: o.ID,
			By: o.By, Reason: o.Reason, At: o.At}
	}
	next.Removals = append(slices.Clone(l.Removals), r)
	return &next
}
