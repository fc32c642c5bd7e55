package owner

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/budget"
	"hale/internal/core/decide"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// storePause is the wait before a full store is tried again, a second in Instants.
const storePause = 1_000_000_000

// Write is what is to be stored together, in one transaction that also compares the owner's lease. What of it is stored
// already as it is need not be written.
type Write struct {
	// Fleet says that Brake and Whole are to be stored, Believes and Believed are as round.Decision says.
	Fleet    bool
	Brake    belief.Brake
	Whole    belief.Whole
	Believes bool
	Believed []fleet.StartName
	// Machines are the beliefs to be stored.
	Machines []round.Decided
	// Slots is the book of slots as it is to be, if it is not as it was read.
	Slots *budget.Slots
	// Alive is a sign of life, which shows whether a full store takes anything.
	Alive   bool
	Records []record.Record
	// Rulings are on orders from which this follows: they leave the inbox.
	Rulings []fleet.Ruling
}

// Begin is what may begin, of the machine with the index.
type Begin struct {
	Index  int
	Action situation.Action
}

// writing is a decision that is being written.
type writing struct {
	stage    stage
	decision round.Decision
	write    Write // that Ready returned last
	// outdated says that the decision rests on an older book of slots: it begins nothing more that needs a place there.
	outdated bool
}

// stage is which write is next.
type stage int

const (
	stageNone     stage = iota
	stageAlive          // whether a full store takes anything
	stageFleet          // what is about the fleet as a whole
	stageMachines       // the beliefs that are left in the decision
)

// Due reports whether there is anything to decide. While the store is full nothing is decided; it is tried again from
// time to time.
func (o *Owner) Due(now fleet.Now) bool {
	if o.State().Acting == fleet.ReasonStoreFull {
		return now.Due(o.tryAt)
	}
	return o.Dirty() || now.Due(o.next)
}

// Next returns when to decide again at the latest; 0: not before there is news.
func (o *Owner) Next() fleet.Instant { return o.next }

// Wake returns when there is something to do at the latest, to decide or to read metrics; 0: not before there is news.
func (o *Owner) Wake() fleet.Instant {
	if metric := o.NextMetric(); metric != 0 && (o.next == 0 || metric < o.next) {
		return metric
	}
	return o.next
}

// Decide judges what is known. What is to be stored of it Ready returns; of a full store, first a sign of life.
func (o *Owner) Decide(now fleet.Now) {
	if o.State().Acting != fleet.ReasonStoreFull {
		o.decide(now)
		return
	}
	takes := record.Record{Kind: record.Owner, Reason: fleet.ReasonActing, Detail: string(fleet.ReasonStoreFull)}
	o.round = writing{stage: stageAlive, write: Write{Alive: true, Records: []record.Record{o.About(now, takes)}}}
}

func (o *Owner) decide(now fleet.Now) {
	if at, due := o.ProviderPage(); due && now.Due(at) {
		o.Note(now, o.ProviderPaged())
	}
	o.round = writing{stage: stageFleet, decision: o.decider.Decide(o.Situation(now))}
	d := &o.round.decision
	o.asks = d.Asks
	rulings, records := o.voids(now)
	o.round.write = Write{
		Fleet: true, Brake: d.Brake, Whole: d.Whole, Believes: d.Believes, Believed: d.Believed,
		Records: slices.Concat(records, o.pending, d.Records), Rulings: append(rulings, d.Orders...),
	}
	w := &o.round.write
	if d.Brake == o.State().Brake && d.Whole.Equal(o.State().Whole) && len(w.Records) == 0 && len(w.Rulings) == 0 {
		o.round.stage = stageMachines
	}
}

// Ready returns what is to be stored next; false: there is nothing left of the decision. Answer with Stored, with
// Overtaken or with Refused.
func (o *Owner) Ready(now fleet.Now) (Write, bool) {
	r := &o.round
	switch r.stage {
	case stageNone:
		return Write{}, false
	case stageMachines:
		if !o.readyMachines() {
			o.settle(now)
			return Write{}, false
		}
	case stageAlive, stageFleet:
	}
	return r.write, true
}

// few is how many decisions are written one by one: there is little to win, and each is known the sooner.
const few = 8

// readyMachines prepares the next beliefs for the store. When much happens at once, most of it is of no consequence but
// for the record: that goes together, for a transaction costs the disk as much as a hundred writes in it.
func (o *Owner) readyMachines() bool {
	r := &o.round
	for len(r.decision.Machines) > 0 {
		all := r.decision.Machines
		n := o.plain(all)
		if n < few {
			n = 1
		}
		m := &all[0]
		if n == 1 && r.outdated && o.begins(m) {
			o.Again(m.Index)
			r.decision.Machines = all[1:]
			continue
		}
		r.write = Write{Machines: all[:n], Rulings: m.Orders}
		if n == 1 {
			r.write.Records = m.Records
			if book, differs := o.entered(&m.Belief); differs {
				r.write.Slots = &book
			}
			return true
		}
		records := 0
		for i := range all[:n] {
			records += len(all[i].Records)
		}
		r.write.Records = make([]record.Record, 0, records)
		for i := range all[:n] {
			r.write.Records = append(r.write.Records, all[i].Records...)
		}
		return true
	}
	return false
}

// plain returns how many of the first decisions can be stored by one transaction: those from which nothing follows but
// that they are written down, as many as there is room for.
func (o *Owner) plain(all []round.Decided) int {
	if o.options.Together == nil || len(all) < few {
		return 0
	}
	room := o.options.Together(all)
	for n := range all[:room] {
		m := &all[n]
		if len(m.Actions) > 0 || len(m.Orders) > 0 {
			return n
		}
		if _, differs := o.entered(&m.Belief); differs {
			return n
		}
	}
	return room
}

// Stored takes in that the write which Ready returned is stored, and returns what may begin now.
func (o *Owner) Stored(now fleet.Now) []Begin {
	r := &o.round
	w := r.write
	o.mail.settle(w.Rulings, o.OrderSettled)
	switch r.stage {
	case stageAlive:
		o.SetActing("")
		o.decide(now)
	case stageFleet:
		r.stage = stageMachines
		o.AdoptBrake(w.Brake)
		o.AdoptWhole(w.Whole, now)
		o.pending = nil
		o.hearNews(now)
	case stageMachines:
		if w.Slots != nil {
			o.SetSlots(*w.Slots)
		}
		r.decision.Machines = r.decision.Machines[len(w.Machines):]
		var begin []Begin
		for _, m := range w.Machines {
			o.Adopt(m)
			for _, a := range m.Actions {
				begin = append(begin, Begin{m.Index, a})
			}
		}
		return begin
	case stageNone:
	}
	return nil
}

// Overtaken says that the write which Ready returned is not stored, since the book of slots is another one by now: what
// needs a place there is decided once more.
func (o *Owner) Overtaken(book budget.Slots) {
	o.round.outdated = true
	o.SetSlots(book)
}

// Refused takes in that the store did not take the write which Ready returned, and reports whether the term goes on.
// When the store has no space, nothing is done until it takes a sign of life; what was heard is kept. Any other error
// ends the term, so that everything is read and judged afresh: perhaps another server owns the fleet by now.
func (o *Owner) Refused(err error, now fleet.Now) bool {
	if !fault.Is(err, fault.NoSpace) {
		return false
	}
	o.round = writing{}
	o.SetActing(fleet.ReasonStoreFull)
	o.tryAt = now.Mono + storePause
	o.next = o.tryAt
	return true
}

// Foresee judges the machines by what is known now, although nothing of it can be written down, and so nothing follows
// from it: people see how they stand, and not how they stood when the store took something last.
func (o *Owner) Foresee(now fleet.Now) []round.Decided {
	return o.decider.Decide(o.Situation(now)).Machines
}

// Trial is what would become of an order.
type Trial struct {
	Ruling  fleet.Ruling
	Ruled   bool            // it would be taken up or refused at once
	Records []record.Record // that would be written of it
}

// Try says what would become of an order now. Nothing follows from it.
func (o *Owner) Try(order fleet.Order, now fleet.Now) Trial {
	s := o.Situation(now)
	s.Orders = []fleet.Order{order}
	d := decide.Decide(s)
	rulings, records := d.Orders, d.Records
	for _, m := range d.Machines {
		rulings, records = append(rulings, m.Orders...), append(records, m.Records...)
	}
	var out Trial
	for _, r := range rulings {
		if r.Order == order.ID {
			out.Ruling, out.Ruled = r, true
		}
	}
	for _, r := range records {
		if r.Order == order.ID {
			out.Records = append(out.Records, o.About(now, r))
		}
	}
	return out
}

// Asks returns the machines that are to be asked on demand since the last decision, and takes them to be. Tell the
// answers to TellAsked.
func (o *Owner) Asks(now fleet.Now) []int {
	asks := o.asks
	o.asks = nil
	for _, i := range asks {
		o.Ask(i, now)
	}
	return asks
}

// settle ends the round: all that was decided is stored.
func (o *Owner) settle(now fleet.Now) {
	outdated := o.round.outdated
	o.next = o.round.decision.Next
	if at, due := o.ProviderPage(); due && (o.next == 0 || at < o.next) {
		o.next = at
	}
	o.round = writing{}
	o.decider.Forget()
	o.Settled()
	if outdated {
		o.Stir()
	}
	if o.Dirty() {
		o.next = now.Mono
	}
}
