package belief

import (
	"time"

	"hale/internal/core/fleet"
)

// Health is the verdict on a machine.
type Health struct {
	Verdict Verdict
	Cause   Cause
	Check   fleet.CheckName // the check behind Cause, where one is
	Result  fleet.ResultReason
	Since   time.Time // wall time of the last change of verdict
	// SinceMono is Since on the owner's clock; it restarts with a new owner.
	SinceMono fleet.Instant
	// Grace is until when failing is forgiven after a start; over when the machine was healthy once.
	Grace fleet.Instant
}

// Muted reports whether nothing certain is known of the machine for the only reason that checks which fail are not
// heeded: at this time of the day, or since they never succeeded.
func (h *Health) Muted() bool {
	return h.Verdict == VerdictUnknown && (h.Result == fleet.ResultNotEvery || h.Result == fleet.ResultUnproven)
}

// Unproven reports whether nothing certain is known of the machine for the only reason that a check which fails
// succeeded on no machine of the fleet since it was made or edited.
func (h *Health) Unproven() bool {
	return h.Verdict == VerdictUnknown && h.Result == fleet.ResultUnproven
}

// Verdict is what hale thinks of a machine.
type Verdict string

// The verdicts.
const (
	VerdictUnknown   Verdict = "unknown"
	VerdictStarting  Verdict = "starting"
	VerdictHealthy   Verdict = "healthy"
	VerdictSuspect   Verdict = "suspect"
	VerdictUnhealthy Verdict = "unhealthy"
)

// Cause is why a verdict is what it is.
type Cause string

// The causes. Off, gone, crashed, paused, suspended, rescued, io-error and error are the provider's word.
const (
	CauseNone    Cause = ""
	CauseMissing Cause = "missing" // it was never built
	CauseOff     Cause = "off"     // it stopped, and no order is known
	CauseStopped Cause = "stopped" // a person, or another program, ordered the stop
	// CauseShutdown is a machine that shut down in order, and it is unknown who wanted it: that is taken for
	// a person's stop.
	CauseShutdown Cause = "shutdown"
	// CauseParked is a machine that a person had hale turn off. Whatever the policy makes of other people's stops, it
	// stays off.
	CauseParked Cause = "parked"
	// CauseSpareOff is a spare that hale turned off until it is needed.
	CauseSpareOff Cause = "spare-off"
	CauseGone     Cause = "gone"
	CauseCrashed  Cause = "crashed"
	CausePaused   Cause = "paused"   // a person ordered it, or it is unknown who did
	CausePanic    Cause = "panicked" // it died, and its remains are still in place: it can be reset, not started
	CauseError    Cause = "error"
	// CauseSuspended is a guest that suspended itself, without an order.
	CauseSuspended Cause = "suspended"
	// CauseRescued is an instance replaced by a rescue system for now, for a person to repair it.
	CauseRescued Cause = "rescued"
	// CauseIOError is an instance that the provider paused because a write to its disk failed, as on a full storage.
	CauseIOError Cause = "io-error"
	CauseChecks  Cause = "checks" // its checks are down
	CauseBuild   Cause = "build"  // its first instance never became healthy
	CauseBlind   Cause = "blind"  // nothing is known, for too long
	// CauseDisabled is an instance on a host that the provider's operator wants to be empty, where the policy is to
	// follow. It may serve as ever.
	CauseDisabled Cause = "host-disabled"
	CauseMarked   Cause = "marked"  // a person, or a program, says that it fails, whatever its checks say
	CauseOrdered  Cause = "ordered" // a person wants it repaired, whatever it looks like
)

// Stopped reports whether the cause is the provider's word that the instance does not run.
func (c Cause) Stopped() bool {
	switch c {
	case CauseOff, CauseStopped, CauseShutdown, CauseParked, CauseSpareOff,
		CauseGone, CauseCrashed, CausePanic, CausePaused, CauseSuspended, CauseRescued, CauseIOError, CauseError:
		return true
	case CauseNone, CauseMissing, CauseChecks, CauseBuild, CauseBlind, CauseOrdered, CauseDisabled, CauseMarked:
	}
	return false
}

// Personal reports whether the cause is what a person did, or is taken for that.
func (c Cause) Personal() bool {
	return c == CauseStopped || c == CauseShutdown || c == CauseParked || c == CausePaused
}

// Halted reports whether the cause is that the instance stands still, or is set aside for a person, with all that it
// has: it can go on.
func (c Cause) Halted() bool {
	return c == CausePaused || c == CauseSuspended || c == CauseRescued || c == CauseIOError
}

// Off reports whether the instance is powered off, for whatever reason.
func (c Cause) Off() bool {
	return c == CauseOff || c == CauseStopped || c == CauseShutdown || c.Parked() || c == CauseCrashed
}

// Parked reports whether hale turned the machine off as it was wanted off: by a person, or as a spare. That is no
// failure.
func (c Cause) Parked() bool { return c == CauseParked || c == CauseSpareOff }
