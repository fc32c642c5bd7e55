package provider

import "hale/internal/fleet"

// Ability is something that a provider may have beyond what every one has: one of this package's further interfaces.
type Ability struct {
	Name string // the interface's
	// Ops are the operations that need it. None: it only reads.
	Ops []fleet.Op
	has func(Provider) bool
}

// Reads reports whether it changes nothing, so that it is passed on by whoever lets reads pass.
func (a Ability) Reads() bool { return len(a.Ops) == 0 }

// Of reports whether the provider has it, as far as it knows.
func (a Ability) Of(p Provider) bool {
	c, chooses := p.(Chooser)
	return a.has(p) && (!chooses || c.Has(a.Name))
}

// Abilities returns all that there are. A type that wraps a provider, and does not pass one of them on, hides it.
func Abilities() []Ability {
	return []Ability{
		{"Resumer", []fleet.Op{fleet.OpResume}, able[Resumer]},
		{"SoftRebooter", []fleet.Op{fleet.OpSoftReboot}, able[SoftRebooter]},
		{"Keeper", []fleet.Op{fleet.OpKeep, fleet.OpRestore}, able[Keeper]},
		{"Rebuilder", []fleet.Op{fleet.OpRebuild}, able[Rebuilder]},
		{"Snapshotter", []fleet.Op{fleet.OpSnapshot, fleet.OpDropSnapshot}, able[Snapshotter]},
		{"GuestPinger", nil, able[GuestPinger]},
		{"ConsoleReader", nil, able[ConsoleReader]},
		{"Screenshooter", nil, able[Screenshooter]},
	}
}

func able[T any](p Provider) bool {
	_, ok := p.(T)
	return ok
}

// Cannot returns the operations that the provider does not have.
func Cannot(p Provider) []fleet.Op {
	if r, ok := p.(readOnly); ok {
		return Cannot(r.behind) // with hands it would have them
	}
	var lacks []fleet.Op
	for _, a := range Abilities() {
		if !a.Of(p) {
			lacks = append(lacks, a.Ops...)
		}
	}
	return lacks
}
