package probe

import (
	"math/bits"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Result is what one probe had to say.
type Result struct {
	Reason fleet.ResultReason
	Detail string
	At     time.Duration // when it was known, since an instant of the engine's choice
}

// Meaning sorts reasons by what they say about the target.
type Meaning int

// The meanings.
const (
	MeansNothing Meaning = iota // our own fault, or not asked
	MeansSuccess
	MeansFailure
)

// MeaningOf returns what the reason says about the target.
func MeaningOf(r fleet.ResultReason) Meaning {
	switch r {
	case fleet.ResultOK:
		return MeansSuccess
	case fleet.ResultTimeout, fleet.ResultRefused, fleet.ResultUnreachable, fleet.ResultStatus, fleet.ResultBody,
		fleet.ResultProtocol, fleet.ResultTLS, fleet.ResultExit, fleet.ResultPoolDown:
		return MeansFailure
	case fleet.ResultNone, fleet.ResultNoAddress, fleet.ResultSharedAddress, fleet.ResultLocal, fleet.ResultLate,
		fleet.ResultIsolated, fleet.ResultUndecided,
		fleet.ResultUnsupported, fleet.ResultNoMetadata, fleet.ResultUnfit, fleet.ResultNotConnected,
		fleet.ResultNotEvery, fleet.ResultDependsOn, fleet.ResultUnproven, fleet.ResultPanicked, fleet.ResultUntold,
		fleet.ResultNotAgreed, fleet.ResultElsewhere:
	}
	return MeansNothing
}

// Tally keeps the results of one target, as far as they matter, and the standing that follows from them:
//
//   - unknown: as many failures as make it down do so, as many successes as make it up, and the first failure makes it
//     failing, so that the picture of suspects is complete;
//   - up: the first failure makes it failing;
//   - failing: further failures make it down; a success makes it up again, or where it came from unknown, as many as
//     make it up;
//   - down: until as many successes as make it up.
//
// How many that is says the check: DownAfter and UpAfter in a row, or that many of the last DownIn and UpIn. Failures
// count afresh from when it came up, successes from when it went down. A result that says nothing neither breaks nor
// feeds a row. When none said anything for FadeAfter, the standing is unknown and all counts begin anew. It is a value:
// to add is to get another one.
type Tally struct {
	Standing fleet.Standing
	Reason   fleet.ResultReason
	Detail   string

	oks, fails   int32         // in a row
	failed, good uint64        // of the last results, the newest in the lowest bit; begun anew as told above
	heard        time.Duration // when a result last said something
	spoke        bool          // one did
	wasUp        bool          // a failing target was up before
}

// MostInWindow is the greatest number of results that a check can look back upon.
const MostInWindow = 64

// NewTally returns the tally of a target that is unknown.
func NewTally() Tally { return Tally{Standing: fleet.StandingUnknown} }

// FadeAfter is how long a standing lasts when no result says anything.
func FadeAfter(c *policy.Check) time.Duration {
	return time.Duration(max(c.DownAfter, 1)+1)*c.Every + c.Timeout
}

// Add counts one result and returns the tally after it.
func (t Tally) Add(r Result, c *policy.Check) Tally {
	if t.spoke && r.At-t.heard >= FadeAfter(c) {
		t = NewTally()
		t.Reason, t.Detail = fleet.ResultLate, "nothing known for too long"
	}
	switch MeaningOf(r.Reason) {
	case MeansSuccess:
		return t.success(r, c)
	case MeansFailure:
		return t.failure(r, c)
	case MeansNothing:
		if t.Standing == fleet.StandingUnknown {
			t.Reason, t.Detail = r.Reason, r.Detail
		}
	}
	return t
}

// Differs reports whether an edge lies between the two.
func (t Tally) Differs(o Tally) bool { return t.Standing != o.Standing || t.Reason != o.Reason }

// Repeat counts n equal results; r is the last. The caller knows that none of them changes standing or reason.
func (t Tally) Repeat(n int, r Result, c *policy.Check) Tally {
	if MeaningOf(r.Reason) == MeansNothing {
		return t.Add(r, c) // one that says nothing is as good as many
	}
	return t.count(n, r)
}

// count notes n results alike that say something.
func (t Tally) count(n int, r Result) Tally {
	count := int32(min(n, 1<<20)) //nolint:gosec // far beyond what any check asks for
	ones := ^uint64(0)
	if n < MostInWindow {
		ones = 1<<n - 1
	}
	switch MeaningOf(r.Reason) {
	case MeansSuccess:
		t.oks, t.fails = min(t.oks+count, 1<<20), 0
		t.good, t.failed = t.good<<n|ones, t.failed<<n
	case MeansFailure:
		t.fails, t.oks = min(t.fails+count, 1<<20), 0
		t.failed, t.good = t.failed<<n|ones, t.good<<n
	case MeansNothing:
	}
	t.heard, t.spoke = r.At, true
	return t
}

func (t Tally) success(r Result, c *policy.Check) Tally {
	t = t.count(1, r)
	recovered := t.Standing == fleet.StandingFailing && t.wasUp
	switch {
	case t.Standing == fleet.StandingUp, recovered:
	case enough(t.oks, t.good, c.UpAfter, c.UpIn):
		t.failed = 0
	default:
		return t
	}
	t.Standing, t.Reason, t.Detail = fleet.StandingUp, r.Reason, r.Detail
	return t
}

func (t Tally) failure(r Result, c *policy.Check) Tally {
	t = t.count(1, r)
	t.Reason, t.Detail = r.Reason, r.Detail
	switch {
	case t.Standing == fleet.StandingDown:
	case enough(t.fails, t.failed, c.DownAfter, c.DownIn):
		t.Standing, t.good = fleet.StandingDown, 0
	case t.Standing != fleet.StandingFailing:
		t.wasUp = t.Standing == fleet.StandingUp
		t.Standing = fleet.StandingFailing
	}
	return t
}

// CameUp reports whether the target was up, and has not been down since.
func (t Tally) CameUp() bool {
	return t.Standing == fleet.StandingUp || t.Standing == fleet.StandingFailing && t.wasUp
}

// TowardsUp returns how many good answers count towards making it up.
func (t Tally) TowardsUp(c *policy.Check) int {
	if c.UpIn <= c.UpAfter {
		return int(t.oks)
	}
	return bits.OnesCount64(t.good & (^uint64(0) >> (MostInWindow - min(c.UpIn, MostInWindow))))
}

// enough reports whether there are so many in a row, or so many among the last of a window.
func enough(row int32, recent uint64, after, in int) bool {
	if in <= after {
		return int(row) >= max(after, 1)
	}
	return bits.OnesCount64(recent&(^uint64(0)>>(MostInWindow-min(in, MostInWindow)))) >= max(after, 1)
}
