package decide_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// lone is a fleet of one machine on host h00 of rack r0. There are four racks of two hosts each.
func lone(t *testing.T, others ...fleet.Lot) *tale {
	t.Helper()
	tl := street(t, 4)
	tl.s.Machines, tl.s.Spec.Size = tl.s.Machines[:1], 1
	tl.s.Lots = others
	tl.pass(time.Second)
	return tl
}

// lot is how ten machines of other fleets on a host fare.
func lot(host, failing, suspect int) fleet.Lot {
	return fleet.Lot{Host: hostNamed(host), Network: "default", Members: 10, Failing: failing, Suspect: suspect}
}

// town is how the others fare when those of the first rack fail, or may.
func town(failing, suspect int) []fleet.Lot {
	return []fleet.Lot{lot(0, failing, suspect), lot(1, failing, suspect), lot(2, 0, 0), lot(3, 0, 0), lot(4, 0, 0),
		lot(5, 0, 0), lot(6, 0, 0), lot(7, 0, 0)}
}

// S74: the only machine of a fleet fails, and so do most of other fleets in its rack: that is the rack's, and told of
// once. Where the others are well, it is the machine's own, and is healed.
func TestS74TheOnlyMachineOfAFleetSharesTheFateOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others  []fleet.Lot
		shared  bool
		repairs int
	}{
		"nothing is known of others":   {repairs: 1},
		"the others are well":          {others: town(0, 0), repairs: 1},
		"the rack is dead":             {others: town(9, 0), shared: true},
		"another rack is dead":         {others: append(town(0, 0)[:6], lot(6, 10, 0), lot(7, 10, 0)), repairs: 1},
		"each place has a few of them": {others: []fleet.Lot{lot(0, 1, 0), lot(2, 1, 0), lot(4, 1, 0)}, repairs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := lone(t, c.others...)
			refuses(tl, 0)
			tl.pass(time.Hour)
			tl.wantCount("repairs", tl.repairs(), c.repairs)
			if p := tl.s.Whole.Parents; (len(p) == 1) != c.shared {
				t.Errorf("open parents: %+v", p)
			}
			if !c.shared {
				return
			}
			tl.wantHeld(fleet.ReasonSharedFate, []int{0})
			tl.wantCount("pages", tl.count(record.Paged, fleet.ReasonSharedFate), 1)
			if d := tl.s.Whole.Parents[0].Domain; d != (fleet.Domain{Kind: fleet.DomainRack, Name: "r0"}) {
				t.Errorf("blamed: %v", d)
			}
		})
	}
}

// What is suspect in another fleet may yet show that the machine shares its fate: it waits as long as its checks need
// to tell. Of what an owner shows that has not looked of late everything may have failed since.
func TestS74WhatMayFailInOtherFleetsIsWaitedFor(t *testing.T) {
	t.Parallel()
	stale := town(0, 0)
	for i := range stale[:2] {
		stale[i] = stale[i].Outdated()
	}
	for name, others := range map[string][]fleet.Lot{"suspects": town(0, 9), "an owner that is late": stale} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := lone(t, others...)
			refuses(tl, 0)
			tl.pass(time.Millisecond)
			tl.wantHeld(fleet.ReasonUnclear, []int{0})
			tl.wantCount("repairs", tl.repairs(), 0)
			tl.pass(time.Minute)
			tl.wantCount("repairs when the time is over", tl.repairs(), 1)
		})
	}
}

// L4: what others say may be old. That their machines are well, as it seems, never hides what this fleet sees itself.
func TestS74WhatOthersSayHidesNothing(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.s.Lots = []fleet.Lot{{Host: hostNamed(8), Network: "default", Members: 500}}
	tl.pass(time.Second)
	refuses(tl, tl.rack(4)[:10]...)
	tl.pass(time.Hour)
	tl.wantCount("children", tl.children(), 10)
	tl.wantCount("repairs", tl.repairs(), 0)
	tl.wantCount("pages", tl.count(record.Paged, ""), 1)
}

// What was told of a rack stays, whatever fails elsewhere, until its machines are well: then it is over.
func TestS74WhatWasToldOfOthersStaysUntilTheyAreWell(t *testing.T) {
	t.Parallel()
	tl := lone(t, town(9, 0)...)
	refuses(tl, 0)
	tl.pass(time.Minute)
	tl.wantCount("open parents", len(tl.s.Whole.Parents), 1)
	worse := town(6, 0)
	for i := range worse[2:] {
		worse[2+i].Failing = 5
	}
	tl.s.Lots = worse
	tl.pass(10 * time.Minute)
	tl.wantCount("parents", tl.count(record.ParentOpen, ""), 1)
	tl.wantCount("repairs", tl.repairs(), 0)
	tl.s.Lots = town(0, 0)
	tl.pass(time.Minute)
	tl.wantCount("closed", tl.count(record.ParentClosed, fleet.ReasonReleased), 1)
	refuses(tl, 0)
	tl.pass(time.Minute)
	tl.wantCount("repairs", tl.repairs(), 1)
}

// S43: machines leave a dead rack one by one. Those that are still there stay its children to the last one: that they
// become few says nothing for the rack.
func TestS43TheLastOfARackIsStillOfTheRack(t *testing.T) {
	t.Parallel()
	tl := street(t, 10)
	tl.s.Spec.SharedFate.Then, tl.s.Spec.Repair.Silence = policy.FateEvacuate, policy.SilenceActs
	rack := tl.rack(4)
	tl.say(fleet.StandingDown, rack...)
	tl.pass(11 * time.Minute)
	for _, i := range rack[1:] {
		v := &tl.s.Machines[i]
		v.Machine.Current.Host, v.Seen[0].Instance.Host = hostNamed(0), hostNamed(0)
		v.Machine.Repair = nil
	}
	tl.say(fleet.StandingUp, rack[1:]...)
	tl.pass(10 * time.Minute)
	tl.wantCount("open parents", len(tl.s.Whole.Parents), 1)
	tl.wantCount("closed", tl.count(record.ParentClosed, ""), 0)
}
