package judge

import (
	"hale/internal/sim/law"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// Strikes has the judge know what is about to happen in the world. What it returns is to be asked afterwards: it takes
// what ends the event, and returns that with what the judge does then; nil: nothing.
func (j *Judge) Strikes(e script.Event, kind verbs.Kind) func(lift func()) func() {
	j.truth.Foresees(j.w, e.Subject, e.Verb, func(judge func()) { judge() })
	switch kind {
	case verbs.OfDomain, verbs.OfProvider:
		return j.strikesMany(e)
	case verbs.OfTemplate:
		return func(lift func()) func() {
			return func() {
				lift()
				j.moved, j.spoiled = true, false
			}
		}
	case verbs.OfPerson:
		return func(lift func()) func() {
			if lift == nil {
				j.nothingToDo(e)
			} else {
				j.NightFalls(e, e.Arg)
			}
			return lift
		}
	case verbs.OfMachine, verbs.OfLoad, verbs.OfMetric, verbs.OfHook:
	}
	if e.Verb == verbs.StaysOn {
		return j.staysOn(e)
	}
	return nil
}

// strikesMany is the same of what a domain or all share.
func (j *Judge) strikesMany(e script.Event) func(lift func()) func() {
	d, err := verbs.ParseDomain(e.Subject)
	if err != nil {
		d = world.Domain{Kind: "all"} // the provider's
	}
	lower := j.shared(d)
	return func(lift func()) func() {
		return func() {
			lift()
			lower()
		}
	}
}

// Over has the judge know that an event is over in the world.
func (j *Judge) Over(e script.Event) { j.truth.Over(e.Subject, e.Verb) }

// Equipped tells the judge which disks a machine has from the beginning.
func (j *Judge) Equipped(vm *world.VM) { j.truth.Equipped(vm.Machine(), law.Disks(vm)) }
