package judge

import (
	"fmt"
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/sim/law"
	"hale/internal/sim/stored"
)

// wishes is what the judge knows of the operator's orders, from the side of those who gave them.
type wishes struct {
	posted map[fleet.OrderID]fleet.Order
	braked bool // by hand, as stored
	// leaving are the machines that are ordered away, as stored.
	leaving map[fleet.MachineName]bool
}

// Ordered notes that the operator gave an order. To have a stopped machine healed is to want it to run.
func (j *Judge) Ordered(o *fleet.Order) {
	j.wishes.posted[o.ID] = *o
	j.truth.Ordered(o, j.w.Now())
}

// saidOff reports whether a person ever took the host for off.
func (j *Judge) saidOff(host string) bool {
	for _, o := range j.wishes.posted {
		if o.Kind == fleet.OrderFenced && string(o.Host) == host {
			return true
		}
	}
	return false
}

// isHeld reports whether a hold in force covers the machine.
func (j *Judge) isHeld(m *belief.Machine) bool { return law.Covered(m, j.holds.Stand) }

// isHostHeld reports whether a hold in force is on the host.
func (j *Judge) isHostHeld(name fleet.HostName) bool {
	return name != "" && slices.ContainsFunc(j.holds.Stand, func(h belief.Hold) bool {
		return h.Only == "" && h.Machine == "" && h.Host == name
	})
}

// restsByOrder reports whether what happens to the machine is as a person wants it for now: it is held, it is to go, or
// the brake was put on by hand.
func (j *Judge) restsByOrder(n int) bool {
	return j.wishes.braked || j.isHeld(&j.store.Beliefs[n-1]) || j.isToGo(string(j.spec.Name.Machine(n)))
}

// obeyed judges how holds and the hand on the brake change.
func (j *Judge) obeyed(before, after stored.Overall, records []record.Record) {
	j.moved = true
	defer j.resume(j.resting())
	if len(before.Whole.Holds) > 0 || len(after.Whole.Holds) > 0 {
		j.holdsChange(before.Whole.Holds, after.Whole.Holds)
	}
	j.leave(after.Whole.Ledger)
	j.books(after.Whole.Ledger)
	j.recount()
	was, is := before.Brake, after.Brake
	if is.Excused > was.Excused && !j.tookOff(records) {
		j.Broken("L6", "", fmt.Sprintf("%d failures are excused, and nobody took the brake off", is.Excused))
	}
	if was.By != "" && is.By == "" && !j.tookOff(records) {
		j.Broken("L6", "", "a brake that was put on by hand is off, and nobody took it off")
	}
	if j.wishes.braked = is.By != ""; j.wishes.braked {
		j.excuse()
	}
}

// leave notes which machines are ordered away: what becomes of them is no failure (L10).
func (j *Judge) leave(l *belief.Ledger) {
	if len(j.wishes.leaving) == 0 && (l == nil || len(l.Removals) == 0) {
		return
	}
	j.wishes.leaving = map[fleet.MachineName]bool{}
	if l != nil {
		for i := range l.Removals {
			j.wishes.leaving[l.Removals[i].Machine] = true
		}
	}
}

// tookOff reports whether an operator's order to take the brake off was taken up with these records.
func (j *Judge) tookOff(records []record.Record) bool {
	return slices.ContainsFunc(records, func(r record.Record) bool {
		return r.Kind == record.Order && r.Reason == "" && j.wishes.posted[r.Order].Kind == fleet.OrderBrakeOff
	})
}

// holdsChange judges a change of the holds, and what rests by them.
func (j *Judge) holdsChange(before, after []belief.Hold) {
	first := j.eldest()
	j.holds.Change(before, after, law.Sight{Since: max(first.stirred, j.began), Struck: first.isStruck,
		Apart: first.apart()})
	j.excuse()
}

// excuse takes outages that rest by order out of what is hale's to heal alone.
func (j *Judge) excuse() {
	for i := range j.outages {
		if o := &j.outages[i]; o.open && o.healable && j.restsByOrder(i+1) {
			o.healable = false
			j.score.Healable--
		}
	}
}

// recount counts what fails anew: with a hold, a removal or a size, what counts has changed.
func (j *Judge) recount() {
	failed := j.failing
	defer func() { j.noteRise(failed) }()
	j.failing, j.inRepair = 0, 0
	for i := range j.store.Beliefs {
		j.tally(j.store.Beliefs[i], 1)
	}
}

// resting returns the machines that are down, and rest by order.
func (j *Judge) resting() []int {
	var out []int
	for i := range j.outages {
		if j.outages[i].open && j.restsByOrder(i+1) {
			out = append(out, i)
		}
	}
	return out
}

// Resume notes which of those that rested by order are to be healed from now on.
func (j *Judge) resume(rested []int) {
	for _, i := range rested {
		if !j.restsByOrder(i + 1) {
			j.outages[i].freed = j.w.Now()
		}
	}
}
