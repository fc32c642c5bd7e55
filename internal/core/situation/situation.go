package situation

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Situation is everything that one round of decisions about one fleet depends on. Equal situations give equal
// decisions.
type Situation struct {
	State
	Installation fleet.Installation
	// Wanted is the spec as the configuration has it. Nil: the fleet has no ledger, and everything in Spec is in force.
	Wanted *policy.Spec
	// Others are what the other fleets on the provider hear, in the neighbourhoods in which a machine of this one is
	// silent. What is stale is left out.
	Others []fleet.Hearing
	// Lots are how the machines of the other fleets on the provider fare, sorted by place.
	Lots []fleet.Lot
	// Orders are those in the inbox that were not taken up yet, sorted by id.
	Orders   []fleet.Order
	Machines []View // sorted by ordinal
	// Open are the indices of the machines that are open, ascending. Nil: they were not counted.
	Open []int
	// InVain are the indices of the machines that did not answer when they were asked on demand last.
	InVain []int
	// Placed rises whenever one of these very Machines is believed to lie elsewhere than before. Zero: it was not
	// counted.
	Placed uint64
}

// View is what is known about one machine at this moment.
type View struct {
	// Due asks for a decision about this machine: something was heard of it, or of the provider or the vantage as a
	// whole. One with open business is looked at in any case.
	Due     bool
	Machine belief.Machine
	// Checks are the standings of Spec.Checks, in the same order. They count only if Epoch is the machine's.
	Checks []fleet.CheckState
	Epoch  uint64
	// Tells are those of Spec.Tells, in the same way.
	Tells []fleet.CheckState
	// Seen is the provider's last word on every instance that bears the machine's mark or is named by its belief.
	Seen []fleet.Sighting // sorted by instance id
	// Ran is where the machine's last instance was seen running last, once it is not seen running any more.
	Ran     fleet.Ran
	Look    *fleet.Look    // the look that just ended, if one did
	Outcome *fleet.Outcome // the call that just ended, if one did
	// Asked is how the machine answered when it was asked on demand last, beside its regular checks; Asking is when the
	// question began that is under way. Zero: it was not, none is.
	Asked  Asked
	Asking fleet.Instant
	// Members is how the machine is in the pools that it is in, sorted by balancer.
	Members []fleet.Membership
	// Gathered is how the gathering of evidence ended that just did, if one did.
	Gathered *Gathered
	FreshID  fleet.InstanceID // a random id that was never used
}

// Asked is what a question on demand came to: when it was asked, whether a check was down by it, and whether the
// machine answered any, well or not.
type Asked struct {
	At    fleet.Instant
	Down  bool
	Heard bool
}

// Testimony is what machines near a silent one say when they are asked after the look that found it so.
type Testimony struct {
	Pending int // were asked, or are to be, and have not said anything yet
	Heard   int // answered
	Mute    int // did not
}

// Open reports whether the machine has business that may go on without new evidence of its own. Only open machines are
// decided, and count for anything in a tally.
func (v *View) Open() bool {
	m := &v.Machine
	return v.Due || m.Health.Verdict != belief.VerdictHealthy || m.Incident != nil || m.Repair != nil ||
		m.Waiting != "" || m.Wanted != nil || m.Marked != nil ||
		len(m.Strays) > 0 || m.Contest != nil || m.Elsewhere != nil ||
		len(m.Kept) > 0 || len(m.Snapshots) > 0 || v.Warns()
}

// Sighting returns the last word on the instance; the zero Sighting when there is none.
func (v *View) Sighting(id fleet.InstanceID) fleet.Sighting {
	if id == "" {
		return fleet.Sighting{}
	}
	for i := range v.Seen {
		if v.Seen[i].Instance.ID == id {
			return v.Seen[i]
		}
	}
	return fleet.Sighting{}
}

// Action is something that a decision asks the engine to do once the belief is stored.
type Action struct {
	Kind    ActionKind
	Machine fleet.MachineName
	// Look: its id, and how much it asks.
	Look  string
	Scope LookScope
	// Gather: its id, and the incident that it is about.
	Gather, Incident string
	// Observe, Look, Gather and Call: the instance, its host, and the mark that it must bear.
	Instance fleet.InstanceID
	Host     fleet.HostName
	Mark     fleet.Mark
	// Adopted says that the instance must bear no mark at all.
	Adopted bool
	// Call: the hosts that count as asked for the instance although they are silent; see provider.Ref.
	Excused []fleet.HostName
	// Call: the stored intent.
	Intent belief.Intent
	// Call of OpDelete: the machine is given up with its instance.
	ForGood bool
	// Call of OpCreate: the kept disks that earlier instances had.
	Made []string
	// Call of OpSnapshot and OpDropSnapshot: the copy.
	Snapshot fleet.SnapshotName
	// Call of OpRun: the program with its arguments, and its environment, filled in. Secrets are read when it is
	// started.
	Args []string
	Env  []policy.Variable
	// Call of OpHook: what is run, and what it is told.
	Errand *Errand
}

// Errand is a hook that is run, with what is known of the machine for which it is.
type Errand struct {
	Hook   policy.Hook
	Moment fleet.Moment
	Facts  policy.Facts
	// Repair and Incident are what it belongs to, Kind is what that work is for, and Step is what follows.
	Repair, Incident string
	Kind             belief.RepairKind
	Step             fleet.StepKind
}

// ActionKind says what is to be done.
type ActionKind string

// The actions.
const (
	ActionLook    ActionKind = "look"    // probe once and ask the provider once
	ActionObserve ActionKind = "observe" // ask the provider for one instance
	ActionCall    ActionKind = "call"    // send the intent's call
	ActionGather  ActionKind = "gather"  // keep evidence
)

// LookScope says what a look asks.
type LookScope string

// The scopes of a look.
const (
	LookProvider LookScope = "provider" // the provider's word decides, the checks need not be waited for
	LookFull     LookScope = "full"
)

// Gathered is how a gathering of evidence ended.
type Gathered struct {
	ID string
	fleet.Evidence
}

// Warns reports whether a check that only tells is down, and a person is to be told of it yet.
func (v *View) Warns() bool {
	return slices.ContainsFunc(v.Tells, func(c fleet.CheckState) bool {
		if c.Standing != fleet.StandingDown {
			return false
		}
		w := v.Machine.WarnedBy(c.Check)
		return w == nil || !w.Open
	})
}
