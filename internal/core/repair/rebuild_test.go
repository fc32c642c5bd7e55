package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
)

// A rebuild gives the same instance a new disk: off, seen off, rebuilt, and it has the time of a build.
func TestARebuild(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepRebuild], steps[fleet.StepPage])
	st.want("it begins", st.begin(), "repair-started heal; then rebuild; LOOK; look")
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("it fails", st.round(), "look confirmed; CALL power-off old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it is said to be off", st.round(), "ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerOff, 1))
	st.want("and is seen off", st.round(), "proven confirmed-off; CALL rebuild old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it boots from a new disk", st.round(), "verify")
	if got := st.m.Repair.Deadline.Sub(st.s.Now.Mono); got != time.Minute {
		t.Errorf("it gets %v, and a build a minute", got)
	}
	if st.m.Current.ID != "old" || st.m.Generation != 1 {
		t.Errorf("it became another instance: %+v", st.m.Current)
	}
}

// A rebuild works on an instance: a host that is off, or a cut, is no proof for it, and what is gone has no disk.
func TestARebuildNeedsTheInstance(t *testing.T) {
	t.Parallel()
	for proof, want := range map[fleet.Proof]string{
		fleet.ProofConfirmedOff: "CALL rebuild old; act",
		fleet.ProofHostOff:      "CALL rebuild old; act",
		fleet.ProofAccessCut:    "ASK old; act",
		fleet.ProofWord:         "ASK old; act",
		fleet.ProofDeleted:      "step-failed no-instance; then page; LOOK; look",
	} {
		st := newStage(t, steps[fleet.StepRebuild], steps[fleet.StepPage])
		r := st.healing(fleet.StepRebuild)
		r.Proof = proof
		st.m.Repair = &r
		st.want(string(proof), st.round(), want)
	}
}
