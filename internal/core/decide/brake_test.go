package decide_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// sharing is a street of twenty machines that shares a brake with other fleets: it engages above half of them all.
func sharing(t *testing.T, others belief.Toll) *tale {
	t.Helper()
	tl := street(t, 1)
	tl.s.Spec.SharedFate.AtLeast = 0
	tl.s.Spec.Limits.Brakes = []policy.SharedBrake{{Scope: policy.ScopeInstallation,
		Policy: policy.Brake{AtLeast: 10, Percent: 50, ReleaseAfter: 30 * time.Second}}}
	others.Scope = policy.ScopeInstallation
	tl.s.Tolls = []belief.Toll{others}
	return tl
}

func TestL06WhatFailsInOtherFleetsHoldsThisOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others belief.Toll
		want   fleet.Reason
	}{
		"half of all fail":              {belief.Toll{Size: 40, Failing: 29}, ""},
		"more than half of all fail":    {belief.Toll{Size: 40, Failing: 30}, fleet.ReasonBrake},
		"few fail, of few":              {belief.Toll{Size: 1, Failing: 1}, ""},
		"all others fail, and are many": {belief.Toll{Size: 4000, Failing: 4000}, fleet.ReasonBrake},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := sharing(t, c.others)
			refuses(tl, 3)
			tl.pass(10 * time.Second)
			if m := &tl.s.Machines[3].Machine; m.Waiting != c.want || (m.Repair == nil) != (c.want != "") {
				t.Errorf("it waits for %q, and its repair is %+v", m.Waiting, m.Repair)
			}
		})
	}
}

func TestL06ASharedBrakeIsToldOnceAndReleases(t *testing.T) {
	t.Parallel()
	tl := sharing(t, belief.Toll{Size: 40, Failing: 35})
	refuses(tl, 3)
	tl.pass(10 * time.Minute)
	tl.wantCount("engaged", tl.count(record.Brake, fleet.ReasonEngaged), 1)
	tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonBrake), 1)
	tl.s.Tolls = []belief.Toll{{Scope: policy.ScopeInstallation, Size: 40, Failing: 14}} // half of what may fail
	tl.pass(29 * time.Second)
	tl.wantCount("repairs", tl.repairs(), 0)
	tl.pass(2 * time.Second)
	tl.wantCount("released", tl.count(record.Brake, fleet.ReasonReleased), 1)
	tl.wantCount("repairs", tl.repairs(), 1)
}

func TestL06AFleetOfWhichNothingFailsTellsNobodyOfASharedBrake(t *testing.T) {
	t.Parallel()
	tl := sharing(t, belief.Toll{Size: 40, Failing: 35})
	tl.pass(10 * time.Minute)
	tl.wantCount("engaged", tl.count(record.Brake, fleet.ReasonEngaged), 1)
	tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonBrake), 0)
}

func TestL06APersonTakesASharedBrakeOffForAFleet(t *testing.T) {
	t.Parallel()
	tl := sharing(t, belief.Toll{Size: 40, Failing: 35})
	refuses(tl, 3)
	tl.pass(time.Minute)
	tl.wantCount("repairs", tl.repairs(), 0)
	tl.want("brake off", tl.give(fleet.Order{Kind: fleet.OrderBrakeOff, Reason: "it is known"}), "")
	tl.pass(time.Second)
	tl.wantCount("repairs", tl.repairs(), 1)
	tl.s.Tolls[0].Failing++ // one more than were excused
	refuses(tl, 4)
	tl.pass(time.Minute)
	tl.wantCount("repairs", tl.repairs(), 1)
	tl.wantCount("engaged", tl.count(record.Brake, fleet.ReasonEngaged), 2)
}

// A shared brake that is engaged stands where the fleet's own would be told of: one page is enough.
func TestL06OfTwoBrakesTheWiderIsTold(t *testing.T) {
	t.Parallel()
	tl := sharing(t, belief.Toll{Size: 40, Failing: 35})
	refuses(tl, some(14)...)
	tl.pass(10 * time.Minute)
	tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonBrake), 1)
	for i := range tl.records {
		if r := &tl.records[i]; r.Kind == record.Paged && r.Scope != policy.ScopeInstallation {
			t.Errorf("told of %+v", r)
		}
	}
	tl.s.Tolls[0].Failing = 0
	tl.pass(10 * time.Minute)
	tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonBrake), 2)
}

// No more fail than the brake would let pass, so it may release by itself, and a person is told later than of a wave
// that is still there; but told they are, if one machine or the other fails again and again and so keeps it on (L8).
func TestL06ABrakeThatMayReleaseIsToldLater(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last int // so many of twenty go on failing; four may
		told time.Duration
	}{
		"more than may fail": {5, 2 * time.Minute},
		"no more than may":   {3, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := street(t, 1)
			tl.s.Spec.SharedFate.AtLeast = 0
			tl.s.Spec.Limits.Brake = policy.Brake{AtLeast: 2, Percent: 20, ReleaseAfter: 30 * time.Second}
			refuses(tl, some(5)...)
			tl.pass(0)
			began := tl.s.Now.Mono
			for tl.s.Now.Mono.Sub(began) < c.told {
				tl.wantCount("pages before "+c.told.String(), tl.count(record.Paged, fleet.ReasonBrake), 0)
				tl.wantCount("repairs", tl.repairs(), 0)
				tl.say(fleet.StandingUp, some(5)[c.last:]...)
				if at := tl.s.Now.Mono.Sub(began); at > 0 && at%(4*time.Minute) == 0 {
					refuses(tl, c.last)
				}
				tl.pass(30 * time.Second)
			}
			tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonBrake), 1)
		})
	}
}
