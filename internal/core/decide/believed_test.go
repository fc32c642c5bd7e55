package decide_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
)

// A store that was put back may hold a machine to be unfinished which another life of hale finished since: its mark
// says so. Believing the world ends its quarantine, and what it was built from is known all the time.
func TestWhatWasFinishedSinceIsWhole(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	m := &tl.s.Machines[3].Machine
	m.Current.Certified, m.Current.Raw, m.Current.Spoilt, m.Current.Edition = false, true, true, 7
	m.Incident = &belief.Incident{ID: "web-4/1", Cause: belief.CauseBuild, Paged: true}
	m.Quarantine = &belief.Quarantine{Reason: fleet.ReasonAttempts}
	tl.mark()
	tl.s.Whole.Ledger = &belief.Ledger{Size: 10, Edition: 8}
	tl.sighted(5, "newer", fleet.PowerRunning, fleet.Mark{Installation: ours, Generation: 2, Certified: true})
	tl.pass(time.Minute)
	if m := &tl.s.Machines[3].Machine; m.Current.Certified || m.Quarantine == nil {
		t.Fatalf("before the world is believed: %+v", m.Current)
	}
	tl.want("to believe", tl.give(fleet.Order{Kind: fleet.OrderRecover, Believe: true}), "")
	tl.pass(time.Second)
	tl.say(fleet.StandingUp, 3)
	tl.pass(time.Minute)
	m = &tl.s.Machines[3].Machine
	if i := m.Current; !i.Certified || i.Raw || i.Spoilt || i.Edition != 7 {
		t.Errorf("believed: %+v", i)
	}
	if m.Quarantine != nil || m.Incident != nil {
		t.Errorf("it is well, and has %+v, %+v", m.Quarantine, m.Incident)
	}
	if tl.calls() > 0 {
		t.Errorf("calls: %+v", tl.actions)
	}
}

// A store was put back while a machine was being built that had left before, and come again: it counts its generations
// anew, so that the older store has a higher one. Its own instance is gone, and what runs is what was being built. A
// person who has hale believe the world does not lose it.
func TestL12WhatWasBeingBuiltIsTakenWhateverItsGeneration(t *testing.T) {
	t.Parallel()
	tl := few(t, 10)
	m := &tl.s.Machines[3].Machine
	m.Generation, m.Current.Generation = 7, 7
	tl.sighted(3, "building", fleet.PowerRunning, fleet.Mark{Installation: ours, Generation: 6})
	tl.power(fleet.PowerGone, 3)
	tl.sighted(5, "newer", fleet.PowerRunning, fleet.Mark{Installation: ours, Generation: 2, Certified: true})
	tl.pass(time.Minute)
	if tl.s.Whole.Older == nil {
		t.Fatal("the store is not older than the world")
	}
	tl.want("to believe", tl.give(fleet.Order{Kind: fleet.OrderRecover, Believe: true}), "")
	tl.pass(time.Second)
	for k, v := 0, &tl.s.Machines[3]; k < len(v.Seen); k++ {
		v.Seen[k].Asked, v.Seen[k].Alone, v.Due = tl.s.Now.Mono, true, true // it was asked for by itself
	}
	tl.pass(time.Second)
	tl.say(fleet.StandingUp, 3)
	tl.pass(time.Minute)
	if m = &tl.s.Machines[3].Machine; m.Current.ID != "building" {
		t.Errorf("its instance is %+v, and its repair %+v", m.Current, m.Repair)
	}
	for _, a := range tl.actions {
		if a.Machine == m.Name && a.Kind == situation.ActionCall && a.Intent.Op != fleet.OpCertify {
			t.Errorf("%s of %s", a.Intent.Op, a.Instance)
		}
	}
}
