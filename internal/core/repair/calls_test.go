package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// A call says all that its provider needs: which instance, where, with which mark, and how long it may take. Each has
// an id of its own.
func TestWhatACallSays(t *testing.T) {
	t.Parallel()
	for adopted, mark := range map[bool]fleet.Mark{
		false: {Installation: "ours", Fleet: "web", Machine: "web-1", Generation: 1, Certified: true},
		true:  {},
	} {
		st := looked(t, fleet.StepReboot, belief.CauseChecks)
		st.m.Current.Adopted, st.m.Repair.Target.Adopted = adopted, adopted
		st.s.Silent = []fleet.Silence{{Host: "h1"}, {Host: "h9", Off: true}}
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.want("it fails", st.round(), "look confirmed; CALL reboot old; act")
		a := st.action()
		if a.Instance != "old" || a.Host != "h1" || a.Mark != mark || a.Adopted != adopted || len(a.Excused) != 2 {
			t.Errorf("adopted %t: it is sent as %+v", adopted, a)
		}
		in := a.Intent
		if in != *st.m.Repair.Intent || in.Limit != 5*time.Second || in.Generation != 1 || !in.At.Equal(st.s.Now.Wall) {
			t.Errorf("it is sent otherwise than it is stored: %+v", in)
		}
		st.ends(fleet.OutcomeRetry)
		st.round()
		st.due()
		st.round()
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.want("again", st.round(), "look confirmed; CALL reboot old; act")
		if again := st.action().Intent.ID; again == in.ID {
			t.Errorf("two calls have the id %s", again)
		}
	}
}

// L12: an outcome of another call than the one under way is none, and so is one that comes after the call was believed
// lost: what became of it is seen.
func TestL12WhichOutcomeCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"that of the call":    {func(*stage) {}, "verify"},
		"that of another":     {func(st *stage) { st.view.Outcome.Intent = "web-1/r0/call1" }, "act"},
		"one that comes late": {func(st *stage) { st.m.Repair.Intent.Unknown = true }, "ASK old; act"},
		"none yet":            {func(st *stage) { st.view.Outcome = nil }, "act"},
	} {
		st := inAct(t, fleet.OpStart, fleet.StepStart, belief.CauseOff)
		st.ends(fleet.OutcomeDone)
		c.set(st)
		st.want(name, st.round(), c.want)
	}
}

// A call that did nothing is sent again, ever later, and after another look; a person is told when that lasts.
func TestACallThatDidNothing(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepReboot], steps[fleet.StepPage])
	st.begin()
	for _, wait := range []string{"500ms", "1s", "2s", "4s", "8s", "16s", "30s", "30s", "30s"} {
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.want("it fails", st.round(), "look confirmed; CALL reboot old; act")
		st.ends(fleet.OutcomeRetry)
		st.want("not now", st.round(), "look in "+wait)
		st.s.Now.Mono = st.m.Repair.RetryAt - 1
		st.want("a moment before", st.round(), "look in 1ns")
		st.s.Now.Mono++
		st.want("then", st.round(), "LOOK; look")
	}
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.round()
	st.ends(fleet.OutcomeRetry)
	st.want("the tenth time", st.round(), "paged call-failed; step-failed call-failed; then page; LOOK; look")
}

// A question that is not answered is asked again, ever later, and not before.
func TestAQuestionThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	st := inAct(t, fleet.OpPowerOff, fleet.StepRecreate, belief.CauseChecks)
	st.ends(fleet.OutcomeDone)
	for _, wait := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
		st.want("it is asked", st.round(), "ASK old; act")
		if a := st.action(); a.Host != "h1" {
			t.Errorf("it is asked at %s", a.Host)
		}
		st.pass(wait - 1)
		st.want("it is waited for", st.round(), "act")
		st.pass(1)
	}
	st.m.Repair.AskAt, st.m.Repair.Retries = 0, 9
	st.want("the tenth time", st.round(), "paged call-failed; ASK old; act")
	st.view.Seen = []fleet.Sighting{{Asked: st.m.Repair.LastOutcome, Instance: marked("old", "h1", fleet.PowerOff, 1)}}
	st.want("what was asked before is no answer", st.round(), "act")
	st.view.Seen[0].Asked++
	st.want("what was asked since is", st.round(), "proven confirmed-off; CALL delete old; act")
}

// While the provider may not be called, a call waits with a reason, and what became of a lost one is not asked either.
func TestWhatHoldsACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*guard.Situation)
		want string
	}{
		"the provider is down": {func(s *guard.Situation) { s.Provider.Standing = fleet.ProviderDown },
			"held provider-down; act"},
		"it is another one": {func(s *guard.Situation) { s.Provider.Standing = fleet.ProviderDoubtful },
			"held provider-doubtful; act"},
		"hale may only observe": {func(s *guard.Situation) { s.Spec.Mode = policy.ModeObserve }, "held observe; act"},
		"the store is full": {func(s *guard.Situation) { s.Acting = fleet.ReasonStoreFull },
			"held store-full; act"},
		"the store is older": {func(s *guard.Situation) { s.Whole.Older = &belief.Older{} },
			"held store-older; act"},
	} {
		st := newStage(t, steps[fleet.StepReboot])
		r := st.healing(fleet.StepReboot)
		st.m.Repair = &r
		before := st.s
		c.set(&st.s)
		st.want(name, st.round(), c.want)
		st.s = before
		if st.want(name+" no more", st.round(), "CALL reboot old; act"); st.m.Waiting != "" {
			t.Errorf("%s no more, and it waits for it: %s", name, st.m.Waiting)
		}
		st = inAct(t, fleet.OpStart, fleet.StepStart, belief.CauseOff)
		st.restarts()
		c.set(&st.s)
		st.want(name+", and a call was lost", st.round(), c.want)
	}
}

// A call that is under way is waited for, whatever holds new ones: its outcome is taken in.
func TestAnOutcomeIsTakenInWhateverHolds(t *testing.T) {
	t.Parallel()
	st := inAct(t, fleet.OpReboot, fleet.StepReboot, belief.CauseChecks)
	st.s.Brake.Engaged, st.s.Spec.Mode = true, policy.ModeObserve
	st.s.Whole.Holds = []belief.Hold{{}}
	st.ends(fleet.OutcomeDone)
	st.want("it is done", st.round(), "verify")
}

// People of the provider lock an instance, so that nothing can be done to it. Nothing is built around it: it is tried
// again until they unlock it, soon, and a person is told once. No attempt is lost.
func TestALockedInstanceIsTriedAgain(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepReboot], steps[fleet.StepRecreate])
	for n, again := range []string{"5s", "10s", "20s", "40s", "1m20s", "2m0s", "2m0s"} {
		st.begin()
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.round()
		st.ends(fleet.OutcomeLocked)
		want := "repair-ended locked; held locked; paged locked; over, again in " + again
		if n > 0 {
			want = "repair-ended locked; held locked; over, again in " + again
		}
		st.want("locked", st.round(), want)
		if len(st.m.Attempts) != 1 || st.m.Incident.Last.Why != fleet.ReasonLocked {
			t.Errorf("what was not done counts: %v, %+v", st.m.Attempts, st.m.Incident)
		}
	}
}

// What cannot be done without a secret, or is refused, is for a person, who is told; a first build, too.
func TestWhatIsForAPerson(t *testing.T) {
	t.Parallel()
	for kind, why := range map[fleet.OutcomeKind]string{fleet.OutcomeRefused: "refused",
		fleet.OutcomeNoSecret: "no-secret",
		fleet.OutcomeLocked:   "locked"} {
		st := calling[fleet.OpCreate](t)
		st.m.Repair.Kind, st.m.Repair.Aim, st.m.Incident = belief.RepairBuild, belief.AimAt(belief.Incarnation{}), nil
		st.ends(kind)
		st.want(string(kind), st.round(), "repair-ended "+why+"; quarantined "+why+"; paged "+why+"; over")
	}
}

// Work that tries in vain tells a person, whatever it is for: a first build gets an incident for that, and what lies
// beside a machine is put aside.
func TestWhatIsInVainIsTold(t *testing.T) {
	t.Parallel()
	st := calling[fleet.OpCreate](t)
	st.m.Repair.Kind, st.m.Repair.Aim, st.m.Incident = belief.RepairBuild, belief.AimAt(belief.Incarnation{}), nil
	st.m.Repair.Retries = 9
	st.ends(fleet.OutcomeRetry)
	st.want("a first build", st.round(), "paged call-failed; act in 30s")
	if i := st.m.Incident; i == nil || i.Cause != belief.CauseBuild {
		t.Errorf("it has %+v", i)
	}
	st, _ = remnant(t)
	st.m.Repair.Retries = 9
	st.show(fleet.Instance{}, fleet.StandingUnknown)
	st.want("a remnant", st.round(), "look look-unclear; paged call-failed; held look-unclear; look in 30s")
	if s := st.m.Strays[0]; !s.Paged || st.m.Incident != nil {
		t.Errorf("the machine fails for it, or it is not put aside: %+v", s)
	}
}

// A call is written down before it is sent, and so is its end, as it was told or as it was seen.
func TestACallIsWrittenDown(t *testing.T) {
	t.Parallel()
	st := looked(t, fleet.StepStart, belief.CauseOff)
	st.answer(fleet.PowerOff, fleet.StandingDown)
	st.round()
	if got := st.record(record.Intent); got.Op != fleet.OpStart || got.Instance != "old" || got.Host != "h1" ||
		got.Generation != 1 || got.Call == "" {
		t.Errorf("it is said %+v", got)
	}
	call := st.record(record.Intent).Call
	lost := newStage(t)
	*lost = *st
	lost.m = st.m.Clone()
	st.ends(fleet.OutcomeDone)
	st.round()
	if got := st.record(record.Outcome); got.Op != fleet.OpStart || got.Outcome != fleet.OutcomeDone ||
		got.Took != time.Second || got.Detail != "so it was said" || got.Instance != "old" || got.Call != call {
		t.Errorf("its end is said to be %+v", got)
	}
	lost.restarts()
	lost.seen(marked("old", "h1", fleet.PowerRunning, 1))
	lost.want("its answer is lost", lost.round(), "verify")
	if got := lost.record(record.Outcome); got.Outcome != fleet.OutcomeUnknown ||
		got.Detail != "observed running" || got.Call != call {
		t.Errorf("its end is said to be %+v", got)
	}
}

// A call that starts the machine makes worthless what was known of it: it is starting from then on, and forgiven until
// its time is over. A call that did not, does not.
func TestAMachineStartsAnew(t *testing.T) {
	t.Parallel()
	for kind, starts := range map[fleet.OutcomeKind]bool{fleet.OutcomeDone: true, fleet.OutcomeRetry: false} {
		st := inAct(t, fleet.OpReboot, fleet.StepReboot, belief.CauseChecks)
		before := st.m.Health
		st.ends(kind)
		st.round()
		want := before
		if starts {
			want = belief.Health{Verdict: belief.VerdictStarting, Since: st.s.Now.Wall, SinceMono: st.s.Now.Mono,
				Grace: st.s.Now.Mono.Add(10 * time.Second)}
		}
		if st.m.Health != want || starts != (st.m.Epoch == 2) || starts != (st.m.Acted == st.s.Now.Mono) {
			t.Errorf("%s: %+v, epoch %d, acted at %v", kind, st.m.Health, st.m.Epoch, st.m.Acted)
		}
	}
}
