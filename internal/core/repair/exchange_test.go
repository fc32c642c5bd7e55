package repair_test

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// L1: an instance that was told to power off and runs on may have been mended by a person: each further call needs a
// look of its own. After three there is no proof, and nothing takes its place.
func TestL1WithoutProofNothingTakesItsPlace(t *testing.T) {
	t.Parallel()
	for _, step := range []fleet.StepKind{fleet.StepRecreate, fleet.StepRebuild} {
		st := looked(t, step, belief.CauseChecks)
		for n := 1; n <= 3; n++ {
			st.answer(fleet.PowerRunning, fleet.StandingDown)
			st.want("it fails", st.round(), "look confirmed; CALL power-off old; act")
			st.ends(fleet.OutcomeDone)
			st.want("it is said to be off", st.round(), "ASK old; act")
			st.seen(marked("old", "h1", fleet.PowerRunning, 1))
			if n < 3 {
				st.want("it runs on", st.round(), "LOOK; look")
			}
		}
		st.want("three times", st.round(), toPerson("no-proof"))
		if st.m.Current.ID != "old" {
			t.Errorf("it is not the machine's any more: %+v", st.m.Current)
		}
	}
}

// L3: a person mended it between two orders, as the look in between shows.
func TestL3ALookBetweenTwoOrdersOff(t *testing.T) {
	t.Parallel()
	st := looked(t, fleet.StepRecreate, belief.CauseChecks)
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.round()
	st.ends(fleet.OutcomeFailed)
	st.want("it could not be told to power off", st.round(), "ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerRunning, 1))
	st.want("it runs", st.round(), "LOOK; look")
	st.answer(fleet.PowerRunning, fleet.StandingUp)
	st.want("it answers", st.round(), "look refuted; repair-ended refuted; over, again in 5s")
}

// A machine of a domain that fails as a whole is not left to a person one by one: they were told of the domain.
func TestNoProofUnderAParentIsAnAttempt(t *testing.T) {
	t.Parallel()
	st := looked(t, fleet.StepRecreate, belief.CauseGone)
	st.s.Whole.Parents = []belief.Parent{{ID: "web/i1", Domain: fleet.Domain{Kind: fleet.DomainRack, Name: "r9"}}}
	st.m.Incident.Parent = "web/i1"
	r := st.m.Repair
	r.Phase, r.Confirmed, r.OffCalls, r.ClearedCalls = belief.PhaseAct, true, 3, 3
	st.seen(marked("old", "h1", fleet.PowerRunning, 1))
	st.want("it runs on", st.round(), "repair-ended still-running; held backoff; over, again in 5s")
}

// L1: the policy demands more than that the old instance is off. The provider has to say that it is gone, once it was
// deleted.
func TestL1APolicyThatDemandsMore(t *testing.T) {
	t.Parallel()
	for power, want := range map[fleet.Power]string{
		fleet.PowerGone:    "proven confirmed-deleted; CALL create new; act",
		fleet.PowerOff:     toPerson("no-proof"),
		fleet.PowerRunning: toPerson("no-proof"),
	} {
		st := provenOff(inAct(t, fleet.OpDelete, fleet.StepRecreate, belief.CauseChecks))
		st.s.Spec.Repair.Fence.Proof = fleet.ProofDeleted
		st.ends(fleet.OutcomeDone)
		st.want("it is deleted, as was said", st.round(), "ASK old; act")
		st.seen(marked("old", "h1", power, 1))
		st.want("it is "+string(power), st.round(), want)
	}
}

// The old instance is off and will not go. Only the policy lets its successor stand beside it, and only with the proof
// and without disks that both would have.
func TestWhatWillNotGo(t *testing.T) {
	t.Parallel()
	const beside = "step-failed delete-failed; CALL create new; act"
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"the policy goes on": {func(*stage) {}, beside},
		"the policy stops": {func(st *stage) {
			st.s.Spec.Repair.Steps[0].OnDeleteFailure = policy.DeleteFailureStop
		}, toPerson("delete-failed")},
		"it has disks that are to be kept": {func(st *stage) { st.m.Volumes = &belief.Volumes{Host: "h1"} },
			toPerson("delete-failed")},
		"the policy demands more proof": {func(st *stage) { st.s.Spec.Repair.Fence.Proof = fleet.ProofDeleted },
			toPerson("delete-failed")},
		"it is gone: there were only its files": {func(st *stage) {
			st.m.Repair.Proof, st.s.Spec.Repair.Steps[0].OnDeleteFailure = fleet.ProofDeleted, policy.DeleteFailureStop
		}, "paged rest-stays; CALL create new; act"},
	} {
		st := provenOff(inAct(t, fleet.OpDelete, fleet.StepRecreate, belief.CauseChecks))
		st.s.Spec.Repair.Steps[0].OnDeleteFailure = policy.DeleteFailureContinue
		c.set(st)
		st.ends(fleet.OutcomeFailed)
		st.want(name, st.round(), c.want)
	}
}

// L1: a delete that the provider's truth stands against ten times is given up. The instance may run again, or be
// another's, so that nothing is built beside it, whatever the policy says of a delete that fails. A person was told by
// then.
func TestL1ConflictsComeToAnEnd(t *testing.T) {
	t.Parallel()
	st := provenOff(inAct(t, fleet.OpDelete, fleet.StepRecreate, belief.CauseChecks))
	st.s.Spec.Repair.Steps[0].OnDeleteFailure = policy.DeleteFailureContinue
	for n := 1; n < 10; n++ {
		st.ends(fleet.OutcomeConflict)
		st.round()
		st.due()
		st.want("again", st.round(), "LOOK; look")
		st.answer(fleet.PowerOff, fleet.StandingDown)
		st.want("it is off", st.round(), "look confirmed; proven confirmed-off; CALL delete old; act")
	}
	st.ends(fleet.OutcomeConflict)
	st.want("ten times", st.round(), "paged call-failed; repair-ended delete-failed; quarantined delete-failed; over")
}

// What was put aside is in use: it is not touched, whatever it was removed for.
func TestWhatIsInUseIsNotTurnedOff(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*stage){
		"it is kept": func(st *stage) {
			st.m.Kept = []belief.KeptInstance{{Incarnation: belief.Incarnation{ID: "left", Host: "h2"}}}
		},
		"it was left behind": func(st *stage) {
			st.m.Leave(belief.Incarnation{ID: "left", Host: "h2"}, fleet.ProofHostOff, st.s.Now)
		},
	} {
		st, _ := remnant(t)
		set(st)
		st.m.Repair.Phase, st.m.Repair.Confirmed = belief.PhaseAct, true
		st.seen(marked("left", "h2", fleet.PowerRunning, 2))
		st.round()
		if st.m.Repair != nil || len(st.actions) != 0 {
			t.Errorf("%s, and runs: %s", name, st.outline())
		}
	}
}

// L1: what was removed is shown once more to be off before anything is built, after a restart or a lost call. What
// runs by then is the machine's again; what was kept has no name and no disks, and is a person's.
func TestL1WhatWasRemovedIsShownOnceMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kept, left bool
		power      fleet.Power
		want       string
	}{
		"gone":                     {false, false, fleet.PowerGone, "proven confirmed-deleted; CALL create new; act"},
		"kept, and it runs":        {true, false, fleet.PowerRunning, toPerson("no-proof")},
		"kept, and it is off":      {true, false, fleet.PowerOff, "proven confirmed-off; CALL create new; act"},
		"left, and its host is up": {false, true, fleet.PowerRunning, "repair-ended refuted; over"},
		"left, and it is gone":     {false, true, fleet.PowerGone, "proven confirmed-deleted; CALL create new; act"},
		"it runs":                  {false, false, fleet.PowerRunning, "repair-ended refuted; over"},
	} {
		st := calling[fleet.OpCreate](t)
		r := st.m.Repair
		r.Intent, r.Next, r.Proof = nil, belief.Incarnation{}, ""
		if c.kept {
			st.m.Kept = []belief.KeptInstance{belief.KeepFor(r.Target, time.Hour, st.s.Now)}
		}
		if c.left {
			st.m.Leave(r.Target, fleet.ProofHostOff, st.s.Now)
		}
		epoch := st.m.Epoch
		st.seen(marked("old", "h1", c.power, 1))
		st.want(name, st.round(), c.want)
		if back := c.want == "repair-ended refuted; over"; back != (st.m.Current.ID == "old") || back &&
			st.m.Epoch == epoch {
			t.Errorf("%s: the machine has %+v", name, st.m.Current)
		}
		if len(st.m.Left) != 0 {
			t.Errorf("%s: it is still left behind: %+v", name, st.m.Left)
		}
	}
}

// L1: a host that alone knows what is on it does not answer, and may have the machine's instance, or one of its name.
// Nothing is built before it was asked.
func TestL1ASilentHostIsAskedBeforeABuild(t *testing.T) {
	t.Parallel()
	for off, want := range map[bool]string{false: "held host-unasked; act", true: "CALL create new; act"} {
		st := building(t, host("h2", ""))
		st.s.Silent = []fleet.Silence{{Host: "h9", Off: off}}
		st.m.Repair.Target = belief.Incarnation{ID: "old", Host: "h1", Certified: true}
		st.m.Repair.Stranded = true
		st.s.Hosts = append(st.s.Hosts, fleet.Host{Name: "h1"})
		st.want("it is proven off", st.round(), want)
	}
}

// building is the stage of a build whose host is to be chosen: its old instance was on h1, and is gone.
func building(t *testing.T, hosts ...fleet.Host) *stage {
	t.Helper()
	st := calling[fleet.OpCreate](t)
	st.m.Repair.Intent, st.m.Repair.Next, st.m.Generation = nil, belief.Incarnation{}, 1
	st.m.Repair.Proof = fleet.ProofDeleted
	st.s.Hosts = hosts
	return st
}

// builds returns where the round builds, or why it does not.
func (st *stage) builds(load map[fleet.HostName]int) string {
	st.Helper()
	st.play(func(w *work) {
		w.Load = func() map[fleet.HostName]int { return load }
		w.Advance()
	})
	if r := st.m.Repair; r != nil && !r.Next.None() {
		return string(r.Next.Host)
	}
	return "held " + string(st.m.Waiting)
}

// host is one that answers, in a rack.
func host(name fleet.HostName, rack string) fleet.Host {
	return fleet.Host{Name: name, Up: true, Place: fleet.Place{Rack: rack}}
}

// Those that are built in one round see each other.
func TestBuildsOfOneRoundAreSpread(t *testing.T) {
	t.Parallel()
	load := map[fleet.HostName]int{"h1": 1}
	st := building(t, host("h1", ""), host("h2", ""), host("h3", ""))
	first := st.builds(load)
	st = building(t, host("h1", ""), host("h2", ""), host("h3", ""))
	if second := st.builds(load); first == second || first == "h1" || second == "h1" {
		t.Errorf("two are built on %s and %s", first, second)
	}
}

// While a build waits for a place, what a person orders meanwhile counts for it, since nothing is under way; and a
// first build stops where another installation shows itself.
func TestABuildThatWaitsIsHeldAnew(t *testing.T) {
	t.Parallel()
	waiting := []fleet.Reason{fleet.ReasonNoHost, fleet.ReasonNoPlace, fleet.ReasonDiskElsewhere,
		fleet.ReasonHostUnasked, fleet.ReasonHold, fleet.ReasonBrake}
	for _, why := range waiting {
		for name, c := range map[string]struct {
			set  func(*stage)
			want string
		}{
			"a person holds it": {func(st *stage) { st.s.Whole.Holds = []belief.Hold{{Machine: "web-1"}} },
				"held hold"},
			"the brake is on": {func(st *stage) { st.s.Brake.Engaged = true }, "held brake"},
			"the brake is on, and it is a first build": {func(st *stage) {
				st.s.Brake.Engaged, st.m.Repair.Kind = true, belief.RepairBuild
			}, "h2"},
			"a person's brake, and it is a first build": {func(st *stage) {
				st.s.Brake.By, st.m.Repair.Kind = "ann", belief.RepairBuild
			}, "held brake"},
			"nothing": {func(*stage) {}, "h2"},
		} {
			st := building(t, host("h2", ""))
			st.m.Waiting = why
			c.set(st)
			if got := st.builds(map[fleet.HostName]int{}); got != c.want {
				t.Errorf("it waits for %s, and %s: %s, want %s", why, name, got, c.want)
			}
		}
	}
	st := building(t, host("h2", ""))
	st.s.Brake.Engaged = true
	if got := st.builds(map[fleet.HostName]int{}); got != "h2" {
		t.Errorf("what is under way is held: %s", got)
	}
	st = building(t, host("h2", ""))
	st.s.Whole.Foreign, st.m.Repair.Kind = []belief.Foreign{{Installation: "theirs"}}, belief.RepairBuild
	if got := st.builds(map[fleet.HostName]int{}); got != "held another-installation" {
		t.Errorf("another hale has one of its machines: %s", got)
	}
}

// L8: a build without a place waits ever longer, and a person is told of why.
func TestABuildWithoutAPlaceIsTold(t *testing.T) {
	t.Parallel()
	st := building(t)
	for n := 1; n < 10; n++ {
		st.round()
		st.due()
	}
	st.want("ten times", st.round(), "paged no-host; act in 30s")
	st.due()
	st.want("and on", st.round(), "act in 30s")
}

// A machine that is to go, by its name, is not built again, whatever began.
func TestAMachineThatIsToGoIsNotBuilt(t *testing.T) {
	t.Parallel()
	for named, want := range map[bool]string{true: "repair-ended overruled; over", false: "CALL create new; act"} {
		st := building(t, host("h2", ""))
		st.s.Whole.Ledger = &belief.Ledger{Removals: []belief.Removal{{Machine: "web-1", Order: "o1", Named: named}}}
		st.want("it is to go", st.round(), want)
	}
}

// Without a place for its successor a lost host is not turned off, either. What is gone, as the provider says, has
// nothing to lose, and what is rebuilt, or removed, needs no place.
func TestWhatNeedsNoPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step fleet.StepKind
		set  func(*stage)
		want string
	}{
		"its host is lost": {fleet.StepRecreate, func(st *stage) {
			st.m.Repair.LookAgain()
			st.m.Repair.Stranded = true
			st.s.Hosts[0] = fleet.Host{Name: "h1", Fence: fleet.Means{Tries: 1, Limit: time.Second}}
		}, "held no-host; look"},
		"it is gone":    {fleet.StepRecreate, func(st *stage) { st.fails(belief.CauseGone) }, "CALL delete old; act"},
		"it is rebuilt": {fleet.StepRebuild, func(*stage) {}, "CALL rebuild old; act"},
	} {
		st := newStage(t, steps[c.step])
		r := st.healing(c.step)
		r.Proof, st.m.Repair = fleet.ProofConfirmedOff, &r
		st.s.Hosts[0].Disabled, st.s.Hosts[1].Up = true, false
		c.set(st)
		st.want(name, st.round(), c.want)
	}
	st, _ := removing(t)
	st.m.Repair.Proof, st.s.Hosts = fleet.ProofConfirmedOff, nil
	st.want("it is removed", st.round(), "CALL delete old; act")
}

// L8: the old instance is gone, and what it left at the provider cannot be removed, be it in a repair or for a person
// who wants another template. Ten tries are enough, or a word that forbids it: the successor is built without, and a
// person is told once of what stays.
func TestL8WhatStaysOfTheOldOneKeepsNoSuccessorAway(t *testing.T) {
	t.Parallel()
	gone := marked("old", "h1", fleet.PowerGone, 1)
	for name, begin := range map[string]func() *stage{
		"a repair": func() *stage {
			st := looked(t, fleet.StepRecreate, belief.CauseGone)
			st.answer(fleet.PowerGone, fleet.StandingDown)
			return st
		},
		"an update": func() *stage {
			st, _ := updating(t, 0)
			st.seen(gone)
			return st
		},
	} {
		for kind, least := range map[fleet.OutcomeKind]int{fleet.OutcomeRetry: 5, fleet.OutcomeConflict: 5,
			fleet.OutcomeRefused: 1, fleet.OutcomeFailed: 1, fleet.OutcomeUnsupported: 1} { // questions are tries, too
			st := begin()
			said, tries := st.round(), 0
			for ; strings.HasSuffix(said, "CALL delete old; act"); said = st.round() {
				tries++
				st.ends(kind)
				if said = st.round(); strings.HasPrefix(said, "paged") {
					break
				}
				st.due()
				if st.round(); st.m.Repair.Phase == belief.PhaseLook {
					st.answer(fleet.PowerGone, fleet.StandingDown)
				} else {
					st.seen(gone)
				}
			}
			st.want(name+", "+string(kind), said, "paged rest-stays; CALL create new; act")
			if rec := st.record(record.Paged); rec.Instance != "old" || rec.Detail != "so it was said" {
				t.Errorf("%s, %s: a person is told %+v", name, kind, rec)
			}
			if n := st.m.Repair.Retries; n != 0 {
				t.Errorf("%s, %s: the successor has had %d tries", name, kind, n)
			}
			if tries < least || tries > max(10, least) || least == 1 && tries > 1 {
				t.Errorf("%s, %s: %d tries", name, kind, tries)
			}
		}
	}
}

// What an unfinished build left has no successor: it is tried on.
func TestTheRestOfARemnantIsTriedOn(t *testing.T) {
	t.Parallel()
	st := inAct(t, fleet.OpDelete, fleet.StepRecreate, belief.CauseChecks)
	r := st.m.Repair
	r.Kind, r.Proof, r.Retries = belief.RepairRemnant, fleet.ProofDeleted, 20
	st.ends(fleet.OutcomeRetry)
	if said := st.round(); strings.Contains(said, "rest-stays") || st.m.Repair.Removed {
		t.Errorf("%s: %+v", said, st.m.Repair)
	}
}
