package health

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Muted returns which of the checks are not heeded now, a bit for each of the first 64. After its hours a check is not
// heeded for as long as it takes to speak afresh: what it was found to be within them counts for nothing.
func Muted(checks []policy.Check, now fleet.Now) (mask uint64) {
	for k := range checks {
		for _, h := range checks[k].NotEvery {
			settle := settleTime(&checks[k])
			before := now.Wall.Add(-settle)
			if k < 64 && (h.Holds(now.Wall) || h.Holds(before)) {
				mask |= 1 << k
			}
			now.Reached(h.Next(now.Wall)) // until then it stays so
			now.Reached(h.Next(before).Add(settle))
		}
	}
	return mask
}

func settleTime(c *policy.Check) time.Duration {
	return time.Duration(max(c.DownAfter, c.DownIn))*c.Every + c.Timeout
}

// Doubted are checks that fail without effect now.
type Doubted struct {
	Muted uint64 // at this time of the day, a bit for each of the first 64
	// Unproven succeeded on no machine of the fleet since they were made or edited.
	Unproven []fleet.CheckName
}

// Heed returns the standings as far as they count. A failing check is unknown while it is unproven. A check that is
// down is unknown at hours at which it is not heeded, and while a check fails that it depends on, directly or not: that
// one speaks for both. Success counts in any case. The states are those of the checks, in the same order; where nothing
// is to be left out, they are returned as they are.
func Heed(checks []policy.Check, by Doubted, states []fleet.CheckState) []fleet.CheckState {
	states = disbelieve(by.Unproven, states)
	muted := by.Muted
	var heeded []fleet.CheckState
	for k := range states {
		if states[k].Standing != fleet.StandingDown || k >= len(checks) || checks[k].Name != states[k].Check {
			continue
		}
		why, detail := fleet.ResultNone, ""
		if k < 64 && muted&(1<<k) != 0 {
			why = fleet.ResultNotEvery
		} else if on, troubled := rootOf(checks, states, k, len(checks)); troubled {
			why, detail = fleet.ResultDependsOn, string(on)
		}
		if why == fleet.ResultNone {
			continue
		}
		if heeded == nil {
			heeded = slices.Clone(states)
		}
		heeded[k].Standing, heeded[k].Result, heeded[k].Detail = fleet.StandingUnknown, why, detail
	}
	if heeded == nil {
		return states
	}
	return heeded
}

// disbelieve returns the standings without the failures of checks that are unproven: such a one explains no other's
// failure, either.
func disbelieve(unproven []fleet.CheckName, states []fleet.CheckState) []fleet.CheckState {
	if len(unproven) == 0 {
		return states
	}
	heeded := slices.Clone(states)
	for k := range heeded {
		if s := &heeded[k]; ails(*s) && slices.Contains(unproven, s.Check) {
			s.Standing, s.Result, s.Found = fleet.StandingUnknown, fleet.ResultUnproven, s.Result
		}
	}
	return heeded
}

func ails(s fleet.CheckState) bool {
	return s.Standing == fleet.StandingDown || s.Standing == fleet.StandingFailing
}

// rootOf returns a check that fails, and on which the one with the index depends, the nearest first. Steps bound the
// way, should the dependencies go in a circle.
func rootOf(checks []policy.Check, states []fleet.CheckState, k, steps int) (fleet.CheckName, bool) {
	for _, on := range checks[k].DependsOn {
		for i := range states {
			if states[i].Check == on && ails(states[i]) {
				return on, true
			}
		}
	}
	if steps == 0 {
		return "", false
	}
	for _, on := range checks[k].DependsOn {
		for i := range checks {
			if checks[i].Name != on {
				continue
			}
			if root, troubled := rootOf(checks, states, i, steps-1); troubled {
				return root, true
			}
		}
	}
	return "", false
}
