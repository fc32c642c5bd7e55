package netprobe

import (
	"time"

	"hale/internal/fleet"
)

// result is what one probe had to say.
type result struct {
	reason fleet.ResultReason
	detail string
	at     time.Time // when it was known
	due    time.Time // when its probe was due
}

// meaning sorts reasons by what they say about the target.
type meaning int

const (
	meansNothing meaning = iota // our own fault, or nobody asked
	meansSuccess
	meansFailure
)

func meaningOf(r fleet.ResultReason) meaning {
	switch r {
	case fleet.ResultOK:
		return meansSuccess
	case fleet.ResultTimeout, fleet.ResultRefused, fleet.ResultUnreachable, fleet.ResultStatus, fleet.ResultBody,
		fleet.ResultProtocol, fleet.ResultTLS, fleet.ResultExit:
		return meansFailure
	case fleet.ResultNone, fleet.ResultNoAddress, fleet.ResultLocal, fleet.ResultLate, fleet.ResultIsolated, fleet.ResultUndecided,
		fleet.ResultNotConnected:
	}
	return meansNothing
}

// tally keeps the rows of one target and the standing that follows. It begins as newTally.
type tally struct {
	standing fleet.Standing
	oks      int       // successes in a row
	fails    int       // failures in a row
	wasUp    bool      // a failing target was up before
	heard    time.Time // when a result last said something
	reason   fleet.ResultReason
	detail   string
}

// fadeAfter is how long a standing lasts when no result says anything.
func fadeAfter(c *fleet.Check) time.Duration {
	return time.Duration(atLeastOne(c.DownAfter)+1)*c.Every + c.Timeout
}

func newTally() tally { return tally{standing: fleet.StandingUnknown} }

// add counts one result and returns the tally after it.
func (t tally) add(r result, c *fleet.Check) tally {
	if !t.heard.IsZero() && r.at.Sub(t.heard) >= fadeAfter(c) {
		t = newTally()
		t.reason, t.detail = fleet.ResultLate, "nothing known for too long"
	}
	switch meaningOf(r.reason) {
	case meansSuccess:
		t = t.success(r, c)
	case meansFailure:
		t = t.failure(r, c)
	case meansNothing:
		if t.standing == fleet.StandingUnknown {
			t.reason, t.detail = r.reason, r.detail
		}
	}
	return t
}

// differs reports whether an edge lies between the two.
func (t tally) differs(o tally) bool { return t.standing != o.standing || t.reason != o.reason }

func (t tally) success(r result, c *fleet.Check) tally {
	t.heard, t.fails = r.at, 0
	t.oks++
	recovered := t.standing == fleet.StandingFailing && t.wasUp
	if t.standing == fleet.StandingUp || recovered || t.oks >= atLeastOne(c.UpAfter) {
		t.standing, t.reason, t.detail = fleet.StandingUp, r.reason, r.detail
	}
	return t
}

func (t tally) failure(r result, c *fleet.Check) tally {
	t.heard, t.oks = r.at, 0
	t.fails++
	t.reason, t.detail = r.reason, r.detail
	switch {
	case t.standing == fleet.StandingDown:
	case t.fails >= atLeastOne(c.DownAfter):
		t.standing = fleet.StandingDown
	case t.standing != fleet.StandingFailing:
		t.wasUp = t.standing == fleet.StandingUp
		t.standing = fleet.StandingFailing
	}
	return t
}

func atLeastOne(n int) int { return max(n, 1) }
