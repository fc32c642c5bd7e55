package repair_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
)

// The policy keeps what is replaced: it is off, gives up its name, and stays so long.
func TestTheOldInstanceIsPutAside(t *testing.T) {
	t.Parallel()
	step := steps[fleet.StepRecreate]
	step.KeepOld = time.Hour
	st := newStage(t, step)
	st.want("it begins", st.begin(), "repair-started heal; then recreate; LOOK; look")
	st.answer(fleet.PowerOff, fleet.StandingDown)
	st.want("it is off", st.round(), "look confirmed; proven confirmed-off; CALL keep old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it is put aside", st.round(), "CALL create new; act")
	k := st.m.Kept
	if len(k) != 1 || k[0].ID != "old" || k[0].Since != st.s.Now.Wall || !k[0].Over(in(st.s.Now, time.Hour)) ||
		k[0].Over(in(st.s.Now, time.Hour-1)) || !st.m.Current.None() {
		t.Errorf("it is kept as %+v", k)
	}
}

// A recreate that is to keep the old instance and cannot is passed over, rather than lose it.
func TestARecreateThatCannotKeep(t *testing.T) {
	t.Parallel()
	kept := make([]belief.KeptInstance, belief.MostKept)
	const chosen = "repair-started heal; then recreate; LOOK; look"
	const passed = "repair-started heal; step-skipped "
	for name, c := range map[string]struct {
		keep time.Duration
		set  func(*stage)
		want string
	}{
		"it can": {time.Hour, func(*stage) {}, chosen},
		"the provider cannot": {time.Hour, func(st *stage) { st.s.Cannot = []fleet.Op{fleet.OpKeep} },
			passed + "unsupported; then page; LOOK; look"},
		"it bears no mark": {time.Hour, func(st *stage) { st.m.Current.Adopted = true },
			passed + "unsupported; then page; LOOK; look"},
		"too many are kept": {time.Hour, func(st *stage) { st.m.Kept = kept },
			passed + "too-many-kept; then page; LOOK; look"},
		"one less is": {time.Hour, func(st *stage) { st.m.Kept = kept[1:] }, chosen},
		"it is not to": {0, func(st *stage) {
			st.s.Cannot, st.m.Kept = []fleet.Op{fleet.OpKeep}, kept
		}, chosen},
	} {
		step := steps[fleet.StepRecreate]
		step.KeepOld = c.keep
		st := newStage(t, step, steps[fleet.StepPage])
		c.set(st)
		st.want(name, st.begin(), c.want)
	}
}

// expired is a machine whose old instance was kept, and whose time is over.
func expired(t *testing.T) (*stage, belief.KeptInstance) {
	t.Helper()
	st := newStage(t, steps[fleet.StepRecreate])
	st.m.Incident, st.m.Health, st.m.Generation = nil, belief.Health{Verdict: belief.VerdictHealthy}, 2
	old := belief.KeepFor(st.m.Current, 0, st.s.Now)
	st.m.Kept = []belief.KeptInstance{old}
	st.m.Current = belief.Incarnation{ID: "new", Host: "h2", Generation: 2, Certified: true}
	return st, old
}

// Aside is the old instance as it was put aside.
func aside() fleet.Instance {
	i := marked("old", "h1", fleet.PowerOff, 1)
	i.Mark.Kept, i.Mark.Certified = true, true
	return i
}

// L2: what was kept for its time is removed, after a look that finds it as it was left: off, put aside, ours. What is
// not is in use, and stays; a person is told of it, once, and it is looked at again much later.
func TestL2WhatWasKeptGoesAsItWasLeft(t *testing.T) {
	t.Parallel()
	const inUse = "look refuted; repair-ended still-running; paged still-running; over"
	for name, c := range map[string]struct {
		shows func(*fleet.Instance)
		want  string
	}{
		"as it was left": {func(*fleet.Instance) {},
			"look confirmed; proven confirmed-off; CALL delete old; act"},
		"it runs":              {func(i *fleet.Instance) { i.Power = fleet.PowerRunning }, inUse},
		"it is paused":         {func(i *fleet.Instance) { i.Power = fleet.PowerPaused }, inUse},
		"it has its name back": {func(i *fleet.Instance) { i.Mark.Kept = false }, inUse},
		"it is another hale's": {func(i *fleet.Instance) { i.Mark.Installation = "theirs" }, inUse},
		"it is another's":      {func(i *fleet.Instance) { i.Mark.Machine = "web-2" }, inUse},
		"it is gone": {func(i *fleet.Instance) { i.Power = fleet.PowerGone },
			"look refuted; repair-ended vanished; over"},
		"nothing is said": {func(i *fleet.Instance) { i.Power = "" },
			"look look-unclear; held look-unclear; look in 500ms"},
	} {
		st, old := expired(t)
		st.want("its time is over", st.play(func(w *work) { w.BeginExpire(old) }),
			"repair-started keep-over; LOOK; look")
		if a := st.action(); a.Scope != situation.LookProvider || a.Instance != "old" {
			t.Errorf("another is looked at: %+v", a)
		}
		i := aside()
		c.shows(&i)
		st.show(i, fleet.StandingUnknown)
		st.want(name, st.round(), c.want)
		switch gone := i.Power == fleet.PowerGone; {
		case gone && len(st.m.Kept) != 0:
			t.Errorf("%s, and is still kept", name)
		case c.want == inUse && (!st.m.Kept[0].Paged || st.m.Kept[0].RetryAt != st.s.Now.Mono.Add(30*time.Minute)):
			t.Errorf("%s, and is looked at again soon: %+v", name, st.m.Kept[0])
		}
	}
}

// A person is told once of what stays, and the machine has no incident for it.
func TestWhatStaysIsToldOnce(t *testing.T) {
	t.Parallel()
	st, old := expired(t)
	st.m.Kept[0].Paged = true
	st.play(func(w *work) { w.BeginExpire(old) })
	i := aside()
	i.Power = fleet.PowerRunning
	st.show(i, fleet.StandingUnknown)
	st.want("again", st.round(), "look refuted; repair-ended still-running; over")
	if st.m.Incident != nil || len(st.m.Attempts) != 1 {
		t.Errorf("the machine fails for it: %+v", st.m.Incident)
	}
}

// What was kept is deleted, and forgotten. Its delete may fail, and then it is put off; the machine serves all along.
func TestWhatWasKeptIsDeleted(t *testing.T) {
	t.Parallel()
	for kind, want := range map[fleet.OutcomeKind]string{
		fleet.OutcomeDone:     "repair-ended removed; over",
		fleet.OutcomeNotFound: "repair-ended removed; over",
		fleet.OutcomeFailed:   "repair-ended delete-failed; paged delete-failed; over",
		fleet.OutcomeRefused:  "repair-ended refused; paged refused; over",
		fleet.OutcomeLocked:   "repair-ended locked; paged locked; over",
		fleet.OutcomeConflict: "look in 500ms",
	} {
		st, old := expired(t)
		st.play(func(w *work) { w.BeginExpire(old) })
		st.show(aside(), fleet.StandingUnknown)
		st.round()
		st.ends(kind)
		st.want(string(kind), st.round(), want)
		if done := kind == fleet.OutcomeDone || kind == fleet.OutcomeNotFound; done != (len(st.m.Kept) == 0) {
			t.Errorf("%s: kept is %+v", kind, st.m.Kept)
		}
		if st.m.Current.ID != "new" || st.m.Quarantine != nil {
			t.Errorf("%s: the machine itself is touched: %+v", kind, st.m)
		}
	}
}

// undoing is a machine with a new instance that a person does not want: the old one is to come back.
func undoing(t *testing.T) (st *stage, begins string) {
	t.Helper()
	st, _ = expired(t)
	st.m.Wanted = &belief.Wanted{Order: "o1", By: "ann", Undo: true, Back: "old", Until: st.s.Now.Wall.Add(time.Hour)}
	begins = st.play(func(w *work) { w.BeginUndo(w.M.Wanted) })
	return st, begins
}

// An undo: the old instance is seen as it was left, the new one is off and put aside, and the old one has its name back
// and is started.
func TestAnUndo(t *testing.T) {
	t.Parallel()
	st, begins := undoing(t)
	st.want("it is ordered", begins, "repair-started undo; ASK old; act")
	if got := st.record(record.RepairStarted); got.By != "ann" || got.Order != "o1" || got.Instance != "old" {
		t.Errorf("it is not said who wants what: %+v", got)
	}
	if st.m.Wanted != nil {
		t.Errorf("it is wanted still: %+v", st.m.Wanted)
	}
	st.seen(aside())
	st.want("it is as it was left", st.round(), "ASK new; act")
	st.seen(aside(), marked("new", "h2", fleet.PowerRunning, 2))
	st.want("the new one runs", st.round(), "CALL power-off new; act")
	st.ends(fleet.OutcomeDone)
	st.want("and is told to power off", st.round(), "ASK new; act")
	st.seen(aside(), marked("new", "h2", fleet.PowerOff, 2))
	st.want("it is off", st.round(), "proven confirmed-off; CALL keep new; act")
	st.ends(fleet.OutcomeDone)
	st.want("it is put aside", st.round(), "CALL restore old; act")
	if k := st.m.Kept[1]; k.ID != "new" || !k.Over(in(st.s.Now, 24*time.Hour)) || k.Over(in(st.s.Now, 24*time.Hour-1)) {
		t.Errorf("it is kept as %+v", k)
	}
	epoch := st.m.Epoch
	st.m.Provisioned = (*belief.Hooking)(nil).End("provision/site", "")
	st.ends(fleet.OutcomeDone)
	st.want("the old one is back", st.round(), "CALL start old; act")
	if st.m.Provisioned != nil {
		t.Error("what was done to the other one counts for it")
	}
	if st.m.Current.ID != "old" || st.m.KeptAt("old") >= 0 || st.m.Epoch == epoch || st.m.Acted != st.s.Now.Mono {
		t.Errorf("it is not the machine's: %+v", st.m)
	}
	st.ends(fleet.OutcomeDone)
	st.want("it is started", st.round(), "verify")
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	st.want("it is well", st.round(), "verified; repair-ended undone; over")
	if c := st.m.Change; c == nil || *c != (belief.Change{Order: "o1", Ended: fleet.ReasonUndone}) {
		t.Errorf("the order has not its end: %+v", c)
	}
}

// Nothing is touched before what is wanted back was seen as it was left, with nothing beside it that may run.
func TestWhatCannotBeBroughtBack(t *testing.T) {
	t.Parallel()
	rival := marked("other", "h2", fleet.PowerRunning, 1)
	for name, c := range map[string]struct {
		shows  func(*fleet.Instance)
		beside []fleet.Instance
		want   string
	}{
		"it is gone":       {func(i *fleet.Instance) { i.Power = fleet.PowerGone }, nil, givenUp("no-instance")},
		"it runs":          {func(i *fleet.Instance) { i.Power = fleet.PowerRunning }, nil, givenUp("mark-changed")},
		"it was not aside": {func(i *fleet.Instance) { i.Mark.Kept = false }, nil, givenUp("mark-changed")},
		"a third one runs": {func(*fleet.Instance) {}, []fleet.Instance{rival}, givenUp("second-instance")},
	} {
		st, _ := undoing(t)
		i := aside()
		c.shows(&i)
		st.seen(append([]fleet.Instance{i}, c.beside...)...)
		st.want(name, st.round(), c.want)
		if gone := i.Power == fleet.PowerGone; st.m.Current.ID != "new" || gone != (len(st.m.Kept) == 0) {
			t.Errorf("%s: %+v", name, st.m)
		}
	}
}

// What fails after the new instance was put aside is for a person: there is none that serves.
func TestAnUndoThatFailsHalfway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"a third one runs by then": {func(st *stage) { st.seen(marked("other", "h2", fleet.PowerRunning, 1)) },
			toPerson("second-instance")},
		"the old one does not become healthy": {func(st *stage) {
			st.m.Current, st.m.Kept = st.m.Repair.Back, nil
			st.m.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks}
			st.m.Repair.Phase, st.m.Repair.Deadline = belief.PhaseVerify, st.s.Now.Mono
		}, "step-failed not-verified; repair-ended not-verified; quarantined not-verified; paged not-verified; over"},
		"a new owner proves it off once more": {func(st *stage) { st.restarts() }, "ASK new; act"},
	} {
		st, _ := undoing(t)
		r := st.m.Repair
		r.Confirmed, r.Removed, r.Proof = true, true, fleet.ProofConfirmedOff
		st.m.Current = belief.Incarnation{}
		c.set(st)
		st.want(name, st.round(), c.want)
	}
}

// The new instance is gone: nothing of it can be put aside, and what it left goes.
func TestAnUndoOfWhatIsGone(t *testing.T) {
	t.Parallel()
	st, _ := undoing(t)
	st.seen(aside(), marked("new", "h2", fleet.PowerGone, 2))
	st.want("it is gone", st.round(), "proven confirmed-deleted; CALL delete new; act")
	st.ends(fleet.OutcomeDone)
	st.want("its files, too", st.round(), "CALL restore old; act")
}

// An undo takes the place of a repair that built the new instance and has not verified it: that one makes way, though
// it never was healthy. So does one that an order built late.
func TestAnUndoOvertakesAVerification(t *testing.T) {
	t.Parallel()
	st, _ := expired(t)
	r := st.healing(fleet.StepRecreate)
	r.Phase = belief.PhaseVerify
	st.m.Repair, st.m.Incident, st.m.Current.Certified = &r, &belief.Incident{ID: "web-1/1"}, false
	st.m.Waiting, st.m.Quarantine, st.m.RetryAt = fleet.ReasonBackoff, nil, hour+1
	o := &belief.Wanted{Order: "o1", Undo: true, Back: "old", Until: st.s.Now.Wall.Add(time.Hour)}
	st.m.Wanted = o
	st.want("it is ordered", st.play(func(w *work) { w.BeginUndo(o) }),
		"repair-ended overruled; repair-started undo; ASK old; act")
	if !st.m.Current.Expired || !st.m.Repair.Target.Expired || st.m.Waiting != "" || st.m.RetryAt != 0 {
		t.Errorf("it does not make way: %+v", st.m)
	}

	st, _ = expired(t)
	st.m.Current, st.m.Incident = belief.Incarnation{}, &belief.Incident{ID: "web-1/1"}
	st.m.Wanted = o
	st.seen(aside(), marked("late", "h2", fleet.PowerRunning, 2))
	st.want("one was built late", st.play(func(w *work) { w.BeginUndo(o) }),
		"repair-started undo; remnant found; ASK old; act")
	if at := st.m.Repair.Target; at.ID != "late" || !at.Expired || st.m.Current.ID != "late" {
		t.Errorf("it does not make way: %+v", at)
	}
}

// The machine goes back to another template while an update goes on: that must not take it again.
func TestAnUndoLeavesTheUpdate(t *testing.T) {
	t.Parallel()
	update := belief.Update{Edition: 4, Order: "o7"}
	for name, c := range map[string]struct {
		stood uint64
		u     belief.Update
		want  *belief.Change
	}{
		"it is of the old template":      {3, update, &belief.Change{Order: "o7", Ended: fleet.ReasonUndone}},
		"it is of the one that is tried": {4, update, nil},
		"the update was stopped already": {3, belief.Update{Edition: 4, Order: "o7", Stopped: fleet.ReasonPilotFailed},
			nil},
	} {
		st := calling[fleet.OpRestore](t)
		st.m.Repair.Back.Edition = c.stood
		st.s.Whole.Ledger = &belief.Ledger{Edition: 3, Update: &c.u}
		st.ends(fleet.OutcomeDone)
		st.round()
		if got := st.m.Change; (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// An undo takes one back and puts one aside: as many may be kept as the policy says, and none is too many.
func TestAnUndoKeepsAsManyAsThereWere(t *testing.T) {
	t.Parallel()
	st, _ := undoing(t)
	st.s.Spec.Repair.Steps[0].KeepOld = time.Hour
	st.m.Kept = append(st.m.Kept, belief.KeptInstance{Incarnation: belief.Incarnation{ID: "a"}},
		belief.KeptInstance{Incarnation: belief.Incarnation{ID: "b"}})
	st.seen(aside())
	st.want("it is as it was left", st.round(), "ASK new; act")
	st.seen(marked("new", "h2", fleet.PowerOff, 2))
	st.want("the new one is off", st.round(), "proven confirmed-off; CALL keep new; act")
}
