package round

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// Round is one round of a fleet: the situation, what was found of the whole so far, and what was written down.
type Round struct {
	S situation.Situation
	// Sit is what the guard sees. Its tally and its doubt about one machine are set when that machine's turn comes.
	Sit   guard.Situation
	Tally guard.Tally
	// Afresh says that hale's own sight just came back: whatever is not well is judged anew.
	Afresh bool
	// Unproven are the checks that succeeded on no machine since they were made or edited, and Retested says that in
	// this round there are others of these than before.
	Unproven []fleet.CheckName
	Retested bool
	Mute     int // machines that are no work of this round, and cannot answer
	Records  []record.Record
	Rulings  []fleet.Ruling
	Freed    []belief.Hold       // that ended in this round
	Chosen   []fleet.MachineName // that are to be built from another template next
	Relieved []fleet.MachineName // of these, that a spare is to take the place of first
	Asks     []int               // the machines that are to be asked on demand
	Rests    []fleet.MachineName // spares that are to be turned off
	Rises    []fleet.MachineName // spares, and machines that were, that are to be turned on
	Again    bool                // another round is to follow at once: what is booked in this one has consequences
}

// Record adds records about the fleet.
func (r *Round) Record(all ...record.Record) {
	for _, rec := range all {
		rec.At, rec.Fleet = r.S.Now.Wall, r.S.Spec.Name
		r.Records = append(r.Records, rec)
	}
}

// Open opens the machine with the index.
func (r *Round) Open(n int) {
	if at, open := slices.BinarySearch(r.S.Open, n); !open {
		r.S.Open = slices.Insert(slices.Clone(r.S.Open), at, n)
	}
}

// Ordered returns the index of the machine, and whether the fleet has it. Views are sorted by ordinal.
func (r *Round) Ordered(name fleet.MachineName) (int, bool) {
	n, _ := name.Ordinal()
	i, found := sort.Find(len(r.S.Machines), func(i int) int {
		at, _ := r.S.Machines[i].Machine.Name.Ordinal()
		return cmp.Compare(n, at)
	})
	return i, found && r.S.Machines[i].Machine.Name == name
}

// Rule says what became of an order to the whole.
func (r *Round) Rule(o *fleet.Order, refused fleet.Reason) {
	r.Rulings = append(r.Rulings, fleet.Ruling{Order: o.ID, Refused: refused})
	r.Record(WithBraker(AboutOrder(o, refused), &r.Sit.Brake))
}

// RuleUntil refuses an order to the whole, for as long as is known.
func (r *Round) RuleUntil(o *fleet.Order, refused fleet.Reason, until time.Time) {
	r.Rulings = append(r.Rulings, fleet.Ruling{Order: o.ID, Refused: refused, Until: until})
	rec := AboutOrder(o, refused)
	rec.Until = until
	r.Record(rec)
}

// AboutOrder is the record of what became of an order.
func AboutOrder(o *fleet.Order, refused fleet.Reason) record.Record {
	return record.Record{
		Kind: record.Order, Reason: refused, Machine: o.Machine, Host: o.Host, Order: o.ID, Command: o.Kind,
		By:     o.By,
		Detail: o.Reason, Took: o.For, Size: o.Size, Change: o.Change, Only: o.Only,
		Hook: o.Hook, Word: o.Word,
	}
}

// WithBraker names the person who put the brake on, where that is the record's reason.
func WithBraker(rec record.Record, b *belief.Brake) record.Record {
	if rec.Reason == fleet.ReasonBrake {
		rec.Braker = b.By
	}
	return rec
}
