package repair_test

import (
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// adjusts has another template be on its way through the fleet, which differs in what a provider may be able to change
// on an instance. The machine serves.
func (st *stage) adjusts(memory uint64, texts fleet.Metadata) {
	st.m.Incident, st.m.Attempts = nil, nil
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	st.m.Current.Edition = 3
	older := policy.Template{Image: "web.qcow2", Memory: 1 << 30}
	newer := older
	newer.Memory, newer.Metadata = memory, texts
	st.s.Whole.Ledger = &belief.Ledger{Size: 5, Template: older, Edition: 3,
		Update: &belief.Update{Template: newer, Edition: 4, Order: "o1", By: "ann"}}
}

// adjusting is a machine that serves, and that a person wants to be as another template says.
func adjusting(t *testing.T, memory uint64, texts fleet.Metadata) (st *stage, begins string) {
	t.Helper()
	st = newStage(t, steps[fleet.StepRecreate])
	st.adjusts(memory, texts)
	o := belief.Removal{Machine: "web-1", Order: "o1", By: "ann"}
	begins = st.play(func(w *work) { w.BeginChange(belief.RepairUpdate, &o) })
	return st, begins
}

// isUpdated checks that the machine has the instance that it had, and that this is as the other template says.
func (st *stage) isUpdated() {
	st.Helper()
	if c := st.m.Change; c == nil || !c.Updated() || st.m.Current.ID != "old" || st.m.Current.Edition != 4 {
		st.Errorf("it is %+v after %+v", st.m.Current, c)
	}
}

// Another size needs the machine off: it leaves, is seen off, is given the size, and starts with the disks that it had.
func TestAnotherSizeInPlace(t *testing.T) {
	t.Parallel()
	st, begins := adjusting(t, 2<<30, "")
	st.want("it is ordered", begins, "repair-started update; ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerRunning, 1))
	st.want("it runs", st.round(), "CALL power-off old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it was told to power off", st.round(), "ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerOff, 1))
	st.want("it is off", st.round(), "proven confirmed-off; CALL adjust old; act")
	if in := st.m.Repair.Intent; in.Edition != 4 {
		t.Errorf("it is to be as edition %d says", in.Edition)
	}
	st.ends(fleet.OutcomeDone)
	st.want("it has the size", st.round(), "CALL start old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it is started", st.round(), "verify")
	st.m.Health.Verdict = belief.VerdictHealthy
	st.want("it serves", st.round(), "verified; repair-ended updated; over")
	st.isUpdated()
}

// L2: a disk that is to be kept is no reason against another size, but against a new instance.
func TestAKeptDiskInPlace(t *testing.T) {
	t.Parallel()
	st, _ := adjusting(t, 2<<30, "")
	st.s.Spec.Template.Disks = []policy.Disk{{Name: "data"}}
	st.seen(marked("old", "h1", fleet.PowerOff, 1))
	st.want("it is off", st.round(), "proven confirmed-off; CALL adjust old; act")
	st.ends(fleet.OutcomeUnsupported)
	st.want("its provider cannot do that", st.round(), givenUp("disk-kept"))
}

// Texts change on a machine that runs: it is not taken away from anybody.
func TestOtherTextsInPlace(t *testing.T) {
	t.Parallel()
	st, begins := adjusting(t, 1<<30, "role=web\n")
	st.want("it is ordered", begins, "repair-started update; CALL adjust old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it bears them", st.round(), "verified; repair-ended updated; over")
	st.isUpdated()
}

func TestInPlaceOtherwise(t *testing.T) {
	t.Parallel()
	st, _ := adjusting(t, 1<<30, "role=web\n")
	st.ends(fleet.OutcomeUnsupported)
	st.want("its provider cannot do that: it is built anew", st.round(), "ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerOff, 1))
	st.want("it is off", st.round(), "proven confirmed-off; CALL delete old; act")

	st, _ = adjusting(t, 1<<30, "role=web\n")
	st.ends(fleet.OutcomeConflict)
	st.want("it has to be off for that, too", st.round(), "ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerOff, 1))
	st.want("it is off", st.round(), "proven confirmed-off; CALL adjust old; act")

	st, _ = adjusting(t, 2<<30, "")
	st.seen(marked("old", "h1", fleet.PowerGone, 1))
	st.want("it is gone: it is built anew", st.round(), "proven confirmed-deleted; CALL delete old; act")

	st, _ = adjusting(t, 2<<30, "")
	st.seen(marked("old", "h1", fleet.PowerOff, 1))
	st.round()
	st.restarts()
	st.want("hale died meanwhile", st.round(), "act in 1s")
	st.due()
	st.want("it is adjusted again", st.round(), "CALL adjust old; act")
	st.ends(fleet.OutcomeDone)
	st.round()
	st.restarts()
	st.want("hale died as it was started", st.round(), "ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerRunning, 1))
	st.want("it runs", st.round(), "verify")

	st, _ = adjusting(t, 2<<30, "")
	st.seen(marked("old", "h1", fleet.PowerOff, 1))
	st.round()
	st.ends(fleet.OutcomeFailed)
	st.want("it fails: the machine is healed as any other", st.round(), givenUp("call-failed"))
}
