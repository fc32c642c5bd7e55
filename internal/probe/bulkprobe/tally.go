package bulkprobe

import (
	"math/bits"

	"hale/internal/probe"
)

// tally is probe.Tally without its strings: the same rules, in 32 bytes.
type tally struct {
	heard        int64  // when a result last said something
	failed, good uint64 // of the last results, the newest in the lowest bit
	row          int32  // successes in a row, or failures as a negative number
	standing     standing
	reason       reason
	spoke, wasUp bool
}

// longestRow is where counting ends: far beyond what any check asks for.
const longestRow = 1 << 20

// add counts one result that was known at the time, and returns what is to be said about it, and whether an edge lies
// between before and after.
func (t *tally) add(r reason, n note, at int64, p *plan) (note, bool) {
	if r == ok && t.standing == up && t.reason == ok && at-t.heard < p.fade { // the way nearly all go
		t.count(true, at)
		return n, false
	}
	before, was := t.standing, t.reason
	said := textNone
	if t.spoke && at-t.heard >= p.fade {
		*t = tally{reason: late}
		said = textFaded
	}
	switch r.means() {
	case probe.MeansSuccess:
		if t.success(at, p) {
			t.reason, said = r, n
		}
	case probe.MeansFailure:
		t.failure(at, p)
		t.reason, said = r, n
	case probe.MeansNothing:
		if t.standing == unknown {
			t.reason, said = r, n
		}
	}
	return said, t.standing != before || t.reason != was
}

// count notes a result that says something.
func (t *tally) count(good bool, at int64) {
	t.heard, t.spoke = at, true
	t.good <<= 1
	t.failed <<= 1
	if good {
		t.good |= 1
		t.row = min(max(t.row, 0)+1, longestRow)
		return
	}
	t.failed |= 1
	t.row = max(min(t.row, 0)-1, -longestRow)
}

// success reports whether the target is up.
func (t *tally) success(at int64, p *plan) bool {
	t.count(true, at)
	recovered := t.standing == failing && t.wasUp
	switch {
	case t.standing == up, recovered:
	case enough(t.row, t.good, p.upAfter, p.upIn):
		t.failed = 0
	default:
		return false
	}
	t.standing = up
	return true
}

func (t *tally) failure(at int64, p *plan) {
	t.count(false, at)
	switch {
	case t.standing == down:
	case enough(-t.row, t.failed, p.downAfter, p.downIn):
		t.standing, t.good = down, 0
	case t.standing != failing:
		t.wasUp = t.standing == up
		t.standing = failing
	}
}

// enough reports whether there are so many in a row, or so many among the last of a window.
func enough(row int32, recent uint64, after, in int32) bool {
	if in <= after {
		return row >= max(after, 1)
	}
	window := ^uint64(0) >> (probe.MostInWindow - min(in, probe.MostInWindow))
	return bits.OnesCount64(recent&window) >= int(max(after, 1))
}
