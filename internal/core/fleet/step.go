package fleet

import (
	"maps"
	"slices"
)

// StepKind names a recovery step.
type StepKind string

// The steps.
const (
	StepStart    StepKind = "start"    // power on; applies when the provider says it is off
	StepResume   StepKind = "resume"   // go on where it was; applies when it is paused or suspended
	StepReboot   StepKind = "reboot"   // applies when it runs
	StepRebuild  StepKind = "rebuild"  // fence, then the same instance with a new disk from the template
	StepRecreate StepKind = "recreate" // fence, delete, create anew from the template
	// StepEvacuate lets the instance go on elsewhere when its host does not answer, and is proven off.
	StepEvacuate StepKind = "evacuate"
	// StepMigrate moves the running instance to another host when its own is disabled.
	StepMigrate StepKind = "migrate"
	// StepRescue has another system run in the instance's place, with its disk beside, and leaves it to a person. It
	// ends the ladder.
	StepRescue StepKind = "rescue"
	StepRun    StepKind = "run" // execute a command on hale's side; applies when it runs
	// StepSnapshot copies the instance's disks before a later step that would lose them. It heals nothing.
	StepSnapshot StepKind = "snapshot"
	StepPage     StepKind = "page" // tell a person, and give them VerifyWithin before the next step
	// StepQuarantine leaves it to a person.
	StepQuarantine StepKind = "quarantine"
	// StepStop turns the instance off, and leaves it so. It is no step of a ladder: only a person orders it.
	StepStop StepKind = "stop"
	// StepRevert gives the same instance the disks of a copy. Only a person orders it.
	StepRevert StepKind = "revert"
)

// risk is what a step or an operation may take away.
type risk struct {
	gentle     bool // nothing of a machine that turns out to run
	revives    bool // sets going what its provider says does not run, and can double nothing
	erases     bool // the signs of what ails the machine
	builds     bool // what the step leaves boots from a new disk, and has the time of a build to become healthy
	rolled     bool // builds or destroys: this start of hale is noted at the provider's before
	disruptive bool // can interrupt or destroy a running machine (L3, L7)
	destroys   bool // destroys an instance, or is the first call towards that (L2)
	interrupts bool // takes a machine that serves away from those whom it serves
	ordered    bool // no step of a ladder: only a person orders it
	// fenced says that the policy's proof is needed before the first call that cannot be taken back; seenOff, that the
	// provider itself must have seen it off, which is to work on the instance.
	fenced, seenOff bool
}

// steps is the row of each step.
var steps = map[StepKind]risk{
	StepStart:      {gentle: true, revives: true},
	StepResume:     {gentle: true, revives: true},
	StepReboot:     {interrupts: true, erases: true},
	StepRun:        {},
	StepSnapshot:   {}, // it takes nothing away, and is of no use without a step that does
	StepRebuild:    {interrupts: true, erases: true, builds: true, rolled: true, seenOff: true},
	StepRecreate:   {interrupts: true, erases: true, builds: true, rolled: true, fenced: true},
	StepEvacuate:   {interrupts: true, erases: true, builds: true, rolled: true, fenced: true},
	StepMigrate:    {rolled: true},
	StepRescue:     {interrupts: true, erases: true, rolled: true},
	StepPage:       {gentle: true},
	StepQuarantine: {gentle: true},
	StepStop:       {interrupts: true, rolled: true, ordered: true},
	StepRevert:     {interrupts: true, erases: true, builds: true, rolled: true, ordered: true, seenOff: true},
}

// Steps returns the steps that a ladder can have, by name.
func Steps() []StepKind {
	all := slices.Sorted(maps.Keys(steps))
	return slices.DeleteFunc(all, func(k StepKind) bool { return steps[k].ordered })
}

// Known reports whether there is such a step.
func (k StepKind) Known() bool {
	_, known := steps[k]
	return known
}

// chores are the steps that carry out what people order to be done with one machine.
var chores = map[OrderKind]StepKind{
	OrderReplace: StepRecreate, OrderStart: StepStart, OrderStop: StepStop, OrderReboot: StepReboot,
	OrderMigrate: StepMigrate, OrderRevert: StepRevert,
}

// Step returns the step that carries the order out; empty: no step does.
func (k OrderKind) Step() StepKind { return chores[k] }

// Resumed returns the step that takes the place of this one on what is halted.
func (k StepKind) Resumed() StepKind {
	if k == StepStart {
		return StepResume
	}
	return k
}

// Order returns the order that the step carries out by itself; empty: none is.
func (k StepKind) Order() OrderKind {
	if k == StepResume {
		return OrderStart
	}
	for o, step := range chores {
		if step == k {
			return o
		}
	}
	return ""
}

// Gentle reports whether the step takes nothing away from a machine that turns out to run.
func (k StepKind) Gentle() bool { return steps[k].gentle }

// Revives reports whether the step sets going what its provider says does not run: it destroys nothing and can double
// nothing, so that neither the brake nor the budget holds it.
func (k StepKind) Revives() bool { return steps[k].revives }

// Builds reports whether what the step leaves boots from a new disk, and has the time of a build to become healthy.
func (k StepKind) Builds() bool { return steps[k].builds }

// Destroys reports whether the step may destroy the signs of what ails the machine.
func (k StepKind) Destroys() bool { return steps[k].erases }

// Interrupts reports whether a machine stops serving its users during the step.
func (k StepKind) Interrupts() bool { return steps[k].interrupts }

// Rolled reports whether the step may build or destroy. What is no step may.
func (k StepKind) Rolled() bool {
	return steps[k].rolled || !k.Known()
}

// Needs returns the proof that the step needs before its first call that cannot be taken back.
func (k StepKind) Needs(f Fence) Proof {
	switch row := steps[k]; {
	case row.seenOff:
		return ProofConfirmedOff
	case row.fenced:
		return f.Proof
	}
	return ProofNone
}

// Op is an operation at the provider.
type Op string

// The operations.
const (
	OpCreate   Op = "create"
	OpStart    Op = "start"
	OpReboot   Op = "reboot"
	OpPowerOff Op = "power-off"
	OpDelete   Op = "delete"
	OpCertify  Op = "certify"
	OpResume   Op = "resume"
	// OpSoftReboot asks the guest to reboot. It may not listen.
	OpSoftReboot Op = "soft-reboot"
	// OpRun executes a command on hale's side. No provider takes part in it.
	OpRun Op = "run"
	// OpKeep puts an instance that is off aside: it gives up the machine's name and its kept disks.
	OpKeep Op = "keep"
	// OpRestore gives them back to one that was put aside.
	OpRestore Op = "restore"
	// OpRebuild gives an instance that is off a new disk from the template's image, and starts it.
	OpRebuild Op = "rebuild"
	// OpEvacuate starts an instance on another host when its own is off; OpMigrate moves one there while it runs.
	OpEvacuate Op = "evacuate"
	OpMigrate  Op = "migrate"
	// OpRescue starts another system in an instance's place, with its disk beside, for a person to repair it.
	OpRescue Op = "rescue"
	// OpSnapshot copies an instance's disks so that the copy outlives it; OpDropSnapshot removes the copy.
	OpSnapshot     Op = "snapshot"
	OpDropSnapshot Op = "drop-snapshot"
	// OpRevert gives an instance that is off the disks of a copy, and starts it.
	OpRevert Op = "revert"
	// OpAdjust changes what an instance has where it is: memory, processors or flavor while it is off, and metadata and
	// tags.
	OpAdjust Op = "adjust"
	// OpFence turns the whole host of an instance off, by a power controller. No provider takes part in it.
	OpFence Op = "fence"
	// OpHook runs a hook of people's own, beside the work on an instance. No provider takes part in it.
	OpHook Op = "hook"
)

// operations is the row of each operation.
var operations = map[Op]risk{
	OpCreate:       {rolled: true},
	OpStart:        {},
	OpResume:       {},
	OpReboot:       {disruptive: true},
	OpSoftReboot:   {disruptive: true},
	OpPowerOff:     {rolled: true, disruptive: true, destroys: true},
	OpDelete:       {rolled: true, disruptive: true, destroys: true},
	OpCertify:      {},
	OpRun:          {},
	OpKeep:         {rolled: true},
	OpRestore:      {rolled: true},
	OpRebuild:      {rolled: true, disruptive: true, destroys: true},
	OpEvacuate:     {rolled: true, disruptive: true, destroys: true},
	OpMigrate:      {rolled: true},
	OpRescue:       {rolled: true, disruptive: true},
	OpSnapshot:     {},
	OpDropSnapshot: {rolled: true},
	OpRevert:       {rolled: true, disruptive: true, destroys: true},
	OpHook:         {},
	OpAdjust:       {rolled: true},
	OpFence:        {rolled: true, disruptive: true, destroys: true},
}

// Ops returns the operations by name.
func Ops() []Op { return slices.Sorted(maps.Keys(operations)) }

// Disruptive reports whether the operation can interrupt or destroy a running machine (L3, L7).
func (o Op) Disruptive() bool { return operations[o].disruptive }

// Destroys reports whether the operation destroys an instance, or is the first call towards that (L2).
func (o Op) Destroys() bool { return operations[o].destroys }

// Rolled reports whether the operation builds or destroys, so that it is sent only when this start of hale is noted at
// the provider's. The others leave what there is; they are sent unless the notes show a start that the store does not
// know. What is no operation counts as one that builds.
func (o Op) Rolled() bool {
	row, known := operations[o]
	return row.rolled || !known
}

// TurnsOff reports whether the operation powers an instance off, and changes nothing else.
func (o Op) TurnsOff() bool { return o == OpPowerOff }

// GoesElsewhere reports whether after the step the machine is on another host than one that does not answer.
func (k StepKind) GoesElsewhere() bool { return k == StepRecreate || k == StepEvacuate }

// Parts reports whether the operation parts a machine from its instance: it goes, or is put aside.
func (o Op) Parts() bool { return o == OpDelete || o == OpKeep }
