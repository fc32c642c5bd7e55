package decide_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// S74: with a token that all machines of a fleet share, one guest can report a whole rack ill for as long as the policy
// waits. Such reports alone evacuate no machine, and the hold says why. What else speaks against machines counts as
// ever.
func TestS74HeartbeatsWithASharedTokenEvacuateNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		perMachine bool // each machine has a token of its own
		page       bool // it is no heartbeat that fails
		unfinished bool // what was built last never became healthy
		evacuated  bool
	}{
		"a shared token":                 {},
		"a shared token, unfinished":     {unfinished: true},
		"a page":                         {page: true, evacuated: true},
		"a token of its own":             {perMachine: true, evacuated: true},
		"a token of its own, unfinished": {perMachine: true, unfinished: true, evacuated: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := street(t, 10)
			tl.s.Spec.SharedFate.Then, tl.s.Spec.Repair.Silence = policy.FateEvacuate, policy.SilenceActs
			if k := &tl.s.Spec.Checks[0]; !c.page {
				k.Kind, k.Heartbeat.PerMachine = policy.CheckHeartbeat, c.perMachine
			}
			rack := tl.rack(4)
			tl.say(fleet.StandingDown, rack...)
			tl.pass(time.Second)
			for _, i := range rack {
				cur := &tl.s.Machines[i].Machine.Current
				cur.Expired, cur.Certified = c.unfinished, !c.unfinished
			}
			tl.pass(9 * time.Minute)
			tl.wantHeld(fleet.ReasonSharedFate, rack)
			tl.pass(2 * time.Minute)
			if !c.evacuated {
				tl.wantHeld(fleet.ReasonSharedToken, rack)
			}
			for range 60 {
				tl.obey()
				tl.pass(time.Second)
			}
			if got := tl.count(record.Intent, "") > 0; got != c.evacuated {
				t.Errorf("anything was done: %v", got)
			}
			tl.wantCount("quarantines", tl.count(record.Quarantined, ""), 0)
			tl.wantCount("pages", tl.count(record.Paged, ""), 1)
		})
	}
}

// wantHeld checks why the machines wait.
func (tl *tale) wantHeld(why fleet.Reason, machines []int) {
	tl.Helper()
	for _, i := range machines {
		if m := tl.s.Machines[i].Machine; m.Waiting != why {
			tl.Errorf("%s waits for %q, want %q", m.Name, m.Waiting, why)
			return
		}
	}
}
