package fleet

import (
	"slices"
	"strings"
	"time"
)

// Spec is one fleet as its owner wants it: validated, complete (defaults filled in) and immutable.
type Spec struct {
	Name     Name
	Provider ProviderName
	// Size is the desired number of machines; of a fleet that selects, of those that it has in its care; of one with
	// Sizing, Sizing.Desired, or else the least.
	Size int
	// Sizing is what moves the size beside the configuration and people; nil: nothing does.
	Sizing *Sizing `json:",omitempty"`
	// Left are the numbers below the highest that have no machine any more; Ledger.Force sets them.
	Left     []int
	Adopt    Adoption
	Template Template
	Checks   []Check // sorted by name
	// Tells are the checks that only tell: people are told when one is down, and no judgement ever sees them.
	Tells []Check `json:",omitempty"` // sorted by name
	// UnhealthyWhen says when the checks' standings, and the provider's word, make a machine unhealthy.
	UnhealthyWhen Condition
	Repair        RepairPolicy
	Limits        Limits
	SharedFate    SharedFate
	Placement     Placement
	Mode          Mode
	Update        UpdatePolicy
	// Protected are the numbers of machines that are never disrupted, ascending: a person is told instead.
	Protected []int

	// Grace is how long a machine that was just started may fail its checks (verdict "starting").
	Grace time.Duration
	// BuildWithin is how long a new instance may take to be verified healthy; afterwards it is a remnant.
	BuildWithin time.Duration
	// BlindAfter is how long a machine may stay unknown before a blind incident pages a person.
	BlindAfter time.Duration
	Notify     Notify
	Evidence   EvidencePolicy
	// History is how long the fleet's records are kept, as far as there is room. Zero: as long as there is room.
	History time.Duration `json:",omitempty"`
}

// UpdatePolicy says how another template goes through the fleet.
type UpdatePolicy struct {
	// Pilots is how many machines are built from it first; at least one.
	Pilots int `json:"Canary"` // as it was stored first
	// Soak is how long these must all be healthy before the others follow.
	Soak time.Duration
}

// Mode says whether hale acts on the fleet or only watches and records what it would do.
type Mode string

// The modes.
const (
	ModeAct     Mode = "act"
	ModeObserve Mode = "observe"
)

// ProviderTerm is the name under which a Condition refers to the provider's own word on a machine.
const ProviderTerm CheckName = "provider"

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
	N    int         // OpAtLeast
	Term CheckName   // OpTerm
	Of   []Condition // the others
}

// RepairPolicy says how a machine of the fleet is repaired.
type RepairPolicy struct {
	Steps []Step // the ladder, gentlest first
	Fence Fence
	// Attempts within AttemptsIn are the repairs that a machine gets before it goes into quarantine.
	Attempts   int
	AttemptsIn time.Duration
	// Backoff is the wait after an attempt that failed; it doubles with each further failure of the same incident.
	Backoff time.Duration
	// Windows are when repairs may begin, and NotEvery when none may; without Windows it is always but in NotEvery.
	Windows, NotEvery []Window
	// OnExternalStop says what a stop by a person means.
	OnExternalStop ExternalStop
	// ExternalStopHold is how long such a machine is left alone before a person is paged (ExternalStopHoldThenPage).
	ExternalStopHold time.Duration
	// OnHostDisabled says what it means that the provider's operator wants a host to be empty. Zero: nothing.
	OnHostDisabled HostDisabled `json:",omitempty"`
	// Silence says what it means that a machine is silent and nothing bears witness. Zero: only the way there may be
	// broken.
	Silence SilencePolicy `json:",omitempty"`
}

// HostDisabled is the meaning of a host that is disabled, or in maintenance, and on which machines run on.
type HostDisabled string

// What a disabled host means for the machines on it.
const (
	HostDisabledIgnore HostDisabled = "ignore" // they stay
	HostDisabledHeal   HostDisabled = "heal"   // treat it like a failure of each
)

// ExternalStop is the meaning of a stop that hale did not order.
type ExternalStop string

// What a stop that hale did not order means.
const (
	ExternalStopHeal         ExternalStop = "heal" // treat it like a failure
	ExternalStopHoldThenPage ExternalStop = "hold" // leave it alone for a while, then page
)

// Step is one rung of the ladder.
type Step struct {
	Kind StepKind
	// Timeout limits each call of the step; on its expiry the outcome is unknown and is observed.
	Timeout time.Duration
	// VerifyWithin is how long the machine may take to be healthy after the step; a replacement has Spec.BuildWithin.
	VerifyWithin time.Duration
	// OnDeleteFailure says whether a recreate goes on, with the proof of off, when the old instance cannot be deleted.
	OnDeleteFailure OnDeleteFailure
	// KeepOld is how long a recreate keeps the old instance, powered off, so that it can be brought back. 0: it is
	// deleted.
	KeepOld time.Duration `json:",omitempty"`
	// Keep is how many copies of its disks a machine has at most after a snapshot, and KeepFor is for how long;
	// OnFailure says what follows when one cannot be made.
	Keep      int           `json:",omitempty"`
	KeepFor   time.Duration `json:",omitempty"`
	OnFailure OnFailure     `json:",omitempty"`
	// Mode is how a reboot is done. Empty: hard.
	Mode RebootMode
	// Run is the command of a run step.
	Run Command
	// For are the checks, sorted, that the step is for: it applies while one of them is down; ProviderTerm among them
	// stands for the provider's own word. Empty: whatever the fault is.
	For []CheckName
}

// Command is what a run step executes on hale's side.
type Command struct {
	// Args are the program and its arguments, without a shell, and Env its environment beside a PATH. Placeholders are
	// replaced, and in secrets nothing is.
	Args []string
	Env  []Variable
	// Idempotent says that it may be run again when it is unknown whether, or how far, it ran.
	Idempotent bool
}

// Asks reports whether the command has the placeholder.
func (c *Command) Asks(placeholder string) bool {
	return mention(c.Texts(), placeholder)
}

// Texts are all in which placeholders are replaced.
func (c *Command) Texts() []string { return texts(c.Args, c.Env) }

// Fill returns the program with its arguments, and its environment, filled in.
func (c *Command) Fill(by *strings.Replacer) (args []string, env []Variable) {
	for _, a := range c.Args {
		args = append(args, by.Replace(a))
	}
	for _, v := range c.Env {
		v.Value = by.Replace(v.Value)
		env = append(env, v)
	}
	return args, env
}

// RebootMode is a choice of the reboot step.
type RebootMode string

// How a reboot is done.
const (
	RebootHard RebootMode = "hard" // reset, without asking the guest
	RebootSoft RebootMode = "soft" // ask the guest, which may not listen
)

// OnDeleteFailure is a choice of the recreate step.
type OnDeleteFailure string

// What a recreate does when the old instance is off but cannot be deleted.
const (
	DeleteFailureStop     OnDeleteFailure = "stop"
	DeleteFailureContinue OnDeleteFailure = "continue"
)

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
	Brake  BrakePolicy
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

// BrakePolicy says when the brake engages: when more machines fail than max(AtLeast, floor(Percent x size / 100)),
// and always when all of three or more fail.
type BrakePolicy struct {
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

// Template is what an instance is built from. The core reads only DiskLost; the rest is for the provider.
type Template struct {
	Image    string // qcow2 base image; each instance gets an overlay of its own
	Kernel   string // direct boot: kernel, Initrd and Cmdline
	Initrd   string
	Cmdline  string
	Memory   uint64 // bytes
	CPUs     int
	Network  string // a network of the provider
	Disks    []Disk // sorted by name
	UserData string // cloud-init user data, the text itself; non-empty, or Seed, adds a NoCloud seed
	Seed     bool   // add a NoCloud seed even without UserData
	XML      string // own domain XML, a Go text/template; the text itself
	Accel    Accel
	// Metadata is what its instances bear, for the placeholders {meta.KEY}.
	Metadata Metadata  `json:",omitempty"`
	Server   *Server   `json:",omitempty"` // clouds only; never changed once it is there
	Options  []Setting `json:",omitempty"` // sorted by name
}

// Disk is one disk of a template. Kept disks (not Ephemeral) must survive every repair.
type Disk struct {
	Name      string // "root" is the one made from Image
	Ephemeral bool
	// Size in bytes is that of a disk which the provider makes empty beside the root disk. A kept one is made once per
	// machine, and attached to each of its instances in turn. 0: the template itself brings the disk.
	Size uint64 `json:",omitempty"`
	// Type is the kind of storage that a cloud makes such a disk on. Empty: the cloud's default.
	Type string `json:",omitempty"`
}

// Attached reports whether the disk outlives the instances: the next one gets the very same.
func (d Disk) Attached() bool { return !d.Ephemeral && d.Size > 0 }

// Accel chooses hardware or emulated virtualisation.
type Accel string

// The accelerators.
const (
	AccelAuto Accel = "auto" // KVM where the processor really offers it, emulation elsewhere
	AccelKVM  Accel = "kvm"
	AccelTCG  Accel = "tcg"
)

// DiskLost returns the name of a kept disk that a recreate would lose, since it cannot be attached again, and whether
// there is one.
func (t Template) DiskLost() (string, bool) {
	for _, d := range t.Disks {
		if !d.Ephemeral && !d.Attached() {
			return d.Name, true
		}
	}
	return "", false
}

// HasAttached reports whether the template has a disk that outlives the instances.
func (t *Template) HasAttached() bool { return slices.ContainsFunc(t.Disks, Disk.Attached) }

// Has reports whether the ladder has a step of the kind.
func (p *RepairPolicy) Has(kind StepKind) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind == kind })
}

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
func (s *Spec) Protects(name MachineName) bool {
	if len(s.Protected) == 0 {
		return false
	}
	n, _ := name.Ordinal()
	return slices.Contains(s.Protected, n)
}

// Step returns the ladder's step at the rung, and whether there is one.
func (p RepairPolicy) Step(rung int) (Step, bool) {
	if rung < 0 || rung >= len(p.Steps) {
		return Step{}, false
	}
	return p.Steps[rung], true
}
