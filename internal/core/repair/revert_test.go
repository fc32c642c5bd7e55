package repair_test

import (
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/repair"
)

// copied is a machine with a whole copy of its disks, on its host.
func copied(st *stage) {
	st.m.Snapshots = []belief.DiskSnapshot{{ID: "c1", Whole: true, Host: st.m.Current.Host}}
}

// The disks of a copy are put back once the machine is proven off, and it is verified as any other.
func TestDisksArePutBackOfWhatIsProvenOff(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepReboot])
	st.m.Incident, st.m.Attempts = nil, nil
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	copied(st)
	begins := st.play(func(w *work) {
		repair.BeginChore(w, &belief.Wanted{Order: "o1", By: "ann", Chore: fleet.OrderRevert, Copy: "c1"},
			fleet.StepRevert)
	})
	st.want("it is ordered", begins, "repair-started operate; ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerRunning, 1))
	st.want("it runs", st.round(), "CALL power-off old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it is said to be off", st.round(), "ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerOff, 1))
	st.want("and is seen off", st.round(), "proven confirmed-off; CALL revert old; act")
	if in := st.m.Repair.Intent; in.Snapshot != "c1" {
		t.Errorf("copy %q is put back", in.Snapshot)
	}
	st.ends(fleet.OutcomeDone)
	st.want("it boots from them", st.round(), "verify")
}

// A copy that went meanwhile is not put back, and the machine is healed as any other.
func TestACopyThatWentIsNotPutBack(t *testing.T) {
	t.Parallel()
	st := calling[fleet.OpRevert](t)
	st.m.Repair.Intent, st.m.Snapshots = nil, nil
	st.want("it went", st.round(), "step-failed no-copy; repair-ended no-copy; paged given-up; over")
}
