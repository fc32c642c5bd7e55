package fleet

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

// Power is an instance's power state in the provider's word.
type Power string

// The power states.
const (
	PowerUnknown Power = "unknown"
	PowerRunning Power = "running"
	PowerOff     Power = "off"
	PowerPaused  Power = "paused"
	PowerCrashed Power = "crashed" // the guest or its process died and the remains still exist
	PowerError   Power = "error"   // the provider calls it broken
	PowerGone    Power = "gone"    // confirmed absent: not in a complete listing, and not found when asked for
)

// Stop says who turned an instance off, or paused it, as far as the provider knows.
type Stop string

// Who stopped it.
const (
	StopUnknown  Stop = ""
	StopGuest    Stop = "guest"    // the guest powered itself off, or suspended itself
	StopExternal Stop = "external" // it was ordered at the provider, not by hale
	StopShutdown Stop = "shutdown" // it shut down in order, by itself or since it was asked to: no one can say
	StopCrash    Stop = "crash"    // it died
	StopMoved    Stop = "moved"    // it went on at another host, and its definition stayed
	StopRescue   Stop = "rescue"   // paused instances only: another system runs in its place, for a person to repair it
	StopIOError  Stop = "io-error" // paused instances only: the provider stopped it since a write to its disk failed
)

// Mark is what hale writes on every instance it builds, and reads again before it destroys one.
type Mark struct {
	Installation Installation
	Fleet        Name
	Machine      MachineName
	Generation   Generation
	Certified    bool      // hale finished building it and saw it healthy
	Built        time.Time // wall time of the create's intent
	// Kept says that the instance was replaced and put aside: it is off, bears another name, and has none of the
	// machine's kept disks.
	Kept bool `json:",omitempty"`
	// Instance is the one that the mark was written on. A copy of an instance has its mark, too: Of tells. Empty:
	// written by a hale that did not name it yet.
	Instance InstanceID `json:",omitempty"`
}

// Of returns the mark as it counts on the instance: none where it names another one, so that this is a copy.
func (k Mark) Of(id InstanceID) Mark {
	if k.Instance != "" && k.Instance != id {
		return Mark{}
	}
	return k
}

// Instance is one VM as the provider reports it.
type Instance struct {
	ID   InstanceID
	Name string
	Host HostName
	// Also is another host that lists the same id; empty: none does. Then it is contested which of them the instance is
	// on: this is the mention that runs, where one does.
	Also    HostName `json:",omitempty"`
	Power   Power
	Stop    Stop
	Address netip.Addr // invalid: none known
	Network string     // that its first interface is on; empty: not known
	// that its disks lie on, where instances of several hosts share it; empty: not known, or shared by none
	Storage string
	Mark    Mark // zero: not hale's
	// Transient says that the provider keeps no definition of it: once it is off, it is gone for ever.
	Transient bool `json:",omitempty"`
	// Metadata is what it bears beside the mark.
	Metadata Metadata `json:",omitempty"`
	// Tags are those of a provider that has such.
	Tags Tags `json:",omitempty"`
	Size
}

// Size is what an instance has of its host: while it is on, as it runs, and else as it would start. What is zero is not
// known.
type Size struct {
	Memory uint64 `json:",omitempty"` // bytes
	CPUs   int    `json:",omitempty"`
	// Flavor is what a cloud calls its size: the word of the template that it was built or adjusted by, as long as that
	// is what it has.
	Flavor string `json:",omitempty"`
}

// Sighting is what the provider last said of one instance. The zero value means that nothing is known.
type Sighting struct {
	Instance Instance
	// Asked is when the question was put, so an answer is as old as its question. Zero: never asked, or the
	// provider cannot be heard now.
	Asked Instant
	// Alone says that it was asked for by itself, and is there: a listing may show what was.
	Alone bool
}

// Known reports whether the provider said anything.
func (s Sighting) Known() bool {
	return s.Asked != 0 && s.Instance.Power != PowerUnknown && s.Instance.Power != ""
}

// Standing is a check's state for one machine, with the rise and fall counts already applied.
type Standing string

// The standings.
const (
	StandingUnknown Standing = "unknown" // no fresh result, no address, or the fault is on our side
	StandingUp      Standing = "up"
	StandingFailing Standing = "failing" // failed since it was last up, but not often enough to be down
	StandingDown    Standing = "down"    // and until it succeeded often enough again
)

// CheckState is one check's standing for one machine.
type CheckState struct {
	Check    CheckName
	Standing Standing
	Since    Instant
	// Answered is when it last ceased to be up, as long as nothing was missed since; 0: that is not known.
	Answered Instant
	Result   ResultReason // the last result behind the standing
	Detail   string       // short, as "503"; never a secret
	// Found is, of a check that is unproven, the result that counts for nothing.
	Found ResultReason `json:",omitempty"`
}

// ResultReason is why one probe succeeded, failed, or said nothing.
type ResultReason string

// The reasons of one probe's result.
const (
	ResultNone        ResultReason = ""            // never probed
	ResultOK          ResultReason = "ok"          //
	ResultTimeout     ResultReason = "timeout"     // no answer in time
	ResultRefused     ResultReason = "refused"     // connection refused or reset
	ResultUnreachable ResultReason = "unreachable" // an ICMP error from beyond this machine
	ResultStatus      ResultReason = "status"      // a status that the check does not accept
	ResultBody        ResultReason = "body"        // the page, or answer, is not the one that the check wants
	ResultProtocol    ResultReason = "protocol"    // an answer that is not what was asked for
	ResultTLS         ResultReason = "tls"         // certificate or handshake
	ResultExit        ResultReason = "exit"        // the program's exit code says so
	ResultNoAddress   ResultReason = "no-address"  // unknown: the provider knows no address
	// unknown: another running instance has the address, too
	ResultSharedAddress ResultReason = "shared-address"
	ResultLocal         ResultReason = "local"       // unknown: no descriptor, no buffer, no route from here
	ResultLate          ResultReason = "late"        // unknown: started or read too late to mean anything
	ResultIsolated      ResultReason = "isolated"    // unknown: the vantage itself is cut off
	ResultNotEvery      ResultReason = "not-every"   // unknown: it fails at hours at which it is not heeded
	ResultDependsOn     ResultReason = "depends-on"  // unknown: it fails, and so does one on which it depends
	ResultUnproven      ResultReason = "unproven"    // unknown: it fails, and never succeeded on a machine as it is
	ResultUndecided     ResultReason = "undecided"   // unknown: the program says that it cannot tell
	ResultUnsupported   ResultReason = "unsupported" // unknown: there is no way to ask this instance
	ResultNoMetadata    ResultReason = "no-metadata" // unknown: the program wants metadata that is not known
	// unknown: what the program is to be told of the instance would be an option, or has control characters
	ResultUnfit    ResultReason = "unfit"
	ResultPoolDown ResultReason = "pool-down" // a load balancer finds it down
	// unknown: its load balancer says nothing of it, or does not have it serve there
	ResultUntold       ResultReason = "untold"
	ResultNotConnected ResultReason = "not-connected" // unknown: no connection, and the check does not count that
	ResultPanicked     ResultReason = "panicked"      // unknown: a defect in what asks
	ResultNotAgreed    ResultReason = "not-agreed"    // unknown: fewer vantages say so than must agree
	ResultElsewhere    ResultReason = "elsewhere"     // up: not all vantages see it
)

// Speaks reports whether the failure is an answer: its sender is reached from here. What a program says of a
// machine may be its silence.
func (r ResultReason) Speaks() bool {
	switch r {
	case ResultRefused, ResultStatus, ResultBody, ResultProtocol, ResultTLS:
		return true
	default:
		return false
	}
}

// Look is the outcome of one look taken on demand: one probe of each check, one question to the provider.
type Look struct {
	ID      string  // the Repair.Look that asked for it
	Started Instant // when it began
	Checks  []CheckState
	Seen    Sighting
	// Moves says that the processors of an instance that stood still (Situation.Still) do something again, or that it
	// is not known any more.
	Moves bool
}

// Outcome is how a call ended.
type Outcome struct {
	Intent string // the Intent.ID
	Kind   OutcomeKind
	Detail string
	Output string // what a command said, bounded
	Copy   Copy   // OpSnapshot: what was made
	// Already says that nothing had to be done (OpFence): the host was off, or cut.
	Already bool
	// Proof is what it proves (OpFence); empty: that the host is off.
	Proof Proof `json:",omitempty"`
}

// OutcomeKind classifies a call's end by what follows from it.
type OutcomeKind string

// The outcomes.
const (
	OutcomeDone        OutcomeKind = "done"
	OutcomeUnknown     OutcomeKind = "unknown"     // it may have taken effect: observe
	OutcomeRetry       OutcomeKind = "retry"       // nothing was done; the provider may do it later
	OutcomeConflict    OutcomeKind = "conflict"    // the instance is not what we believe, or the name is taken
	OutcomeLocked      OutcomeKind = "locked"      // people keep everybody from the instance: nothing was done
	OutcomeNotFound    OutcomeKind = "not-found"   // there is no such instance
	OutcomeRefused     OutcomeKind = "refused"     // quota, permission, invalid request: a person's business
	OutcomeNoSecret    OutcomeKind = "no-secret"   // a secret that a command needs cannot be read: nothing was done
	OutcomeUnsupported OutcomeKind = "unsupported" // this provider cannot do it
	OutcomeFailed      OutcomeKind = "failed"      // it will fail again
	// held back on our side (lease too short, shutting down): surely not done
	OutcomeNotSent OutcomeKind = "not-sent"
)

// HostBoot is how long a host, or a provider on one, may take to come back before a person is told that it does not
// answer.
const HostBoot = 5 * time.Minute

// ProviderState is how the provider as a whole stands.
type ProviderState struct {
	Standing ProviderStanding
	Since    Instant
	Detail   string // what is wrong with it, or, of one that is up, which of its hosts do not answer, and why
}

// ProviderStanding is whether the provider can be believed.
type ProviderStanding string

// The provider's standings.
const (
	ProviderUnknown  ProviderStanding = "unknown"
	ProviderUp       ProviderStanding = "up"
	ProviderDown     ProviderStanding = "down"     // unreachable or refusing; its machines are not judged by it
	ProviderDoubtful ProviderStanding = "doubtful" // another identity behind the same address: nothing is touched
)

// Vantage is how the place stands from which the checks are made. The zero value: it is not watched.
type Vantage struct {
	Standing VantageStanding
	Since    Instant
	Detail   string
}

// VantageStanding is whether the checks can be believed.
type VantageStanding string

// The vantage's standings.
const (
	VantageOK       VantageStanding = "ok"       // a canary answers
	VantageIsolated VantageStanding = "isolated" // all canaries are down: the fault is on our side
	VantageUnknown  VantageStanding = "unknown"  // no canary answers, and not all of them are down
)

// Join makes one instance of all mentions of an id by hosts that each speak for themselves, as a live migration leaves
// them which does not remove the definition where it began: the mention that runs, where one does, with Also naming
// another. Where none runs, it is one that did not move on: that one says how the instance ended. There is one mention
// at least.
func Join(mentions []Instance) Instance {
	sorted := slices.SortedFunc(slices.Values(mentions), func(a, b Instance) int {
		return cmp.Or(cmp.Compare(liveliness(a.Power), liveliness(b.Power)), cmp.Compare(a.moved(), b.moved()),
			cmp.Compare(a.Host, b.Host))
	})
	i := sorted[0]
	if i.Also = ""; len(sorted) > 1 {
		i.Also = sorted[1].Host
	}
	return i
}

// liveliness ranks power states: the smaller, the more surely something runs.
func liveliness(p Power) int {
	return slices.Index([]Power{PowerRunning, PowerPaused, PowerUnknown, PowerError, PowerCrashed, PowerOff}, p)
}

// moved is 1 where the instance is said to have gone on at another host.
func (i *Instance) moved() int {
	if i.Stop == StopMoved {
		return 1
	}
	return 0
}

// Contested reports whether two hosts show the instance.
func (i *Instance) Contested() bool { return i.Also != "" }

// Silence is a host that does not answer and that alone knows what is on it: an instance that another host shows may be
// there, too.
type Silence struct {
	Host HostName
	// Answered is when the last question was put that it answered, on the owner's clock. Zero: it never answered this
	// owner.
	Answered Instant
	// Off says that it is proven off.
	Off bool
}

// Ran is where an instance was seen running last. The zero value: nowhere.
type Ran struct {
	Instance InstanceID
	Host     HostName
	At       Instant // when that was asked for
	// Ended says that its host shut it down with most of what ran there, and then fell silent.
	Ended bool
}

// Marked reports whether the instance is there, and bears the installation's mark of the machine.
func (i *Instance) Marked(m MachineName, by Installation) bool {
	return by != "" && i.Mark.Machine == m && i.Mark.Installation == by && i.Power != PowerGone
}

// Detail is what the look rests on: the check that is down, or else the first one, or what the provider says.
func (l Look) Detail() (check CheckName, why ResultReason, said string) {
	for _, c := range l.Checks {
		if c.Standing == StandingDown {
			return c.Check, c.Result, c.Detail
		}
	}
	for _, c := range l.Checks {
		return c.Check, c.Result, c.Detail
	}
	return "", "", string(l.Seen.Instance.Power)
}

// Failure is the reason for which a step ends whose call ended so.
func (o Outcome) Failure() Reason {
	if o.Kind == OutcomeUnsupported {
		return ReasonUnsupported
	}
	return ReasonCallFailed
}
