package fleet

import "strings"

// HookName is what the configuration calls a hook. Within its moment it is one hook's.
type HookName string

// Moment is when hooks are run.
type Moment string

// The moments.
const (
	// MomentBefore is before the first step of a repair that does anything.
	MomentBefore Moment = "before_repair"
	// MomentLeave is before the first call that interrupts the machine.
	MomentLeave Moment = "leave"
	// MomentAfter is after the machine was verified, before its repair ends.
	MomentAfter Moment = "after_repair"
	// MomentProvision is after an instance was built and has an address, before it is verified.
	MomentProvision Moment = "provision"
	// MomentPool is that of leaving the pool of a load balancer, which is waited for like a hook.
	MomentPool Moment = "pool"
	// MomentApprove is that of asking a person whether the step may be done, whose word is waited for like a hook's.
	MomentApprove Moment = "approve"
)

// HookID names one hook of a fleet: its moment, and its name there.
type HookID string

// Hook returns the id of the moment's hook.
func (m Moment) Hook(name HookName) HookID { return HookID(string(m) + "/" + string(name)) }

// Moment is when the hook is run.
func (id HookID) Moment() Moment {
	moment, _, _ := strings.Cut(string(id), "/")
	return Moment(moment)
}

// Name is what the configuration calls the hook.
func (id HookID) Name() HookName {
	_, name, _ := strings.Cut(string(id), "/")
	return HookName(name)
}

// Approval is what a word is about that approves, or denies, whichever step waits for one.
const Approval = HookID(MomentApprove + "/")

// HookWord is what is said of a hook that waits for a word.
type HookWord string

// The words.
const (
	HookDone HookWord = "done" // hale goes on
	HookMore HookWord = "more" // the one who works on it lives, and needs more time
	HookFail HookWord = "fail" // it failed: the hook's on_failure says what follows
)

// Known reports whether it is one of the words.
func (w HookWord) Known() bool { return w == HookDone || w == HookMore || w == HookFail }
