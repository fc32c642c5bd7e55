package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// gathering sets up a machine that is about to be rebooted: hale keeps evidence of it first.
func gathering(t *testing.T) *stage {
	t.Helper()
	st := newStage(t, steps[fleet.StepReboot], steps[fleet.StepRecreate])
	st.s.Spec.Evidence.Off = false
	st.want("it begins", st.begin(), "repair-started heal; then reboot; GATHER; look")
	return st
}

// gathered has the gathering end so.
func (st *stage) gathered(e fleet.Evidence) {
	st.pass(time.Second)
	st.view.Gathered = &situation.Gathered{ID: st.m.Repair.Gather, Evidence: e}
}

// Before a step that could destroy the signs of what ails a machine, they are kept; then comes the look, which stays
// the last word. It is done once per incident.
func TestEvidenceIsKeptBeforeTheLook(t *testing.T) {
	t.Parallel()
	st := gathering(t)
	if a := st.action(); a.Gather != st.m.Repair.Gather || a.Incident != "web-1/1" || a.Instance != "old" ||
		a.Host != "h1" || a.Mark.Machine != "web-1" {
		t.Errorf("it is asked for as %+v", a)
	}
	st.pass(time.Second)
	st.want("it takes a while", st.round(), "look")
	st.gathered(fleet.Evidence{Console: fleet.EvidencePart{Bytes: 7}})
	st.want("it is kept", st.round(), "evidence kept; LOOK; look")
	if r := st.record(record.Evidence); r.Evidence == nil || r.Evidence.Console.Bytes != 7 || r.Took != 2*time.Second {
		t.Errorf("it is not said what, or how long it took: %+v, %v", r.Evidence, r.Took)
	}
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("it fails", st.round(), "look confirmed; CALL reboot old; act")
	st.ends(fleet.OutcomeFailed)
	st.want("the next step", st.round(), "step-failed call-failed; then recreate; LOOK; look")
}

// L8: nothing waits for evidence for ever, nor for one that ended with hale.
func TestL8EvidenceIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after func(*stage)
		want  string
		why   fleet.Reason
	}{
		"just before its time is over": {func(st *stage) { st.pass(fleet.GatherLimit - 1) }, "look", ""},
		"its time is over": {func(st *stage) { st.pass(fleet.GatherLimit) },
			"evidence not-kept; LOOK; look", fleet.ReasonTooLate},
		"hale died": {(*stage).restarts, "evidence not-kept; LOOK; look", fleet.ReasonInterrupted},
		"there is nothing to keep": {func(st *stage) { st.gathered(fleet.NoEvidence(fleet.ReasonUnsupported)) },
			"evidence not-kept; LOOK; look", fleet.ReasonUnsupported},
		"it is another's": {func(st *stage) {
			st.view.Gathered = &situation.Gathered{ID: "web-1/r0/old"}
		}, "look", ""},
	} {
		st := gathering(t)
		c.after(st)
		st.want(name, st.round(), c.want)
		if c.why != "" && st.record(record.Evidence).Evidence.Console.Why != c.why {
			t.Errorf("%s: it is said %+v", name, st.record(record.Evidence).Evidence)
		}
	}
}

// What takes nothing away needs no evidence, and what was kept of the instance in the incident is not asked for again.
func TestWhenNoEvidenceIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step fleet.StepKind
		set  func(*stage)
		want string
	}{
		"a reboot":              {fleet.StepReboot, func(*stage) {}, "GATHER; look"},
		"a command":             {fleet.StepRun, func(*stage) {}, "LOOK; look"},
		"a page":                {fleet.StepPage, func(*stage) {}, "LOOK; look"},
		"the policy wants none": {fleet.StepReboot, func(st *stage) { st.s.Spec.Evidence.Off = true }, "LOOK; look"},
		"it was kept":           {fleet.StepReboot, func(st *stage) { st.m.Incident.Evidence = "old" }, "LOOK; look"},
		"of another instance": {fleet.StepReboot, func(st *stage) { st.m.Incident.Evidence = "older" },
			"GATHER; look"},
		"a remnant": {fleet.StepRecreate, func(st *stage) { st.m.Repair.Kind = belief.RepairRemnant }, "LOOK; look"},
	} {
		st := looked(t, c.step, belief.CauseChecks)
		st.m.Repair.Look, st.s.Spec.Evidence.Off = "", false
		c.set(st)
		st.want(name, st.round(), c.want)
	}
}

// A repair that ended while evidence was gathered did not wait for it: the next one asks again. One that had it does
// not.
func TestTheNextRepairAsksForEvidenceAgain(t *testing.T) {
	t.Parallel()
	for kept, want := range map[bool]fleet.InstanceID{true: "old", false: ""} {
		st := gathering(t)
		if kept {
			st.gathered(fleet.Evidence{})
			st.round()
		}
		st.m.Health.Verdict = belief.VerdictHealthy
		st.want("it is well", st.round(), "repair-ended refuted; over, again in 5s")
		if got := st.m.Incident.Evidence; got != want {
			t.Errorf("it was kept %t, and stands as %q", kept, got)
		}
	}
}

// What comes while the step is held comes once, and is kept.
func TestEvidenceThatComesWhileTheStepIsHeld(t *testing.T) {
	t.Parallel()
	st := gathering(t)
	st.s.Brake.Engaged = true
	st.gathered(fleet.Evidence{})
	st.want("it is held", st.round(), "evidence kept; held brake; look")
	st.s.Brake.Engaged = false
	st.want("and goes on", st.round(), "LOOK; look")
}
