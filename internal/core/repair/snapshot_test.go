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

// L12: a copy that lies at the provider under its name is taken for the one that was asked for. An older store that was
// restored gives a repair's number once more, and must not give the name.
func TestL12TheNameOfACopyDoesNotRepeat(t *testing.T) {
	t.Parallel()
	named := func(set func(*stage)) fleet.SnapshotID {
		st := toCopy(t)
		set(st)
		st.begin()
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.round()
		return st.action().Snapshot.ID
	}
	first := named(func(*stage) {})
	for name, c := range map[string]struct {
		set  func(*stage)
		same bool
	}{
		"the same repair":                   {func(*stage) {}, true},
		"the same number at another time":   {func(st *stage) { st.pass(time.Second) }, false},
		"another repair of the same moment": {func(st *stage) { st.m.Repairs++ }, false},
		"one that an older version had begun": {func(st *stage) { st.m.Snapshots = []belief.DiskSnapshot{{ID: "r2"}} },
			false},
	} {
		if got := named(c.set); (got == first) != c.same || got == "" {
			t.Errorf("%s is named %s, and the first one %s", name, got, first)
		}
	}
	older := func(st *stage) { st.m.Snapshots = []belief.DiskSnapshot{{ID: "r2"}} }
	if got := named(older); got != "r2" {
		t.Errorf("what an older version began goes on as %s", got)
	}
}

// toCopy is the stage of a ladder that copies the disks before it builds the machine anew.
func toCopy(t *testing.T) *stage {
	t.Helper()
	return newStage(t, steps[fleet.StepSnapshot], steps[fleet.StepRecreate])
}

// The disks are copied before they are lost, and the copy is kept for its time.
func TestDisksAreCopiedBeforeTheyAreLost(t *testing.T) {
	t.Parallel()
	st := toCopy(t)
	st.want("it begins", st.begin(), "repair-started heal; then snapshot; LOOK; look")
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("it fails", st.round(), "look confirmed; CALL snapshot old; act")
	d, a := st.m.Snapshots[0], st.action()
	if a.Snapshot != (fleet.SnapshotName{Installation: "ours", Machine: "web-1", Host: "h1", ID: d.ID}) ||
		d.Instance != "old" || d.Incident != "web-1/1" || d.Whole || !a.Intent.Repeatable {
		t.Errorf("it is not written down before it is begun: %+v, and ordered as %+v", d, a)
	}
	if late := time.Minute + policy.BuildCallLimit; !d.Over(in(st.s.Now, late)) || d.Over(in(st.s.Now, late-1)) {
		t.Errorf("one that is given up may go at %v, %v", d.Until, d.Ends)
	}
	st.ends(fleet.OutcomeDone)
	st.view.Outcome.Copy = fleet.Copy{Where: "pool/r2", Bytes: 7}
	st.want("it is whole", st.round(), "snapshot taken; then recreate; LOOK; look")
	d = st.m.Snapshots[0]
	if !d.Whole || d.Where != "pool/r2" || d.Bytes != 7 || !d.At.Equal(st.s.Now.Wall) ||
		!d.Over(in(st.s.Now, 24*time.Hour)) || d.Over(in(st.s.Now, 24*time.Hour-1)) {
		t.Errorf("it is kept as %+v", d)
	}
}

// in is the moment that is the time later.
func in(now fleet.Now, d time.Duration) fleet.Now {
	return fleet.Now{Mono: now.Mono.Add(d), Wall: now.Wall.Add(d)}
}

// Copies take room: of a machine there are no more than the policy says, and the oldest goes first. Those that are not
// whole have a time of their own.
func TestTheOldestCopyMakesRoom(t *testing.T) {
	t.Parallel()
	for keep, want := range map[int][]bool{0: {true, true, false}, 1: {true, true, false}, 2: {true, false, false}} {
		st := calling[fleet.OpSnapshot](t)
		st.s.Spec.Repair.Steps[0].Keep = keep
		later := belief.Leaving{Expiry: belief.ExpiryIn(time.Hour, st.s.Now)}
		st.m.Snapshots = []belief.DiskSnapshot{{ID: "r-2", Whole: true, Leaving: later},
			{ID: "r-1", Whole: true, Leaving: later}, {ID: "r0", Leaving: later}, st.m.Snapshots[0]}
		st.ends(fleet.OutcomeDone)
		st.round()
		for i, at := range []int{0, 1, 3} {
			if got := st.m.Snapshots[at].Over(st.s.Now); got != want[i] {
				t.Errorf("of %d copies that may be, %s is to go: %t", keep, st.m.Snapshots[at].ID, got)
			}
		}
		if st.m.Snapshots[2].Over(st.s.Now) {
			t.Errorf("one that is not whole is to go")
		}
	}
}

// A copy is for a step that loses something, and for what can still be copied.
func TestWhatACopyIsFor(t *testing.T) {
	t.Parallel()
	const copied, skipped = "repair-started heal; then snapshot; LOOK; look", "repair-started heal; step-skipped "
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"the machine is built anew": {func(*stage) {}, copied},
		"it gets a new disk": {func(st *stage) { st.s.Spec.Repair.Steps[1] = steps[fleet.StepRebuild] },
			copied},
		"it is rebooted": {func(st *stage) { st.s.Spec.Repair.Steps[1] = steps[fleet.StepReboot] },
			skipped + "nothing-after; then reboot; LOOK; look"},
		"nothing may take its place": {func(st *stage) {
			st.m.Current.Adopted, st.m.Current.Irreplaceable = true, true
			st.s.Spec.Repair.Steps = append(st.s.Spec.Repair.Steps, steps[fleet.StepPage])
		}, skipped + "nothing-after; step-skipped adopted-kept; then page; LOOK; look"},
		"there is a copy of this incident": {func(st *stage) {
			st.m.Snapshots = []belief.DiskSnapshot{{ID: "r0", Instance: "old", Incident: "web-1/1", Whole: true}}
		}, skipped + "snapshot-there; then recreate; LOOK; look"},
		"there is one of an older incident": {func(st *stage) {
			st.m.Snapshots = []belief.DiskSnapshot{{ID: "r0", Instance: "old", Incident: "web-1/0", Whole: true}}
		}, copied},
		"there is one that is not whole": {func(st *stage) {
			st.m.Snapshots = []belief.DiskSnapshot{{ID: "r0", Instance: "old", Incident: "web-1/1"}}
		}, copied},
		"it is gone": {func(st *stage) { st.fails(belief.CauseGone) },
			skipped + "no-instance; then recreate; LOOK; look"},
	} {
		st := toCopy(t)
		c.set(st)
		st.want(name, st.begin(), c.want)
	}
}

// The provider cannot copy disks. Only where the policy says that the copy is not worth the machine, the ladder goes
// on.
func TestACopyThatTheProviderCannotMake(t *testing.T) {
	t.Parallel()
	for policy, want := range map[policy.OnFailure]string{
		"":                       "repair-started heal; step-skipped unsupported; " + toPerson("snapshot-failed"),
		policy.OnFailureStop:     "repair-started heal; step-skipped unsupported; " + toPerson("snapshot-failed"),
		policy.OnFailureContinue: "repair-started heal; step-skipped unsupported; then recreate; LOOK; look",
	} {
		st := toCopy(t)
		st.s.Spec.Repair.Steps[0].OnFailure, st.s.Cannot = policy, []fleet.Op{fleet.OpSnapshot}
		st.want(string(policy), st.begin(), want)
	}
}

// The same for one that fails when it is made. What only is not known, or not done, is sent again, as the same copy,
// three times at most.
func TestACopyThatFails(t *testing.T) {
	t.Parallel()
	for _, kind := range []fleet.OutcomeKind{fleet.OutcomeFailed, fleet.OutcomeRefused, fleet.OutcomeUnsupported} {
		st := calling[fleet.OpSnapshot](t)
		st.s.Spec.Repair.Steps[0].OnFailure = policy.OnFailureContinue
		st.ends(kind)
		st.round()
		if got := st.outline(); got != next(string(st.record(record.StepFailed).Reason)) {
			t.Errorf("%s: %s", kind, got)
		}
	}
	st := toCopy(t)
	st.begin()
	for try, want := range []string{"look in 500ms", "look in 1s", "step-failed call-failed; repair-ended " +
		"snapshot-failed; quarantined snapshot-failed; paged snapshot-failed; over"} {
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.want("confirmed", st.round(), "look confirmed; CALL snapshot old; act")
		st.ends(fleet.OutcomeUnknown)
		st.want("unknown", st.round(), want)
		if len(st.m.Snapshots) != 1 {
			t.Errorf("try %d is another copy: %+v", try, st.m.Snapshots)
		}
		if try < 2 {
			st.due()
			st.want("again", st.round(), "LOOK; look")
		}
	}
}

// What was kept for its time is removed: an order that can be repeated, whatever became of it.
func TestACopyIsRemovedWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	st := calling[fleet.OpDropSnapshot](t)
	d := st.m.Snapshots[0]
	st.m.Repair, st.m.Waiting = nil, fleet.ReasonBackoff
	d.Until, d.Ends = st.s.Now.Wall, st.s.Now.Mono
	st.m.Snapshots = []belief.DiskSnapshot{{ID: "r0", Leaving: belief.Leaving{Expiry: belief.ExpiryIn(time.Hour,
		st.s.Now)}}, d}
	got, over := guard.Overdue(&st.m, &st.s)
	if !over || got.ID != "r1" {
		t.Fatalf("%s is to go: %t", got.ID, over)
	}
	st.want("it is to go", st.play(func(w *work) { w.BeginDrop(got) }),
		"repair-started tidy; CALL drop-snapshot old; act")
	if a := st.action(); a.Snapshot.ID != "r1" || a.Intent.Snapshot != "r1" {
		t.Errorf("another copy goes: %+v", a)
	}
	st.restarts()
	st.want("hale died", st.round(), "repair-ended put-off; over")
	if _, over := guard.Overdue(&st.m, &st.s); over {
		t.Error("it is tried again at once")
	}
	st.pass(30 * time.Minute)
	if _, over := guard.Overdue(&st.m, &st.s); !over {
		t.Error("it is not tried again half an hour later")
	}
	st.s.Whole.Holds = []belief.Hold{{Host: "h1"}}
	if _, over := guard.Overdue(&st.m, &st.s); over {
		t.Error("a person holds its host, and it goes all the same")
	}
}

// A person is told once of a copy that will not go.
func TestACopyThatStaysIsToldOnce(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"paged snapshot-stays; repair-ended put-off; over", "repair-ended put-off; over"} {
		st := calling[fleet.OpDropSnapshot](t)
		st.m.Snapshots[0].Paged = n > 0
		st.ends(fleet.OutcomeFailed)
		st.want("it stays", st.round(), want)
		if d := st.m.Snapshots[0]; !d.Paged || d.RetryAt != st.s.Now.Mono.Add(30*time.Minute) {
			t.Errorf("it is forgotten, or tried again at once: %+v", d)
		}
	}
}

// L15: a copy that was begun, and one that is whole, is kept for its time, also when the clock on the wall is set.
func TestL15ACopyIsKeptForItsTimeByEachClock(t *testing.T) {
	t.Parallel()
	st := toCopy(t)
	st.begin()
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.round()
	for _, whole := range []bool{false, true} {
		d := st.m.Snapshots[0]
		if later := st.s.Now.Wall.Add(1000 * time.Hour); d.Whole != whole || d.Over(fleet.Now{Mono: st.s.Now.Mono,
			Wall: later}) {
			t.Errorf("whole %t: it may go when the clock was set", d.Whole)
		}
		if later := st.s.Now.Mono.Add(1000 * time.Hour); d.Over(fleet.Now{Mono: later, Wall: st.s.Now.Wall}) {
			t.Errorf("whole %t: it may go when the clock was set back", d.Whole)
		}
		if !whole {
			st.ends(fleet.OutcomeDone)
			st.round()
		}
	}
}
