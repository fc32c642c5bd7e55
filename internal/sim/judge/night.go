package judge

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/sim/law"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// night is one that is not over.
type night struct {
	verb    script.Verb
	machine string // empty: it is about the whole fleet
	down    bool   // a machine of it failed since
	paged   bool   // a person was told
	wrong   bool
	over    bool
}

// nightLasts is how long after its event is over a night is judged.
const nightLasts = 2 * time.Hour

// NightFalls notes that something happened that can make two of one. What a naive policy makes of it is seen by the
// laws alone.
func (j *Judge) NightFalls(e script.Event, machine string) {
	n := &night{verb: e.Verb, machine: machine}
	j.nights = append(j.nights, n)
	j.w.After(e.For+nightLasts, func() { j.dawn(n) })
}

// nothingToDo notes that the event had nothing that it could happen to.
func (j *Judge) nothingToDo(e script.Event) {
	ends := &j.score.Nights[slices.Index(script.NightVerbs(), e.Verb)]
	ends.Nights++
	ends.NoEffect++
}

// dawn judges how the night ended.
func (j *Judge) dawn(n *night) {
	if n.over {
		return
	}
	n.over = true
	j.nights = slices.DeleteFunc(j.nights, func(o *night) bool { return o == n })
	ends := &j.score.Nights[slices.Index(script.NightVerbs(), n.verb)]
	ends.Nights++
	if n.verb != verbs.Copies && n.verb != script.LosesLast {
		j.score.Causes++ // a person has to put it in order, whether or not a machine fails meanwhile
	}
	switch {
	case n.wrong:
		ends.Wrong++
	case n.paged:
		ends.Paged++
	case j.dark(n):
		ends.Open++
	case n.down:
		ends.Healed++
	default:
		ends.Calm++
	}
}

// dark reports whether a machine of the night has been down for long, and no person was told.
func (j *Judge) dark(n *night) bool {
	for i := range j.outages {
		o := &j.outages[i]
		if n.machine != "" && n.machine != string(j.spec.Name.Machine(i+1)) {
			continue
		}
		if o.open && j.w.Now()-o.from > nightLasts/2 && !o.paged && !o.unseen && !j.covered(i+1) &&
			!j.restsByOrder(i+1) {
			return true
		}
	}
	return false
}

// each does something with the nights that a machine is part of.
func (j *Judge) each(machine string, do func(*night)) {
	for _, n := range j.nights {
		if n.machine == "" || n.machine == machine {
			do(n)
		}
	}
}

// warned takes in that a person was told, and sends the operator where two are, or may come to be.
func (j *Judge) warned(r record.Record) {
	first := j.eldest()
	for _, n := range first.nights {
		if n.machine == "" && law.OfTwo(r.Reason) || n.machine != "" && (n.machine == string(r.Machine) ||
			r.Machine == "" && law.OfTwo(r.Reason)) {
			n.paged = true
		}
	}
	switch {
	case !law.OfTwo(r.Reason):
		return
	case r.Reason == fleet.ReasonTwoHosts:
		if vm := first.w.Current(string(r.Machine)); vm != nil {
			first.toldTwo[string(r.Machine)] = first.w.ShownBy(vm.ID)
		}
	case r.Reason != fleet.ReasonSecondRunning:
		j.toldOlder = true
	}
	if mean := j.options.Operator; mean > 0 {
		j.w.After(j.w.Between(mean/2, mean*3/2), func() { first.putsInOrder(string(r.Machine)) })
	}
}

// takesWorld takes in that hale takes the world for what is, as a person wants it.
func (j *Judge) takesWorld(o *fleet.Order) {
	if !law.Believes(o) {
		return
	}
	if j.toldOlder {
		j.toldOlder, j.recovered = false, j.w.Now()
	}
	for i := range j.store.Beliefs {
		for _, vm := range j.w.All(string(j.spec.Name.Machine(i + 1))) {
			j.found[vm.ID] = j.found[vm.ID] || j.unknown(vm.ID)
			j.store.Name(fleet.InstanceID(vm.ID))
		}
	}
}

// inTwo reports whether the machine may be in two: what hale can do about it alone is nothing but to wait.
func (j *Judge) inTwo(vm *world.VM) bool {
	return j.second != nil || j.w.Contested(vm.ID) || j.astray()
}

// untouched checks that nothing is done to an instance while two hosts show it, as they have for a while, and hale
// itself has told a person so (L1).
func (j *Judge) untouched(c *world.Call) {
	first := j.eldest()
	shown := first.domains == 0 && j.w.Now()-first.stirred > seenWithin && j.w.Contested(c.ID)
	if shown && first.toldTwo[c.Mark.Machine] != "" && c.Op != world.Run {
		j.Broken("L1", c.Mark.Machine, fmt.Sprintf("%s of %s, which two hosts show", c.Op, j.called(c.ID)))
	}
}

// seenWithin is how long after the last fault of hosts or provider a listing shows what is.
const seenWithin = 30 * time.Second

// tellTwoWithin is how many minutes hale may take to tell a person that two hosts show an instance, once nothing keeps
// it from seeing that.
const tellTwoWithin = 5

// tellsOfTwo sees minute by minute that a person is told of an instance that two hosts show (L8); seen is for how many
// minutes on end hale could have seen it.
func (j *Judge) tellsOfTwo(machine, id string, seen int) {
	j.w.After(time.Minute, func() {
		n, _ := fleet.MachineName(machine).Ordinal()
		switch {
		case j.toldTwo[machine] != "" || !j.w.Contested(id) || j.options.Naive:
			return
		case j.domains > 0 || !j.run.LooksOn() || law.Unbooked(j.booked, n): // an older store may not know it
			seen = 0
		case seen >= tellTwoWithin:
			j.Broken("L8", machine, "two hosts show it, and nobody was told")
			return
		}
		j.tellsOfTwo(machine, id, seen+1)
	})
}

// knowsOfTwo reports whether a person was told of what keeps hale from healing the machine.
func (j *Judge) knowsOfTwo(machine string) bool {
	if j.toldOlder {
		return true
	}
	vm := j.w.Current(machine)
	return vm != nil && j.toldTwo[machine] != "" && j.w.Contested(vm.ID)
}

// staysOn follows what becomes of an instance that a person moves while it runs, and that leaves its definition behind.
func (j *Judge) staysOn(e script.Event) func(lift func()) func() {
	vm := j.w.Current(e.Subject)
	was := vm != nil && j.w.Contested(vm.ID)
	return func(lift func()) func() {
		switch {
		case vm == nil:
			return func() {}
		case lift == nil:
			j.nothingToDo(e)
			return func() {}
		case !was && j.toldTwo[vm.Machine()] != j.w.ShownBy(vm.ID): // else that page has not been taken back
			delete(j.toldTwo, vm.Machine())
		}
		j.tellsOfTwo(vm.Machine(), vm.ID, 0)
		j.NightFalls(e, vm.Machine())
		return lift
	}
}
