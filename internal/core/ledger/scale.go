package ledger

import (
	"slices"
	"strings"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/resized"
	"hale/internal/core/round"
	"hale/internal/core/sizing"
	"hale/internal/core/spares"
)

// opened returns what is in force, opening the book where there is none yet.
func opened(r *round.Round) *belief.Ledger {
	if r.Sit.Whole.Ledger == nil {
		enforce(r, belief.OpenLedger(r.S.Wanted, standing(r)))
	}
	return r.Sit.Whole.Ledger
}

// Scale takes the order of a size. A larger one is booked in this round. Where the size has bounds, what a smaller one
// makes too many goes at once; elsewhere that waits for a person's word, as when the file is edited.
func Scale(r *round.Round, o *fleet.Order) {
	if refused := unscalable(r, o); refused != "" {
		r.Rule(o, refused)
		return
	}
	l := opened(r)
	was, waited := l.Asked(r.S.Wanted), change.Pending(r.S.Wanted, l, r.S.Machines, r.S.Hosts)
	size, refused, until := sizeOf(r, o, was)
	if refused != "" {
		r.RuleUntil(o, refused, until)
		return
	}
	r.Rule(o, "")
	rec := record.Record{Kind: record.Change, Reason: fleet.ReasonSizeOrdered, Order: o.ID, By: o.By, Size: size,
		Limit: was}
	if was == size && o.For == 0 && !l.Ordered.Pinned(r.S.Now) && !l.Lifted(r.S.Wanted) {
		rec.Reason = fleet.ReasonAlready
	} else {
		rec.Until = order(r, l, o, size)
		remember(r, was, size)
	}
	r.Record(rec)
	if sayPending(r, o).From == 0 && waited.From != 0 && l.Ordered != nil {
		r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonTakenBack, Order: l.Ordered.Order, By: o.By,
			Detail: waited.ID, Size: waited.To, Limit: waited.From})
	}
}

// order enters the size that was ordered, and returns until when it is pinned; zero: it is not.
func order(r *round.Round, l *belief.Ledger, o *fleet.Order, size int) time.Time {
	next := &belief.OrderedSize{Size: size, File: r.S.Wanted.Said(), Order: o.ID, By: o.By, Reason: o.Reason,
		At: r.S.Now.Wall, Within: r.S.Wanted.Sizing != nil}
	if o.For > 0 {
		next.Pin = belief.ExpiryIn(o.For, r.S.Now)
		r.S.Now.Await(next.Pin.Ends)
	}
	enforce(r, l.Order(next))
	return next.Pin.Until
}

// unscalable says why no size can be ordered.
func unscalable(r *round.Round, o *fleet.Order) fleet.Reason {
	switch {
	case r.S.Wanted == nil:
		return fleet.ReasonUnsupported
	case r.S.Wanted.Adopt.Selects():
		return fleet.ReasonSelects
	case r.S.Wanted.Sizing == nil && (o.Signal || o.For > 0):
		return fleet.ReasonPlainSize
	}
	return ""
}

// sizeOf returns the size that the order leads to from the one that is asked for, as far as the bounds let it go. What
// a person pinned no signal moves, nor does it move a size that rests; until is when it may.
func sizeOf(r *round.Round, o *fleet.Order, was int) (size int, refused fleet.Reason, until time.Time) {
	z, l := r.S.Wanted.Sizing, r.Sit.Whole.Ledger
	if size = o.Size; size == 0 {
		size = min(max(o.Change.To(was), 1), fleet.LargestSize)
	}
	if z == nil {
		return size, "", until
	}
	bound := z.Bound(size)
	switch at := sizing.Rests(z, r.Sit.Whole.Sizing, was, bound); {
	case bound != size && z.Strict:
		return size, fleet.ReasonBounds, until
	case o.Signal && l.LastWord(r.S.Wanted).Pinned(r.S.Now):
		return size, fleet.ReasonPinned, l.Ordered.Pin.Until
	case o.Signal && bound != was && at != 0 && !r.S.Now.Due(at):
		return size, fleet.ReasonCooldown, r.S.Now.When(at)
	case bound != size:
		r.Record(record.Record{Kind: record.Size, Reason: fleet.ReasonBounds, Size: size, Limit: bound, Order: o.ID,
			By: o.By})
	}
	return bound, "", until
}

// remember notes that the size moved by a person's word: it rests before opinions, or signals, move it on.
func remember(r *round.Round, from, to int) {
	if r.S.Wanted.Sizing == nil || from == to {
		return
	}
	next := resized.State{}
	if s := r.Sit.Whole.Sizing; s != nil {
		next = *s
	}
	r.Sit.Whole.Sizing = next.Moves(from, to, r.S.Now)
}

// sayPending records what waits for a person's word, where it follows from an order, and returns the plan.
func sayPending(r *round.Round, o *fleet.Order) change.Plan {
	p := change.Pending(r.S.Wanted, r.Sit.Whole.Ledger, r.S.Machines, r.S.Hosts)
	if p.From != p.To {
		r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonAwaitsWord, Order: o.ID, Detail: p.ID,
			Size: p.To, Limit: p.From})
	}
	return p
}

// listen lets the configuration have the last word on a size that people ordered, when it asks for another one than it
// did then.
func listen(r *round.Round, l *belief.Ledger) *belief.Ledger {
	if !l.Outspoken(r.S.Wanted) {
		return l
	}
	o := l.Ordered
	r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonSizeFromFile, Order: o.Order, By: o.By,
		Size: r.S.Wanted.Size, Limit: o.Size})
	return l.Order(nil)
}

// Remove takes the order to remove a machine: the one that was named, whichever instance it has. A size that was asked
// for before is in force first: else the number that the machine gives up would be taken again for it.
func Remove(r *round.Round, o *fleet.Order) {
	at, _ := r.Ordered(o.Machine)
	m := &r.S.Machines[at].Machine
	if r.S.Wanted != nil && r.S.Wanted.Adopt.Selects() {
		dismiss(r, o, m)
		return
	}
	Book(r)
	refused := unremovable(r, m)
	r.Rule(o, refused)
	if refused != "" {
		return
	}
	l := opened(r)
	if leaves(r, m) {
		r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonAlready, Machine: m.Name, Order: o.ID,
			By: o.By})
		return
	}
	next := l.Removing(belief.Removal{Machine: m.Name, Instance: m.Current.ID, Why: fleet.ReasonNamed, Order: o.ID,
		By: o.By}, o, r.S.Wanted)
	enforce(r, next)
	r.Record(record.Record{Kind: record.Change, Reason: fleet.ReasonNamed, Machine: m.Name, Order: o.ID, By: o.By,
		Instance: m.Current.ID, Size: min(next.Serving(), next.Asked(r.S.Wanted)), Limit: l.Serving()})
	sayWhatStays(r, o, m)
	r.Again = true
}

// leaves reports whether the machine has gone, or is to.
func leaves(r *round.Round, m *belief.Machine) bool {
	return guard.Surplus(m, &r.S.Spec) || r.Sit.Whole.Ledger.Removal(m.Name) != nil
}

// unremovable says why the machine may not be removed.
func unremovable(r *round.Round, m *belief.Machine) fleet.Reason {
	if r.S.Wanted == nil {
		return fleet.ReasonUnsupported
	}
	l := opened(r)
	switch held := change.Unremovable(m, &r.S.Spec); {
	case guard.Surplus(m, &r.S.Spec) && !m.Current.None():
		return fleet.ReasonSurplus
	case leaves(r, m):
		return ""
	case r.S.Spec.Mode == policy.ModeObserve:
		return fleet.ReasonObserve
	case guard.HoldOn(m, &r.Sit) != nil:
		return fleet.ReasonHold
	case held != "":
		return held
	case r.Sit.Brake.On():
		return fleet.ReasonBrake
	case l.IsSpare(m.Name) && l.Idle() > r.S.Wanted.Spares.Count, l.Surging(m.Name) != "":
		return ""
	case l.IsSpare(m.Name) && spares.Fit(m, &r.Sit) != spares.Lost: // one that is lost served before
		return fleet.ReasonSpare
	case l.Serving() <= 1:
		return fleet.ReasonLastMachine
	}
	return ""
}

// sayWhatStays records what the machine leaves behind at its provider: its kept disks, and older instances for the rest
// of their time.
func sayWhatStays(r *round.Round, o *fleet.Order, m *belief.Machine) {
	say := func(reason fleet.Reason, host fleet.HostName, detail string) {
		r.Record(record.Record{Kind: record.Change, Reason: reason, Machine: m.Name, Order: o.ID, Host: host,
			Detail: detail})
	}
	if v := m.Volumes; v != nil && len(v.Made) > 0 {
		say(fleet.ReasonDisksStay, v.Host, strings.Join(v.Made, ", "))
	}
	for i := range m.Kept {
		say(fleet.ReasonKeptStays, m.Kept[i].Host, string(m.Kept[i].ID))
	}
}

// dismiss takes the order to let an adopted machine go: it stays as it is, and is not taken up again.
func dismiss(r *round.Round, o *fleet.Order, m *belief.Machine) {
	refused := fleet.Reason("")
	switch {
	case m.Current.None() && m.Repair != nil:
		refused = fleet.ReasonInRepair
	case m.Current.None():
		refused = fleet.ReasonUnknownSubject
	case !m.Current.Adopted:
		refused = fleet.ReasonOwnBuild
	case len(r.Sit.Whole.LetGo) >= belief.MostLetGo:
		refused = fleet.ReasonTooMany
	}
	r.Rule(o, refused)
	if refused != "" || r.S.Spec.Adopt.Let(m.Current.ID) {
		return
	}
	keepOut(r, append(slices.Clone(r.Sit.Whole.LetGo), belief.LetGo{
		Instance: m.Current.ID, Name: m.Alias, Order: o.ID, By: o.By, At: r.S.Now.Wall, Select: r.S.Wanted.Adopt.Select,
	}))
}

// keepOut lets the round go by what people want out of hale's care.
func keepOut(r *round.Round, all []belief.LetGo) {
	r.Sit.Whole.LetGo = all
	r.S.Spec.Adopt.Left = r.Sit.Whole.Left()
	r.Sit.Spec = r.S.Spec
}

// SelectAgain forgets what people wanted out of hale's care when the configuration selects otherwise.
func SelectAgain(r *round.Round) {
	if len(r.Sit.Whole.LetGo) == 0 || r.S.Wanted == nil {
		return
	}
	sel := &r.S.Wanted.Adopt.Select
	kept := slices.DeleteFunc(slices.Clone(r.Sit.Whole.LetGo),
		func(l belief.LetGo) bool { return !l.Select.Equal(sel) })
	if len(kept) < len(r.Sit.Whole.LetGo) {
		keepOut(r, kept)
	}
}
