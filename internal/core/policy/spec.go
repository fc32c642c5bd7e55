package policy

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
)

// Spec is one fleet as its owner wants it: validated, complete (defaults filled in) and immutable.
type Spec struct {
	Name     fleet.Name
	Provider fleet.ProviderName
	// Size is the desired number of machines that serve; with what is in force (Ledger.Force), of all, spares
	// included; of a fleet that selects, of those that it has in its care; of one with
	// Sizing, Sizing.Desired, or else the least.
	Size int
	// Sizing is what moves the size beside the configuration and people; nil: nothing does.
	Sizing *Sizing `json:",omitempty"`
	// Spares are machines beyond the size, which do not serve.
	Spares Spares `json:",omitzero"`
	// Left are the numbers below the highest that have no machine any more; Ledger.Force sets them.
	Left     []int
	Adopt    Adoption
	Template Template
	Checks   []Check // sorted by name
	// Tells are the checks that only tell: people are told when one is down, and no judgement ever sees them.
	Tells []Check `json:",omitempty"` // sorted by name
	// UnhealthyWhen says when the checks' standings, and the provider's word, make a machine unhealthy.
	UnhealthyWhen Condition
	Repair        Repair
	Limits        Limits
	SharedFate    SharedFate
	Placement     Placement
	Mode          Mode
	Update        Update
	// Protected are the numbers of machines that are never disrupted, ascending: a person is told instead.
	Protected []int

	// Grace is how long a machine that was just started may fail its checks (verdict "starting").
	Grace time.Duration
	// BuildWithin is how long a new instance may take to be verified healthy; afterwards it is a remnant.
	BuildWithin time.Duration
	// BlindAfter is how long a machine may stay unknown before a blind incident pages a person.
	BlindAfter time.Duration
	Notify     Notify
	Evidence   Evidence
	// After are the fleets that come first, as written: while one does not serve, only what people order begins here.
	After []fleet.Name `json:",omitempty"`
	// Hooks are what people want done around the work on a machine, and Provision what is done to a new instance
	// before it is verified; it is not certified without.
	Hooks     Hooks  `json:",omitzero"`
	Provision []Hook `json:",omitempty"`
	// Pools are those that the machines are in, sorted by balancer. A machine leaves them before it is disrupted.
	Pools []Pool `json:",omitempty"`
	// History is how long the fleet's records are kept, as far as there is room. Zero: as long as there is room.
	History time.Duration `json:",omitempty"`
}

// Spares says how many machines there are beyond the size: as well as those that serve, and ready to take a place.
type Spares struct {
	Count int
	// Off says that they are turned off while none of them is needed.
	Off bool `json:",omitempty"`
}

// Beside returns how many machines there may be beyond the size: spares, and those that serve while others are changed.
func (s *Spec) Beside() int { return s.Spares.Count + s.Update.Surge }

// Mode says whether hale acts on the fleet or only watches and records what it would do.
type Mode string

// The modes.
const (
	ModeAct     Mode = "act"
	ModeObserve Mode = "observe"
)

// ProviderTerm is the name under which a Condition refers to the provider's own word on a machine.
const ProviderTerm fleet.CheckName = "provider"

// ConditionOp combines the terms of a Condition.
type ConditionOp string

// The operators. They are three-valued: see health.Evaluate.
const (
	OpTerm    ConditionOp = "term"     // true when the check Term is down (or the provider says that the machine is)
	OpAny     ConditionOp = "any"      // true when one of Of is
	OpAll     ConditionOp = "all"      // true when all of Of are
	OpAtLeast ConditionOp = "at_least" // true when N of Of are
)

// Condition is a tree over checks.
type Condition struct {
	Op   ConditionOp
	N    int             // OpAtLeast
	Term fleet.CheckName // OpTerm
	Of   []Condition     // the others
}

// Limits bound what hale does to the fleet at once.
type Limits struct {
	InRepair int // machines in repair at once; see Spec.Places
	// InRepairPercent says it of the size instead, 1 to 100; 0: InRepair does.
	InRepairPercent int
	// Repairs may begin within RepairsIn, beyond those that only start what is off; 0: as many as will.
	Repairs   int
	RepairsIn time.Duration
	InBuild   int // first builds at once
	// Shared bounds what is in repair at once in scopes that other fleets lie in, too.
	Shared []SharedLimit
	Brake  Brake
	// Brakes are those that the fleet shares with others, the widest first.
	Brakes []SharedBrake
}

// Places is how many machines may be in repair at once: one at least.
func (s *Spec) Places() int {
	if share := s.Limits.InRepairPercent; share > 0 {
		return max(1, share*s.Size/100)
	}
	return s.Limits.InRepair
}

// Brake says when the brake engages: when more machines fail than max(AtLeast, floor(Percent x size / 100)),
// and always when all of three or more fail.
type Brake struct {
	AtLeast      int
	Percent      int           // 0 to 100
	ReleaseAfter time.Duration // how long it must have been calm before the brake releases by itself
	// All says that as many as AtLeast may fail even where that is all of them.
	All bool
}

// SharedFate says what follows when failures concentrate in one domain beyond chance. The zero value: nothing is looked
// for.
type SharedFate struct {
	Then FateAnswer
	// AtLeast is how many machines must fail together.
	AtLeast int
	// Wait is the longest that a parent incident stays without a page, and the time before an evacuation.
	Wait time.Duration
}

// FateAnswer is the policy for a parent incident. The machines under it are held in any case.
type FateAnswer string

// What follows from a parent incident.
const (
	FateWait     FateAnswer = "wait"     // page when it lasts
	FatePage     FateAnswer = "page"     // page at once
	FateEvacuate FateAnswer = "evacuate" // when it lasts, page, and build the machines anew outside the domain
)

// Asks reports whether one of the checks is of the kind.
func (s *Spec) Asks(kind CheckKind) bool {
	for i := range s.Checks { // a check is large, and this is asked for each machine of a listing
		if s.Checks[i].Kind == kind {
			return true
		}
	}
	return false
}

// Asked are all checks that the machines are asked: those that are judged by, and then those that only tell.
func (s *Spec) Asked() []*Check {
	all := make([]*Check, 0, len(s.Checks)+len(s.Tells))
	for i := range s.Checks {
		all = append(all, &s.Checks[i])
	}
	for i := range s.Tells {
		all = append(all, &s.Tells[i])
	}
	return all
}

// Protects reports whether the machine is never to be disrupted.
func (s *Spec) Protects(name fleet.MachineName) bool {
	if len(s.Protected) == 0 {
		return false
	}
	n, _ := name.Ordinal()
	return slices.Contains(s.Protected, n)
}
