package policy

import (
	"iter"
	"slices"
	"time"

	"hale/internal/core/fleet"
)

// Hooks are what people want done around the work on a machine, each list in its order.
type Hooks struct {
	Before []Hook `json:",omitempty"` // a repair
	Leave  []Hook `json:",omitempty"` // a disruption
	After  []Hook `json:",omitempty"` // a repair that healed
}

// Hook is one thing that is done, or waited for.
type Hook struct {
	Name fleet.HookName
	Kind HookKind
	// Within is how long it may take; of one that waits, how long until the next word.
	Within time.Duration
	// Deadline is the longest that one waits, however often more time is asked for.
	Deadline time.Duration `json:",omitempty"`
	// OnFailure says what follows when it fails, or its time is over.
	OnFailure HookFailure
	// Idempotent says that it may be run again when it is unknown whether, or how far, it ran.
	Idempotent bool `json:",omitempty"`
	// Always says that it is run although the machine does not run, or its host is dead.
	Always bool `json:",omitempty"`
	// Run is the program of a command; of a playbook, its further environment.
	Run Command `json:",omitzero"`
	// Request is that of HookHTTP.
	Request HookRequest `json:",omitzero"`
	// Playbook is that of HookAnsible.
	Playbook Playbook `json:",omitzero"`
	// Copy is that of HookCopy.
	Copy Copying `json:",omitzero"`
}

// HookKind is how a hook is done.
type HookKind string

// The kinds.
const (
	HookCommand HookKind = "command" // a program on hale's side; exit code 0 is done
	HookHTTP    HookKind = "http"    // a POST; 2xx is done
	HookAnsible HookKind = "ansible" // a playbook, on this machine alone
	HookCopy    HookKind = "copy"    // files are put on the machine
	HookWait    HookKind = "wait"    // for a word of a person or a program
)

// HookFailure is what follows when a hook fails.
type HookFailure string

// What follows.
const (
	HookGoOn HookFailure = "go-on" // nothing: it is written down, and the work goes on
	HookStop HookFailure = "stop"  // the work ends, as when a step fails that cannot be done without
	HookPage HookFailure = "page"  // a person is told, and the work goes on
)

// HookRequest is where a hook is posted to.
type HookRequest struct {
	URL     Variable // without a name
	CA      string   `json:",omitempty"` // a PEM file; empty: the system's authorities
	Headers []Header
}

// Playbook is what ansible-playbook is started with, beside an inventory of the one machine.
type Playbook struct {
	Path string
	Args []string `json:",omitempty"` // further arguments
	Login
}

// Copying is which files are put on a machine.
type Copying struct {
	Files []File
	Login
}

// Login is how hale gets into a machine by SSH.
type Login struct {
	User string `json:",omitempty"`
	Key  string `json:",omitempty"` // the file of a private key without a passphrase
	Port int    `json:",omitempty"`
	// KnownHosts is a file with the keys of machines; empty: that of a new machine is not known beforehand, and
	// whatever key answers at its address is taken.
	KnownHosts string `json:",omitempty"`
}

// File is one file to be copied.
type File struct {
	From, To string
	Mode     uint32 // its permissions
}

// Pool is the pool of a load balancer that a fleet's machines are in.
type Pool struct {
	Balancer fleet.BalancerName
	// Wait is how long the connections of a machine that leaves may take to end.
	Wait time.Duration
}

// Pooled reports whether the machines are in the balancer's pool.
func (s *Spec) Pooled(b fleet.BalancerName) bool {
	return slices.ContainsFunc(s.Pools, func(p Pool) bool { return p.Balancer == b })
}

// At returns the hooks of the moment, in their order.
func (s *Spec) At(m fleet.Moment) []Hook {
	switch m {
	case fleet.MomentBefore:
		return s.Hooks.Before
	case fleet.MomentLeave:
		return s.Hooks.Leave
	case fleet.MomentAfter:
		return s.Hooks.After
	case fleet.MomentProvision:
		return s.Provision
	case fleet.MomentPool, fleet.MomentApprove: // they have no hooks
	}
	return nil
}

// AllHooks yields all hooks with their ids.
func (s *Spec) AllHooks() iter.Seq2[fleet.HookID, *Hook] {
	return func(yield func(fleet.HookID, *Hook) bool) {
		for _, m := range []fleet.Moment{fleet.MomentBefore, fleet.MomentLeave, fleet.MomentAfter,
			fleet.MomentProvision} {
			hooks := s.At(m)
			for i := range hooks {
				if !yield(m.Hook(hooks[i].Name), &hooks[i]) {
					return
				}
			}
		}
	}
}

// ProvisionTime is how long a new instance may take until it is what it is to be: it gets its address, and its hooks
// are over.
func (s *Spec) ProvisionTime() time.Duration {
	all := s.BuildWithin
	for i := range s.Provision {
		all += max(s.Provision[i].Within, s.Provision[i].Deadline)
	}
	return all
}

// Hook returns the hook of the id; false: there is none any more.
func (s *Spec) Hook(id fleet.HookID) (Hook, bool) {
	for _, h := range s.At(id.Moment()) {
		if h.Name == id.Name() {
			return h, true
		}
	}
	return Hook{}, false
}
