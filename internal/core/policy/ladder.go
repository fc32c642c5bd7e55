package policy

import (
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
)

// OnFailure says what follows when a preparation fails.
type OnFailure string

// What follows.
const (
	OnFailureStop     OnFailure = "stop"     // the machine is left to a person
	OnFailureContinue OnFailure = "continue" // the next step is tried
)

// KeepTime returns how long the policy keeps an instance that a person's order replaces.
func (p *Repair) KeepTime() time.Duration {
	for _, s := range p.Steps {
		if s.KeepOld > 0 {
			return s.KeepOld
		}
	}
	return 24 * time.Hour
}

// BuildCallLimit limits each call of a build in a fleet without a recreate step.
const BuildCallLimit = 2 * time.Minute

// BuildLimit is how long a call to build may take at most. One without an answer may be carried out until then.
func (s *Spec) BuildLimit() time.Duration {
	limit := BuildCallLimit
	for _, step := range s.Repair.Steps {
		if step.Kind == fleet.StepRecreate {
			limit = max(limit, step.Timeout)
		}
	}
	return limit
}

// Building returns the step by which an instance is built anew, or what stands for it in a ladder without one.
func (p *Repair) Building() Step {
	for _, step := range p.Steps {
		if step.Kind == fleet.StepRecreate {
			return step
		}
	}
	return Step{Kind: fleet.StepRecreate, Timeout: BuildCallLimit, OnDeleteFailure: DeleteFailureStop}
}

// Doing returns the ladder's step of the kind, or what stands for it in a ladder without one: then the machine may take
// as long to be healthy as a new instance.
func (s *Spec) Doing(kind fleet.StepKind) Step {
	for _, step := range s.Repair.Steps {
		if step.Kind == kind {
			return step
		}
	}
	return Step{Kind: kind, Timeout: BuildCallLimit, VerifyWithin: s.BuildWithin}
}

// Repair says how a machine of the fleet is repaired.
type Repair struct {
	Steps []Step // the ladder, gentlest first
	Fence fleet.Fence
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
	// DisabledHold is for how long such a host is held at most (HostDisabledHold).
	DisabledHold time.Duration `json:",omitempty"`
	// Silence says what it means that a machine is silent and nothing bears witness. Zero: only the way there may be
	// broken.
	Silence Silence `json:",omitempty"`
}

// HostDisabled is the meaning of a host that is disabled, or in maintenance, and on which machines run on.
type HostDisabled string

// What a disabled host means for the machines on it.
const (
	HostDisabledIgnore HostDisabled = "ignore" // they stay
	HostDisabledHeal   HostDisabled = "heal"   // treat it like a failure of each
	HostDisabledHold   HostDisabled = "hold"   // as under a person's hold of the host
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
	Kind fleet.StepKind
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
	For []fleet.CheckName
	// Approve says that a person is asked before the step's first call. The zero value: it is done unasked.
	Approve Approval `json:",omitzero"`
}

// Approval is how long a person is asked, and what follows when none says anything by then.
type Approval struct {
	Within    time.Duration
	Otherwise Unapproved
}

// Unapproved is what follows when a person who was asked says nothing.
type Unapproved string

// What follows.
const (
	UnapprovedHold Unapproved = "hold"  // the machine is left to a person
	UnapprovedGoOn Unapproved = "go-on" // the step is done
)

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

// Has reports whether the ladder has a step of the kind.
func (p *Repair) Has(kind fleet.StepKind) bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind == kind })
}

// Step returns the ladder's step at the rung, and whether there is one.
func (p Repair) Step(rung int) (Step, bool) {
	if rung < 0 || rung >= len(p.Steps) {
		return Step{}, false
	}
	return p.Steps[rung], true
}

// Windowed reports whether repairs may begin at certain times only.
func (p *Repair) Windowed() bool { return len(p.Windows)+len(p.NotEvery) > 0 }

// Closed reports whether no repair may begin at the moment: outside of all windows, or inside one in which none may. It
// also returns until when that is known.
func (p *Repair) Closed(at time.Time) (closed bool, until time.Time) {
	closed, until = len(p.Windows) > 0, at.Add(farthest)
	for i := range p.Windows {
		open, edge := p.Windows[i].Open(at)
		closed, until = closed && !open, sooner(until, edge)
	}
	for i := range p.NotEvery {
		open, edge := p.NotEvery[i].Open(at)
		closed, until = closed || open, sooner(until, edge)
	}
	return closed, until
}

// LongestBackoff is the longest wait before the next attempt, however often it was in vain.
const LongestBackoff = 30 * time.Minute

// Backoff returns the wait before the next attempt after n failed ones: it doubles each time, up to half an hour.
func Backoff(first time.Duration, n int) time.Duration {
	d := first
	for ; n > 1 && d < LongestBackoff; n-- {
		d *= 2
	}
	return min(d, LongestBackoff)
}
