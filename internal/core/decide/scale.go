package decide

import (
	"slices"
	"strings"

	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
)

// ledger returns what is in force, opening the book where there is none yet.
func (r changing) ledger() *fleet.Ledger {
	if r.sit.Whole.Ledger == nil {
		r.enforce(fleet.OpenLedger(r.s.Wanted, r.standing()))
	}
	return r.sit.Whole.Ledger
}

// scale takes the order of a size. A larger one is booked in this round; what a smaller one would destroy waits for a
// person's word, as when the file is edited.
func (r changing) scale(o *fleet.Order) {
	switch {
	case r.s.Wanted == nil:
		r.rule(o, fleet.ReasonUnsupported)
		return
	case r.s.Wanted.Adopt.Selects():
		r.rule(o, fleet.ReasonSelects)
		return
	}
	l := r.ledger()
	was, waited := l.Asked(r.s.Wanted), change.Pending(r.s.Wanted, l, r.s.Machines)
	r.rule(o, "")
	rec := fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonSizeOrdered, Order: o.ID, By: o.By, Size: o.Size,
		Limit: was}
	if was == o.Size {
		rec.Reason = fleet.ReasonAlready
	} else {
		r.enforce(l.Order(&fleet.OrderedSize{Size: o.Size, File: r.s.Wanted.Size, Order: o.ID, By: o.By,
			Reason: o.Reason, At: r.s.Now.Wall}))
	}
	r.record(rec)
	if r.sayPending(o).From == 0 && waited.From != 0 && l.Ordered != nil {
		r.record(fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonTakenBack, Order: l.Ordered.Order, By: o.By,
			Detail: waited.ID, Size: waited.To, Limit: waited.From})
	}
}

// sayPending records what waits for a person's word, where it follows from an order, and returns the plan.
func (r changing) sayPending(o *fleet.Order) change.Plan {
	p := change.Pending(r.s.Wanted, r.sit.Whole.Ledger, r.s.Machines)
	if p.From != p.To {
		r.record(fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonAwaitsWord, Order: o.ID, Detail: p.ID,
			Size: p.To, Limit: p.From})
	}
	return p
}

// listen lets the configuration have the last word on a size that people ordered, when it asks for another one than it
// did then.
func (r changing) listen(l *fleet.Ledger) *fleet.Ledger {
	if !l.Outspoken(r.s.Wanted) {
		return l
	}
	o := l.Ordered
	r.record(fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonSizeFromFile, Order: o.Order, By: o.By,
		Size: r.s.Wanted.Size, Limit: o.Size})
	return l.Order(nil)
}

// remove takes the order to remove a machine: the one that was named, whichever instance it has. A size that was asked
// for before is in force first: else the number that the machine gives up would be taken again for it.
func (r changing) remove(o *fleet.Order) {
	at, _ := r.ordered(o.Machine)
	m := &r.s.Machines[at].Machine
	if r.s.Wanted != nil && r.s.Wanted.Adopt.Selects() {
		r.dismiss(o, m)
		return
	}
	r.book()
	refused := r.unremovable(m)
	r.rule(o, refused)
	if refused != "" {
		return
	}
	l := r.ledger()
	if r.leaves(m) {
		r.record(fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonAlready, Machine: m.Name, Order: o.ID,
			By: o.By})
		return
	}
	r.enforce(l.Removing(fleet.Removal{Machine: m.Name, Instance: m.Current.ID, Why: fleet.ReasonNamed, Order: o.ID,
		By: o.By}, o, r.s.Wanted))
	r.record(fleet.Record{Kind: fleet.RecordChange, Reason: fleet.ReasonNamed, Machine: m.Name, Order: o.ID, By: o.By,
		Instance: m.Current.ID, Size: r.sit.Whole.Ledger.Staying(), Limit: l.Staying()})
	r.sayWhatStays(o, m)
	r.again = true
}

// leaves reports whether the machine has gone, or is to.
func (r changing) leaves(m *fleet.Machine) bool {
	return guard.Surplus(m, &r.s.Spec) || r.sit.Whole.Ledger.Removal(m.Name) != nil
}

// unremovable says why the machine may not be removed.
func (r changing) unremovable(m *fleet.Machine) fleet.Reason {
	if r.s.Wanted == nil {
		return fleet.ReasonUnsupported
	}
	l := r.ledger()
	switch held := change.Unremovable(m, &r.s.Spec); {
	case guard.Surplus(m, &r.s.Spec) && !m.Current.None():
		return fleet.ReasonSurplus
	case r.leaves(m):
		return ""
	case r.s.Spec.Mode == fleet.ModeObserve:
		return fleet.ReasonObserve
	case guard.HoldOn(m, &r.sit) != nil:
		return fleet.ReasonHold
	case held != "":
		return held
	case r.sit.Brake.On():
		return fleet.ReasonBrake
	case l.Staying() <= 1:
		return fleet.ReasonLastMachine
	}
	return ""
}

// sayWhatStays records what the machine leaves behind at its provider: its kept disks, and older instances for the rest
// of their time.
func (r changing) sayWhatStays(o *fleet.Order, m *fleet.Machine) {
	say := func(reason fleet.Reason, host fleet.HostName, detail string) {
		r.record(fleet.Record{Kind: fleet.RecordChange, Reason: reason, Machine: m.Name, Order: o.ID, Host: host,
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
func (r changing) dismiss(o *fleet.Order, m *fleet.Machine) {
	refused := fleet.Reason("")
	switch {
	case m.Current.None() && m.Repair != nil:
		refused = fleet.ReasonInRepair
	case m.Current.None():
		refused = fleet.ReasonUnknownSubject
	case !m.Current.Adopted:
		refused = fleet.ReasonOwnBuild
	case len(r.sit.Whole.LetGo) >= fleet.MostLetGo:
		refused = fleet.ReasonTooMany
	}
	r.rule(o, refused)
	if refused != "" || r.s.Spec.Adopt.Let(m.Current.ID) {
		return
	}
	r.keepOut(append(slices.Clone(r.sit.Whole.LetGo), fleet.LetGo{
		Instance: m.Current.ID, Name: m.Alias, Order: o.ID, By: o.By, At: r.s.Now.Wall, Select: r.s.Wanted.Adopt.Select,
	}))
}

// keepOut lets the round go by what people want out of hale's care.
func (r changing) keepOut(all []fleet.LetGo) {
	r.sit.Whole.LetGo = all
	r.s.Spec.Adopt.Left = r.sit.Whole.Left()
	r.sit.Spec = r.s.Spec
}

// selectAgain forgets what people wanted out of hale's care when the configuration selects otherwise.
func (r changing) selectAgain() {
	if len(r.sit.Whole.LetGo) == 0 || r.s.Wanted == nil {
		return
	}
	sel := &r.s.Wanted.Adopt.Select
	kept := slices.DeleteFunc(slices.Clone(r.sit.Whole.LetGo), func(l fleet.LetGo) bool { return !l.Select.Equal(sel) })
	if len(kept) < len(r.sit.Whole.LetGo) {
		r.keepOut(kept)
	}
}
