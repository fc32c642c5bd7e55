package provider

import (
	"reflect"

	"hale/internal/fleet"
)

// Ability is something that a provider may have beyond what every one has: one of this package's further interfaces.
type Ability struct {
	Name string // the interface's
	// Ops are the operations that need it. None: it only reads, or is hale's own, as the notes of its starts are.
	Ops []fleet.Op
	// keeps says that it changes what only hale reads.
	keeps bool
	has   func(Provider) bool
	// methods are the interface's.
	methods []string
}

// Methods are the names of its calls.
func (a Ability) Methods() []string { return a.methods }

// Reads reports whether it changes nothing, so that it is passed on by whoever lets reads pass.
func (a Ability) Reads() bool { return len(a.Ops) == 0 && !a.keeps }

// Of reports whether the provider has it, as far as it knows.
func (a Ability) Of(p Provider) bool {
	c, chooses := p.(Chooser)
	return a.has(p) && (!chooses || c.Has(a.Name))
}

// Abilities returns all that there are. A type that wraps a provider, and does not pass one of them on, hides it.
func Abilities() []Ability {
	noter := ability[StartNoter]()
	noter.keeps = true
	return []Ability{
		ability[Resumer](fleet.OpResume),
		ability[SoftRebooter](fleet.OpSoftReboot),
		ability[Keeper](fleet.OpKeep, fleet.OpRestore),
		ability[Rebuilder](fleet.OpRebuild),
		ability[Evacuator](fleet.OpEvacuate),
		ability[Migrator](fleet.OpMigrate),
		ability[Rescuer](fleet.OpRescue),
		ability[Snapshotter](fleet.OpSnapshot, fleet.OpDropSnapshot),
		ability[GuestPinger](),
		ability[ConsoleReader](),
		ability[Screenshooter](),
		ability[Rehearser](),
		ability[StartReader](),
		noter,
	}
}

// ability describes the interface.
func ability[T any](ops ...fleet.Op) Ability {
	t := reflect.TypeFor[T]()
	a := Ability{Name: t.Name(), Ops: ops, has: able[T]}
	for i := range t.NumMethod() {
		a.methods = append(a.methods, t.Method(i).Name)
	}
	return a
}

func able[T any](p Provider) bool {
	_, ok := p.(T)
	return ok
}

// Cannot returns the operations that the provider does not have.
func Cannot(p Provider) []fleet.Op {
	switch w := p.(type) {
	case readOnly:
		return Cannot(w.behind) // with hands it would have them
	case *guarded:
		return Cannot(w.behind)
	}
	var lacks []fleet.Op
	for _, a := range Abilities() {
		if !a.Of(p) {
			lacks = append(lacks, a.Ops...)
		}
	}
	return lacks
}
