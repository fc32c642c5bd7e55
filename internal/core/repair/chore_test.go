package repair_test

import (
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/repair"
)

// carriesOut is a machine that serves, which an update changed, and with which a person has the order done.
func carriesOut(t *testing.T, what fleet.OrderKind) (st *stage, begins string) {
	t.Helper()
	st = newStage(t, steps[fleet.StepReboot])
	st.m.Incident, st.m.Attempts = nil, nil
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	st.m.Change = &belief.Change{Order: "o1", Ended: fleet.ReasonUpdated}
	begins = st.play(func(w *work) {
		repair.BeginChore(w, &belief.Wanted{Order: "o2", By: "ann", Chore: what}, what.Step())
	})
	return st, begins
}

// What an update did to the machine stays known, whatever a person has done with it afterwards, and however that ends:
// otherwise the update would change it once more, and take one machine more into its batch, and no opinion on the size
// would ever let it go.
func TestWorkByOrderLeavesWhatAnUpdateDid(t *testing.T) {
	t.Parallel()
	for ends, want := range map[fleet.OutcomeKind]string{fleet.OutcomeDone: "verified; repair-ended carried-out; over",
		fleet.OutcomeRefused: givenUp("refused")} {
		st, begins := carriesOut(t, fleet.OrderReboot)
		st.want("it is ordered", begins, "repair-started operate; CALL reboot old; act")
		st.ends(ends)
		if ends == fleet.OutcomeDone {
			st.want("it was restarted", st.round(), "verify")
			st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
		}
		st.want("it is over", st.round(), want)
		if c := st.m.Change; c == nil || *c != (belief.Change{Order: "o1", Ended: fleet.ReasonUpdated}) {
			t.Errorf("after the call ended with %s, the update is taken to have ended with %+v", ends, c)
		}
	}
}
