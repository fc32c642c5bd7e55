package belief

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Repair is the durable execution of a ladder for one incident, of a first build, or of a remnant's removal. What lasts
// no longer than its rung, its target, what was found of that, or its phase, lies in a part that is made anew with it,
// as a whole. It is stored as one flat document.
type Repair struct {
	ID      string
	Kind    RepairKind
	Started time.Time
	// Order is the person's that it carries out, and By that person; empty: it mends.
	Order fleet.OrderID `json:",omitempty"`
	By    string        `json:",omitempty"`
	// Withdrawn says that the order was taken back since: as soon as the work can end in order it does.
	Withdrawn bool `json:",omitempty"`
	// Back is the kept instance that is brought back (RepairUndo).
	Back Incarnation `json:",omitzero"`
	// Copy is the copy of disks that is put back (fleet.StepRevert).
	Copy fleet.SnapshotID `json:",omitempty"`
	// Drop is the copy of disks that is removed (RepairTidy).
	Drop fleet.SnapshotID `json:",omitempty"`
	// InPlace says how an update changes the instance where it is; nil: another one is built. It is never changed in
	// place itself, so that copies share it.
	InPlace *Adjusting `json:",omitempty"`
	// Revives says that so far it only sets going what does not run. It takes a place among the starts then, and none
	// in the budgets of machines in repair.
	Revives bool `json:",omitempty"`
	// RestTold says that a person was told that the target is gone, and the rest of it cannot be removed.
	RestTold bool `json:",omitempty"`
	// Struck says that a call to fence the target's host ended unheard, and may have been carried out.
	Struck bool `json:",omitempty"`
	// Intent is the call under way, or one with an unknown outcome.
	Intent *Intent `json:",omitempty"`
	// LastOutcome is when the last call ended: a look, or an observation, must begin after it.
	LastOutcome fleet.Instant
	// Looks and Calls number the looks and calls of this repair.
	Looks, Calls int
	// Hooks is how far the hooks of the repair came; nil: none has begun.
	Hooks *Hooking `json:",omitempty"`
	Gathering
	Climb
}

// Gathering is the evidence that a rung waits for before it destroys what it is about.
type Gathering struct {
	// Gather is its id, and GatherBy is until when the rung waits; without GatherBy, gathering has ended.
	Gather   string        `json:",omitempty"`
	GatherBy fleet.Instant `json:",omitempty"`
}

// Adjusting is how an instance is changed where it is.
type Adjusting struct {
	Rest bool `json:",omitempty"` // it is off meanwhile
	Done bool `json:",omitempty"` // it is as wanted; if it was off for that, it is to be started
}

// Interrupts reports whether the machine stops serving its users while the work is done. There may be no repair.
func (r *Repair) Interrupts() bool { return r != nil && (r.InPlace == nil || r.InPlace.Rest) }

// Climb is the work on one rung.
type Climb struct {
	Rung int // index into the ladder; meaningless for builds and removals
	Step fleet.StepKind
	// Stranded says that the rung was chosen while the target's host did not answer.
	Stranded bool `json:",omitempty"`
	// Next is the instance being built, from its intent until it is Machine.Current.
	Next Incarnation
	Aim
	Stage
}

// Aim is the instance that a rung acts on, and what was done to it. The zero value is that of a first build.
type Aim struct {
	Target Incarnation
	// Removed says that Target was deleted, or is to be left where it is.
	Removed bool
	// OffCalls counts the calls to power Target off on this rung.
	OffCalls int `json:"OffOrders"`
	// OffAccepted says that Target's provider accepted one of them, or may have, since its answer was lost: it may be
	// carried out late (S71).
	OffAccepted bool `json:",omitempty"`
	// MayGo says the same of a delete whose answer was lost.
	MayGo bool `json:",omitempty"`
	// ClearedCalls is OffCalls at the moment of the last confirming look: a further call needs a further look.
	ClearedCalls int `json:"ClearedOrders"`
	// FenceAt is when the time is over for which the target's host is left as it is before it is fenced: only a look
	// that begins then lets hale do so. Zero: it has not begun.
	FenceAt fleet.Instant `json:",omitempty"`
	Finding
}

// AimAt returns the aim at the instance. Of none, nothing is left to be removed.
func AimAt(i Incarnation) Aim {
	if i.None() {
		return Aim{Removed: true, Finding: Finding{Proof: fleet.ProofDeleted}}
	}
	return Aim{Target: i}
}

// Finding is what was found of the target since a rung looks at it.
type Finding struct {
	// Look is the id of the look that the rung waits for or has taken.
	Look string
	// Confirmed says that a look confirmed the failure for this rung (L3).
	Confirmed bool
	// SilentAt is when a look found nothing but silence, for which a machine near by has yet to bear witness.
	SilentAt fleet.Instant `json:",omitempty"`
	// Proof is what is known of Target's end; empty: nothing.
	Proof fleet.Proof
	// ProvenAt is when that was learnt; zero: before a restart.
	ProvenAt fleet.Instant `json:",omitempty"`
}

// Stage is where a rung stands.
type Stage struct {
	Phase Phase
	Since fleet.Instant // when the phase began
	// RetryAt is when a call that did nothing is sent again.
	RetryAt fleet.Instant
	// AskAt is when an observation that was not answered is asked for again.
	AskAt fleet.Instant
	// Retries counts the fruitless calls and questions.
	Retries int
	// Deadline ends PhaseVerify, and in PhaseProvision the wait for an address.
	Deadline fleet.Instant
	// Dark says that the host of what is verified, or its provider, did not answer since the phase began.
	Dark bool `json:",omitempty"`
}

// RepairKind says what the work is for.
type RepairKind string

// The kinds of repair.
const (
	RepairHeal    RepairKind = "heal"
	RepairBuild   RepairKind = "build"   // the first instance of a machine
	RepairRemnant RepairKind = "remnant" // removal of what an expired build left
	RepairUndo    RepairKind = "undo"    // brings a kept instance back, by a person's order
	RepairRemove  RepairKind = "remove"  // of the machine, by a person's order
	RepairUpdate  RepairKind = "update"  // to another template, by a person's order
	RepairTidy    RepairKind = "tidy"    // removal of a copy of disks when its time is over
	RepairReplace RepairKind = "replace" // by a new instance of the same template, by a person's order
	RepairOperate RepairKind = "operate" // one step, by a person's order: Step says which
)

// Ordered reports whether work of the kind carries out a person's order, and mends nothing.
func (k RepairKind) Ordered() bool {
	return k == RepairRemove || k == RepairUpdate || k == RepairUndo || k == RepairReplace || k == RepairOperate
}

// Replaces reports whether work of the kind puts a new instance in the place of the one there is, as healing may.
func (k RepairKind) Replaces() bool { return k == RepairUpdate || k == RepairReplace }

// Chore reports whether work of the kind is what a person has hale do with one machine, be it well or not.
func (k RepairKind) Chore() bool { return k == RepairReplace || k == RepairOperate }

// Budgeted reports whether work of the kind takes a place in the budgets of machines in repair, the fleet's own and the
// shared ones (L5): all that takes a machine away from those that it serves.
func (k RepairKind) Budgeted() bool { return k == RepairHeal || k.Ordered() }

// Phase is where the work on a rung stands.
type Phase string

// The phases of a rung, in order.
const (
	PhaseLook Phase = "look" // waiting for the look that confirms the failure
	// PhaseLeave is before the first call: the hooks before a repair, and those for a machine that leaves its users,
	// and its pools.
	PhaseLeave Phase = "leave"
	PhaseAct   Phase = "act" // calls
	// PhaseProvision is after a build: waiting for an address, and then for the hooks that make of it what it is to be.
	PhaseProvision Phase = "provision"
	PhaseVerify    Phase = "verify"  // waiting for health
	PhaseCertify   Phase = "certify" // writing the mark
	PhaseAfter     Phase = "after"   // the hooks after a repair
)

// Intent is a call that was decided and stored before it is sent.
type Intent struct {
	ID         string
	Op         fleet.Op
	Instance   fleet.InstanceID
	Generation fleet.Generation
	Host       fleet.HostName
	Edition    uint64        `json:",omitempty"` // OpCreate, OpAdjust: of the template
	Limit      time.Duration // the call's time limit
	Try        int           `json:",omitempty"` // OpFence: of those that the host has, from 1
	At         time.Time
	// Snapshot is the copy that it makes or removes.
	Snapshot fleet.SnapshotID `json:",omitempty"`
	// Hook is the one that it runs.
	Hook fleet.HookID `json:",omitempty"`
	// Repeatable says that it may be sent again though it is unknown whether it took effect.
	Repeatable bool `json:",omitempty"`
	// Unknown says that it may or may not have taken effect: the answer was lost, or the sender died.
	Unknown bool
}

func (r Repair) restart(now fleet.Now, spec policy.Spec) *Repair {
	r.Since, r.LastOutcome, r.RetryAt, r.AskAt, r.GatherBy, r.ProvenAt, r.FenceAt = now.Mono, now.Mono, 0, 0, 0, 0, 0
	r.Hooks = r.Hooks.restart()
	switch r.Phase {
	case PhaseVerify:
		r.Deadline = now.Mono.Add(VerifyTime(spec, r))
	case PhaseProvision:
		r.Deadline = now.Mono.Add(spec.BuildWithin)
	case PhaseLook, PhaseLeave, PhaseAct, PhaseCertify, PhaseAfter:
	}
	if r.Intent != nil {
		in := *r.Intent
		in.Unknown = true
		r.Intent = &in
		return &r
	}
	switch {
	case r.Phase != PhaseLook && r.Phase != PhaseLeave && r.Phase != PhaseAct:
	case r.Removed:
		r.Proof = "" // to be shown again before anything is built
	case r.Next.None() && !r.Target.None(): // of a first build there is nothing to look at
		r.LookAgain()
	}
	return &r
}

// Wanted reports whether it carries out a person's order, and mends nothing.
func (r *Repair) Wanted() bool { return r.Order != "" }

// Leaves reports whether it takes the machine away from those that it serves, by a person's order. There may be no
// repair.
func (r *Repair) Leaves() bool {
	if r == nil || r.Kind != RepairOperate {
		return r.Interrupts() && r.Kind.Ordered()
	}
	return (r.Phase == PhaseLeave || r.Phase == PhaseAct) && r.Step.Interrupts()
}

// Starts reports whether it takes a place among the starts.
func (r *Repair) Starts() bool { return r != nil && r.Revives && r.Step.Revives() }

// Budgeted reports whether it takes a place in the budgets of machines in repair (L5).
func (r *Repair) Budgeted() bool { return r != nil && r.Kind.Budgeted() && !r.Revives }

// Away reports whether the machine cannot serve while it goes on: it takes a place in the budgets, and is no step by a
// person's order that takes nothing from those that the machine serves. There may be no repair.
func (r *Repair) Away() bool {
	return r.Budgeted() && r.Interrupts() && (r.Kind != RepairOperate || r.Step.Interrupts())
}

// CarriesOut reports whether it carries out the order. There may be no repair.
func (r *Repair) CarriesOut(o fleet.OrderID) bool { return r != nil && r.Order == o }

// BeganRemoval reports whether it carries out the order to remove its machine, and has made a call to its provider or
// is done. A machine that is still to leave its users can stay. There may be no repair.
func (r *Repair) BeganRemoval(o fleet.OrderID) bool {
	return r.CarriesOut(o) && r.Kind == RepairRemove && (r.Calls > 0 && r.Phase != PhaseLeave || r.Removed)
}

// Aside reports whether it is about something beside the machine's instance, and makes room for whatever is about that.
func (r *Repair) Aside() bool { return r.Kind == RepairRemnant || r.Kind == RepairTidy }

// MayBeGivenUp reports whether the work is a wanted change that did not remove anything yet.
func (r *Repair) MayBeGivenUp() bool { return r.Wanted() && !r.Removed }

// LookAgain sends the rung back to its look: whatever was confirmed or proven before no longer counts.
//
// Of a wanted change a person's order confirms what no look could: only the proof begins anew.
func (r *Repair) LookAgain() {
	if r.Wanted() {
		if r.Phase != PhaseLeave {
			r.Phase = PhaseAct
		}
		r.Finding = Finding{Confirmed: r.Confirmed}
		return
	}
	r.Phase, r.Finding = PhaseLook, Finding{}
}

// VerifyTime is how long the machine may take to be healthy after the step.
func VerifyTime(spec policy.Spec, r Repair) time.Duration {
	step := CurrentStep(spec, r)
	if step.Kind.Builds() {
		return spec.BuildWithin
	}
	return step.VerifyWithin
}

// NoRung is the Repair.Rung of work that is not on the ladder: first builds, rebuilds of a build that never
// became healthy, and removals.
const NoRung = -1

// CurrentStep returns the step that the repair is at.
func CurrentStep(spec policy.Spec, r Repair) policy.Step {
	if r.Kind == RepairOperate {
		return spec.Doing(r.Step)
	}
	if step, ok := spec.Repair.Step(r.Rung); ok {
		return step
	}
	return spec.Repair.Building()
}
