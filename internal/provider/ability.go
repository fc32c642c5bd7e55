package provider

import (
	"context"
	"reflect"
	"slices"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// Ability is something that a provider may have beyond what every one has: one of this package's further interfaces.
type Ability struct {
	Name string // the interface's
	// operations are those that need it. None: it only reads, or is hale's own, as the notes of its starts are.
	operations []operation
	// keeps says that it changes what only hale reads.
	keeps bool
	has   func(Provider) bool
	// methods are the interface's.
	methods []string
}

// Methods are the names of its calls.
func (a Ability) Methods() []string { return a.methods }

// Reads reports whether it changes nothing, so that a wrapper that lets reads pass lets it pass, too.
func (a Ability) Reads() bool { return len(a.operations) == 0 && !a.keeps }

// Of reports whether the provider has it, as far as it knows.
func (a Ability) Of(p Provider) bool {
	c, chooses := p.(Chooser)
	return a.has(p) && (!chooses || c.Has(a.Name))
}

func abilityNamed(name string) (Ability, bool) {
	i := slices.IndexFunc(abilities, func(a Ability) bool { return a.Name == name })
	if i < 0 {
		return Ability{}, false
	}
	return abilities[i], true
}

// Abilities returns all that there are. A type that wraps a provider, and does not pass one of them on, hides it: Relay
// passes all of them on.
func Abilities() []Ability { return slices.Clone(abilities) }

var abilities = allAbilities()

func allAbilities() []Ability {
	noter := ability[StartNoter]()
	noter.keeps = true
	return []Ability{
		ability[Resumer](byRef(fleet.OpResume, Resumer.Resume)),
		ability[SoftRebooter](byRef(fleet.OpSoftReboot, SoftRebooter.RebootSoft)),
		ability[Keeper](byName(fleet.OpKeep, Keeper.Keep), byName(fleet.OpRestore, Keeper.Restore)),
		ability[Rebuilder](byOrder(fleet.OpRebuild, Rebuilder.Rebuild)),
		ability[Evacuator](byRef(fleet.OpEvacuate, Evacuator.Evacuate)),
		ability[Migrator](byRef(fleet.OpMigrate, Migrator.Migrate)),
		ability[Adjuster](byOrder(fleet.OpAdjust, Adjuster.Adjust)),
		ability[Rescuer](byRef(fleet.OpRescue, Rescuer.Rescue)),
		ability[Snapshotter](
			by(fleet.OpSnapshot, func(p Snapshotter, ctx context.Context, c Call) (fleet.Copy, error) {
				return p.Snapshot(ctx, c.Ref, c.Snapshot)
			}),
			by(fleet.OpDropSnapshot, func(p Snapshotter, ctx context.Context, c Call) (fleet.Copy, error) {
				return fleet.Copy{}, p.DropSnapshot(ctx, c.Snapshot)
			}),
		),
		ability[Reverter](by(fleet.OpRevert, func(p Reverter, ctx context.Context, c Call) (fleet.Copy, error) {
			return fleet.Copy{}, p.Revert(ctx, c.Ref, c.Snapshot)
		})),
		ability[GuestPinger](),
		ability[MeterReader](),
		ability[UsageReader](),
		ability[ConsoleReader](),
		ability[Screenshooter](),
		ability[Rehearser](),
		ability[StartReader](),
		noter,
	}
}

// ability describes the interface.
func ability[T any](ops ...operation) Ability {
	t := reflect.TypeFor[T]()
	a := Ability{Name: t.Name(), operations: ops, has: able[T]}
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
			for _, o := range a.operations {
				lacks = append(lacks, o.op)
			}
		}
	}
	return lacks
}

// Call is an operation that is ordered of a provider.
type Call struct {
	Op  fleet.Op
	Ref Ref // the instance
	// Blueprint is the instance as it is or was built: of those operations that build it, or change its name.
	Blueprint Blueprint
	Snapshot  fleet.SnapshotName // of the operations on copies
}

// operation is how a provider is told to do something.
type operation struct {
	op fleet.Op
	do func(ctx context.Context, p Provider, c Call) (fleet.Copy, error)
}

// by is an operation of the interface.
func by[T any](op fleet.Op, do func(T, context.Context, Call) (fleet.Copy, error)) operation {
	return operation{op, func(ctx context.Context, p Provider, c Call) (fleet.Copy, error) {
		able, ok := p.(T)
		if !ok {
			return fleet.Copy{}, c.absent()
		}
		return do(able, ctx, c)
	}}
}

// byRef is one that takes the instance.
func byRef[T any](op fleet.Op, do func(T, context.Context, Ref) error) operation {
	return by(op, func(p T, ctx context.Context, c Call) (fleet.Copy, error) { return fleet.Copy{}, do(p, ctx, c.Ref) })
}

// byName is one that takes the machine's name, too.
func byName[T any](op fleet.Op, do func(T, context.Context, Ref, string) error) operation {
	return by(op, func(p T, ctx context.Context, c Call) (fleet.Copy, error) {
		return fleet.Copy{}, do(p, ctx, c.Blueprint.Ref, c.Blueprint.Name)
	})
}

// byOrder is one that takes what is to be built.
func byOrder[T any](op fleet.Op, do func(T, context.Context, Blueprint) error) operation {
	return by(op, func(p T, ctx context.Context, c Call) (fleet.Copy, error) {
		return fleet.Copy{}, do(p, ctx, c.Blueprint)
	})
}

// everyone is what each provider can do.
var everyone = []operation{
	byOrder(fleet.OpCreate, Provider.Create),
	byRef(fleet.OpStart, Provider.Start),
	byRef(fleet.OpReboot, Provider.Reboot),
	byRef(fleet.OpPowerOff, Provider.PowerOff),
	byRef(fleet.OpDelete, Provider.Delete),
	byRef(fleet.OpCertify, Provider.Certify),
}

// Do has the provider do what is ordered. The copy is that of a snapshot. Errors are the operation's;
// fault.Unsupported: the provider does not have it; fault.Invalid: it is no provider's business.
func Do(ctx context.Context, p Provider, c Call) (fleet.Copy, error) {
	all := slices.Clone(everyone)
	for _, a := range abilities {
		all = append(all, a.operations...)
	}
	at := slices.IndexFunc(all, func(o operation) bool { return o.op == c.Op })
	if at < 0 {
		return fleet.Copy{}, fault.New(fault.Invalid, "provider.do", string(c.Op), nil)
	}
	return all[at].do(ctx, p, c)
}
