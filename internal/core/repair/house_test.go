package repair_test

import (
	"net/netip"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// L12: an order that was believed lost had built the instance after all. It is taken, and none is built, if it is
// surely that: it runs, as it was asked since, it bears the mark of an unfinished build, and it was not given up.
func TestL12WhatALostOrderBuiltIsTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*stage, *fleet.Sighting)
		found bool
	}{
		"it is": {func(*stage, *fleet.Sighting) {}, true},
		"it does not run": {func(_ *stage, s *fleet.Sighting) { s.Instance.Power = fleet.PowerOff },
			false},
		"it is seen as it was before": {func(st *stage, s *fleet.Sighting) { s.Asked = st.m.Acted }, false},
		"it was certified":            {func(_ *stage, s *fleet.Sighting) { s.Instance.Mark.Certified = true }, false},
		"it was put aside":            {func(_ *stage, s *fleet.Sighting) { s.Instance.Mark.Kept = true }, false},
		"another hale built it": {func(_ *stage,
			s *fleet.Sighting) {
			s.Instance.Mark.Installation = "theirs"
		}, false},
		"it is of another machine": {func(_ *stage, s *fleet.Sighting) { s.Instance.Mark.Machine = "web-2" },
			false},
		"it was never allotted":        {func(_ *stage, s *fleet.Sighting) { s.Instance.Mark.Generation = 3 }, false},
		"it is what a repair replaces": {func(st *stage, _ *fleet.Sighting) { st.m.Repair.Target.ID = "late" }, false},
		"it was left on a host that was lost": {func(st *stage, _ *fleet.Sighting) {
			st.m.Leave(belief.Incarnation{ID: "late", Host: "h2"}, fleet.ProofHostOff, st.s.Now)
		}, false},
		"it would not go when it was to": {func(st *stage, _ *fleet.Sighting) {
			st.m.Strays = []belief.Stray{{ID: "late", RetryAt: hour + 1}}
		}, false},
		"it is a stray that was not tried": {func(st *stage, _ *fleet.Sighting) {
			st.m.Strays = []belief.Stray{{ID: "late"}}
		}, true},
		"the machine has one": {func(st *stage, _ *fleet.Sighting) {
			st.m.Current = belief.Incarnation{ID: "old", Certified: true}
		}, false},
	} {
		st := calling[fleet.OpCreate](t)
		st.m.Repair.Intent, st.m.Repair.Next = nil, belief.Incarnation{}
		st.seen(marked("late", "h2", fleet.PowerRunning, 2))
		c.spoil(st, &st.view.Seen[0])
		if got, found := chart.Found(&st.m, &st.view, "ours"); found != c.found || found && got.ID != "late" {
			t.Errorf("%s: %t, %s", name, found, got.ID)
		}
	}
}

// What is found is verified like any build, at the address that the provider names, and is no stray any more. Listings
// may show what hale removed since (L12): it is asked for by itself.
func TestWhatWasFoundIsVerified(t *testing.T) {
	t.Parallel()
	st := calling[fleet.OpCreate](t)
	st.m.Repair.Intent, st.m.Repair.Next = nil, belief.Incarnation{}
	st.s.Whole.Ledger = &belief.Ledger{Edition: 3}
	st.m.Strays = []belief.Stray{{ID: "late", Host: "h2"}, {ID: "other", Host: "h1"}}
	i := marked("late", "h2", fleet.PowerRunning, 2)
	i.Address = netip.MustParseAddr("10.0.0.5")
	st.seen(i)
	epoch := st.m.Epoch
	st.want("it is listed", st.round(), "ASK late; act")
	st.view.Seen[0].Alone = true
	st.want("it is there", st.round(), "remnant found; verify")
	want := belief.Incarnation{ID: "late", Generation: 2, Host: "h2", Edition: 3}
	if st.m.Current != want || st.m.Address != i.Address || st.m.Epoch == epoch {
		t.Errorf("the machine has %+v at %s", st.m.Current, st.m.Address)
	}
	if len(st.m.Strays) != 1 || st.m.Strays[0].ID != "other" {
		t.Errorf("strays are %+v", st.m.Strays)
	}
}

// L1: what bears the machine's mark and should not be there is a stray, until it is what the machine has, or what its
// repair is about. What was put aside is one only while it may run.
func TestL1WhatAStrayIs(t *testing.T) {
	t.Parallel()
	m := &belief.Machine{Name: "web-1", Current: belief.Incarnation{ID: "current"},
		Kept: []belief.KeptInstance{{Incarnation: belief.Incarnation{ID: "kept"}}}}
	building := *m
	building.Repair = &belief.Repair{Kind: belief.RepairHeal, Climb: belief.Climb{Next: belief.Incarnation{ID: "next"},
		Aim: belief.Aim{Target: belief.Incarnation{ID: "target"}}}}
	clearing := building
	clearing.Repair = &belief.Repair{Kind: belief.RepairRemnant, Climb: building.Repair.Climb}
	for name, c := range map[string]struct {
		m     *belief.Machine
		id    fleet.InstanceID
		spoil func(*fleet.Instance)
		want  bool
	}{
		"any":                   {m, "any", func(*fleet.Instance) {}, true},
		"any that is off":       {m, "any", func(i *fleet.Instance) { i.Power = fleet.PowerOff }, true},
		"one that is gone":      {m, "any", func(i *fleet.Instance) { i.Power = fleet.PowerGone }, false},
		"the machine's":         {m, "current", func(*fleet.Instance) {}, false},
		"another machine's":     {m, "any", func(i *fleet.Instance) { i.Mark.Machine = "web-2" }, false},
		"another hale's":        {m, "any", func(i *fleet.Instance) { i.Mark.Installation = "theirs" }, false},
		"what is built":         {&building, "next", func(*fleet.Instance) {}, false},
		"what is replaced":      {&building, "target", func(*fleet.Instance) {}, false},
		"what lies beside both": {&building, "any", func(*fleet.Instance) {}, true},
		"what is cleared away":  {&clearing, "target", func(*fleet.Instance) {}, true},
		"kept, and off": {m, "kept", func(i *fleet.Instance) {
			i.Mark.Kept, i.Power = true,
				fleet.PowerOff
		}, false},
		"kept, and it runs": {m, "kept", func(i *fleet.Instance) { i.Mark.Kept = true }, true},
		"kept, and it is paused": {m, "kept", func(i *fleet.Instance) {
			i.Mark.Kept, i.Power = true,
				fleet.PowerPaused
		}, true},
		"kept, and its mark is old": {m, "kept", func(*fleet.Instance) {}, false},
	} {
		i := marked(c.id, "h1", fleet.PowerRunning, 1)
		c.spoil(&i)
		if got := chart.IsStray(c.m, &i, "ours"); got != c.want {
			t.Errorf("%s is a stray: %t, want %t", name, got, c.want)
		}
	}
}

// L2: what was certified is removed only if it was left behind when its host was lost, and does not serve: it is off,
// or could not write all the time.
func TestL2WhatWasLeftBehindMayGo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		left  bool
		proof fleet.Proof
		open  bool
		power fleet.Power
		host  fleet.HostName
		want  bool
	}{
		"it was not left":                       {false, "", false, fleet.PowerOff, "h1", false},
		"its host was off, and it is off":       {true, fleet.ProofHostOff, false, fleet.PowerOff, "h1", true},
		"its host was off, and it runs":         {true, fleet.ProofHostOff, false, fleet.PowerRunning, "h1", false},
		"it is cut, and runs":                   {true, fleet.ProofAccessCut, false, fleet.PowerRunning, "h1", true},
		"it is cut no more, and runs":           {true, fleet.ProofAccessCut, true, fleet.PowerRunning, "h1", false},
		"it was cut, and runs on another host":  {true, fleet.ProofAccessCut, false, fleet.PowerRunning, "h2", false},
		"it was cut, and is off on another one": {true, fleet.ProofAccessCut, false, fleet.PowerOff, "h2", true},
	} {
		m := belief.Machine{Name: "web-1", Generation: 2, Current: belief.Incarnation{ID: "new", Generation: 2}}
		if c.left {
			m.Leave(belief.Incarnation{ID: "old", Host: "h1"}, c.proof, fleet.Now{})
			m.Left[0].Open = c.open
		}
		i := marked("old", c.host, c.power, 1)
		i.Mark.Certified = true
		if got := chart.IsRemnant(m, i, "ours"); got != c.want {
			t.Errorf("%s: it may go: %t, want %t", name, got, c.want)
		}
	}
}

// served is an instance that the world shows, and the store does not know.
func served() fleet.Instance {
	i := marked("served", "h2", fleet.PowerRunning, 1)
	i.Mark.Certified, i.Address, i.Network, i.Storage = true, netip.MustParseAddr("10.0.0.5"), "lan", "nas"
	return i
}

// A store that lost its last writes is told by the world what the machine has. Nothing is known of it, and it is
// nothing else any more.
func TestTheWorldShowsWhatAMachineHas(t *testing.T) {
	t.Parallel()
	st, i := newStage(t, steps[fleet.StepRecreate]), served()
	st.m.Incident, st.m.Health.Grace = nil, hour
	st.m.Strays = []belief.Stray{{ID: "served"}}
	st.m.Kept = []belief.KeptInstance{{Incarnation: belief.Incarnation{ID: "served"}}}
	st.m.Leave(belief.Incarnation{ID: "served"}, fleet.ProofHostOff, st.s.Now)
	st.s.Whole.Ledger = &belief.Ledger{Edition: 3}
	st.s.Spec.Template.Disks = []policy.Disk{{Name: "data", Size: 1}}
	epoch := st.m.Epoch
	st.play(func(w *work) { w.House(i) })
	want := belief.Incarnation{ID: "served", Generation: 1, Host: "h2", Network: "lan", Storage: "nas", Certified: true,
		Edition: 3}
	if st.m.Current != want || st.m.Address != i.Address || st.m.Epoch == epoch || st.m.Acted != st.s.Now.Mono {
		t.Errorf("the machine has %+v", st.m)
	}
	if h := st.m.Health; h.Verdict != belief.VerdictUnknown || h.Cause != "" || h.Grace != 0 || h.SinceMono == 0 {
		t.Errorf("it is judged by what was: %+v", h)
	}
	if len(st.m.Strays)+len(st.m.Kept)+len(st.m.Left) != 0 {
		t.Errorf("it is something else, too: %+v", st.m)
	}
	if v := st.m.Volumes; v == nil || v.Host != "h2" || len(v.Made) != 1 || v.Made[0] != "data" {
		t.Errorf("its disks lie at %+v", v)
	}
}

// The world shows what was put aside, too, and that the machine does not have any more what the store says.
func TestTheWorldShowsWhatAMachineHasNot(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepRecreate])
	st.s.Spec.Repair.Steps[0].KeepOld = time.Hour
	epoch := st.m.Epoch
	st.play(func(w *work) { w.Shelve(served()) })
	if st.m.Current.ID != "old" || st.m.Epoch != epoch || len(st.m.Kept) != 1 || st.m.Kept[0].ID != "served" {
		t.Errorf("what was put aside is %+v", st.m.Kept)
	}
	st.play(func(w *work) { w.Shelve(marked("old", "h1", fleet.PowerOff, 1)) })
	if k := st.m.Kept; !st.m.Current.None() || st.m.Epoch == epoch || len(k) != 2 || k[1].ID != "old" ||
		!k[1].Over(in(st.s.Now, time.Hour)) || k[1].Over(in(st.s.Now, time.Hour-1)) {
		t.Errorf("it was put aside by the other hale, and is kept as %+v; the machine has %+v", k, st.m.Current)
	}
	st.m.Current, epoch = belief.Incarnation{ID: "another"}, st.m.Epoch
	st.play(func(w *work) { w.Vacate() })
	if !st.m.Current.None() || st.m.Epoch == epoch {
		t.Errorf("it has none, and is judged by that: %+v", st.m)
	}
}

// remnant is a machine beside which an unfinished build lies.
func remnant(t *testing.T) (st *stage, begins string) {
	t.Helper()
	st = newStage(t, steps[fleet.StepRecreate])
	st.m.Incident, st.m.Health, st.m.Attempts = nil, belief.Health{Verdict: belief.VerdictHealthy}, nil
	st.m.Strays, st.m.Generation = []belief.Stray{{ID: "left", Host: "h2"}}, 3
	st.seen(marked("left", "h2", fleet.PowerRunning, 2))
	begins = st.play(func(w *work) { w.Begin(belief.RepairRemnant) })
	return st, begins
}

// L2: a remnant is removed after a look that finds it to be one: off, seen off, deleted. It counts for no attempt.
func TestL2ARemnantIsRemoved(t *testing.T) {
	t.Parallel()
	st, begins := remnant(t)
	st.want("it begins", begins, "repair-started remnant; LOOK; look")
	if a := st.action(); a.Instance != "left" || a.Mark.Generation != 2 || a.Mark.Certified {
		t.Errorf("another is looked at: %+v", a)
	}
	st.show(marked("left", "h2", fleet.PowerRunning, 2), fleet.StandingUnknown)
	st.want("it is one", st.round(), "look confirmed; CALL power-off left; act")
	st.ends(fleet.OutcomeDone)
	st.want("it is told to power off", st.round(), "ASK left; act")
	st.seen(marked("left", "h2", fleet.PowerOff, 2))
	st.want("it is off", st.round(), "proven confirmed-off; CALL delete left; act")
	st.ends(fleet.OutcomeDone)
	st.want("it is gone", st.round(), "repair-ended removed; over")
	if len(st.m.Strays) != 0 || len(st.m.Attempts) != 0 || st.m.Current.ID != "old" {
		t.Errorf("the machine itself is touched: %+v", st.m)
	}
	if st.m.Cleared != st.s.Now.Mono {
		t.Errorf("a listing that is on its way shows it, and it was removed at %v: %v", st.s.Now.Mono, st.m.Cleared)
	}
}

// L2: what turns out to be no remnant is left, and forgotten: it is noticed again.
func TestL2WhatIsNoRemnantIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*fleet.Instance)
		want  string
	}{
		"it was certified meanwhile": {func(i *fleet.Instance) { i.Mark.Certified = true },
			"look refuted; repair-ended vanished; over"},
		"it is another's": {func(i *fleet.Instance) { i.Mark.Machine = "web-2" },
			"look refuted; repair-ended vanished; over"},
		"it is gone": {func(i *fleet.Instance) { i.Power = fleet.PowerGone },
			"look refuted; repair-ended vanished; over"},
		"nothing is said of it": {func(i *fleet.Instance) { i.Power = "" },
			"look look-unclear; held look-unclear; look in 500ms"},
	} {
		st, _ := remnant(t)
		i := marked("left", "h2", fleet.PowerRunning, 2)
		c.spoil(&i)
		st.show(i, fleet.StandingUnknown)
		st.want(name, st.round(), c.want)
	}
}

// L8: a remnant that will not go is put aside for long, and a person is told of it once. The machine does not suffer.
func TestL8ARemnantThatWillNotGo(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"repair-ended delete-failed; paged delete-failed; over",
		"repair-ended delete-failed; over"} {
		st, _ := remnant(t)
		st.m.Strays = append([]belief.Stray{{ID: "other"}}, st.m.Strays...)
		st.m.Strays[1].Paged = n > 0
		st.m.Repair.Phase, st.m.Repair.Confirmed, st.m.Repair.Proof = belief.PhaseAct, true, fleet.ProofConfirmedOff
		st.round()
		st.ends(fleet.OutcomeFailed)
		st.want("it stays", st.round(), want)
		if s := st.m.Strays[1]; !s.Paged || s.RetryAt != st.s.Now.Mono.Add(30*time.Minute) || st.m.Strays[0].Paged {
			t.Errorf("strays are %+v", st.m.Strays)
		}
		if st.m.Incident != nil || st.m.Quarantine != nil {
			t.Errorf("the machine fails for it: %+v", st.m)
		}
	}
}

// L1: a remnant that runs on whatever is ordered is left as it is: nothing shows that it may go.
func TestL1ARemnantThatRunsOn(t *testing.T) {
	t.Parallel()
	st, _ := remnant(t)
	for n := range 3 {
		st.show(marked("left", "h2", fleet.PowerRunning, 2), fleet.StandingUnknown)
		st.want("it runs", st.round(), "look confirmed; CALL power-off left; act")
		st.ends(fleet.OutcomeDone)
		st.want("told to power off", st.round(), "ASK left; act")
		st.seen(marked("left", "h2", fleet.PowerRunning, 2))
		if n < 2 {
			st.want("it runs on", st.round(), "LOOK; look")
		}
	}
	st.want("three times in vain", st.round(), "repair-ended still-running; paged still-running; over")
}

// More urgent work, and a person's order, take the place of a removal; the remnant is found again.
func TestARemovalMakesRoom(t *testing.T) {
	t.Parallel()
	st, _ := remnant(t)
	st.want("put off", st.play((*work).Abandon), "repair-ended put-off; over")
	st, _ = remnant(t)
	st.want("overruled", st.play((*work).Overrule), "repair-ended overruled; over")
	if len(st.m.Strays) != 1 {
		t.Error("it is forgotten")
	}
}

// What is removed when its host is back was left behind there: that is what is said.
func TestWhatWasLeftBehindGoesWhenItsHostIsBack(t *testing.T) {
	t.Parallel()
	st, _ := remnant(t)
	st.m.Repair = nil
	st.m.Leave(belief.Incarnation{ID: "left", Host: "h2", Generation: 2}, fleet.ProofHostOff, st.s.Now)
	st.want("its host is back", st.play(func(w *work) { w.Begin(belief.RepairRemnant) }),
		"repair-started host-back; LOOK; look")
	left := marked("left", "h2", fleet.PowerOff, 2)
	left.Mark.Certified = true
	st.show(left, fleet.StandingUnknown)
	st.want("it is off", st.round(), "look confirmed; proven confirmed-off; CALL delete left; act")
	st.ends(fleet.OutcomeDone)
	st.want("it is gone", st.round(), "repair-ended removed; over")
	if len(st.m.Left) != 0 {
		t.Errorf("it is still left: %+v", st.m.Left)
	}
}

// Of a machine that is beyond the fleet's size nothing is repaired; what lies beside its instance is not touched
// either. What a removed one left is hale's to remove.
func TestWhatARemovedMachineLeft(t *testing.T) {
	t.Parallel()
	for removed, want := range map[bool]string{true: "look confirmed; CALL power-off left; act",
		false: "held surplus; look"} {
		st, _ := remnant(t)
		if st.s.Spec.Size = 0; removed {
			st.m.Current = belief.Incarnation{}
		}
		st.show(marked("left", "h2", fleet.PowerRunning, 2), fleet.StandingUnknown)
		st.want("there are fewer to be", st.round(), want)
	}
}

// L1: a machine that is off is not started beside a remnant that runs. That one can be removed all the same.
func TestL1ARemnantDoesNotHoldItsOwnRemoval(t *testing.T) {
	t.Parallel()
	st, _ := remnant(t)
	st.m.Incident, st.m.Health = &belief.Incident{ID: "web-1/1"}, belief.Health{Verdict: belief.VerdictUnhealthy,
		Cause: belief.CauseOff}
	st.show(marked("left", "h2", fleet.PowerRunning, 2), fleet.StandingUnknown)
	if !st.work().StartsBeside() {
		t.Error("the machine may be started beside it")
	}
	st.want("it is one", st.round(), "look confirmed; CALL power-off left; act")
}
