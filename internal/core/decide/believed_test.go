package decide_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
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
