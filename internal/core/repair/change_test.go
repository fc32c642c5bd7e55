package repair_test

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// removing is a machine that serves, and that a person wants removed.
func removing(t *testing.T) (st *stage, begins string) {
	t.Helper()
	st = newStage(t, steps[fleet.StepRecreate])
	st.m.Incident, st.m.Attempts = nil, nil
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	o := belief.Removal{Machine: "web-1", Order: "o1", By: "ann", Why: fleet.ReasonNamed}
	st.s.Whole.Ledger = &belief.Ledger{Size: 5, Removals: []belief.Removal{o}}
	begins = st.play(func(w *work) { w.BeginChange(belief.RepairRemove, &o) })
	return st, begins
}

// updating is a machine that serves, and that a person wants built from another template.
func updating(t *testing.T, keep time.Duration) (st *stage, begins string) {
	t.Helper()
	step := steps[fleet.StepRecreate]
	step.KeepOld = keep
	st = newStage(t, step)
	st.m.Incident, st.m.Attempts = nil, nil
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	st.s.Whole.Ledger = &belief.Ledger{Size: 5, Edition: 3, Update: &belief.Update{Edition: 4, Order: "o1", By: "ann"}}
	o := belief.Removal{Machine: "web-1", Order: "o1", By: "ann"}
	begins = st.play(func(w *work) { w.BeginChange(belief.RepairUpdate, &o) })
	return st, begins
}

// givenUp is what follows where a wanted change is given up: the machine is healed again as any other.
func givenUp(why string) string {
	return "step-failed " + why + "; repair-ended " + why + "; paged given-up; over"
}

// A person wants the machine gone: no look has to confirm that, and its proof of off is that of a repair. The instance
// goes for good, and the machine with it.
func TestAMachineIsRemoved(t *testing.T) {
	t.Parallel()
	st, begins := removing(t)
	st.want("it is ordered", begins, "repair-started remove; ASK old; act")
	if got := st.record(record.RepairStarted); got.By != "ann" || got.Order != "o1" || got.Step != "" {
		t.Errorf("it is not said who wants it: %+v", got)
	}
	st.seen(marked("old", "h1", fleet.PowerRunning, 1))
	st.want("it runs", st.round(), "CALL power-off old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it was told to power off", st.round(), "ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerOff, 1))
	st.want("it is off", st.round(), "proven confirmed-off; CALL delete old; act")
	if !st.action().ForGood {
		t.Error("what belongs to the machine stays at the provider")
	}
	st.ends(fleet.OutcomeDone)
	st.want("it is deleted", st.round(), "repair-ended removed; over")
	if c := st.m.Change; c == nil || *c != (belief.Change{Order: "o1", Ended: fleet.ReasonRemoved}) ||
		st.m.Health.Cause != belief.CauseMissing || !st.m.Current.None() {
		t.Errorf("it is not gone: %+v", st.m)
	}
}

// Removing a machine that fails ends its incident, and forgets its attempts and its quarantine.
func TestARemovedMachineHasNoIncident(t *testing.T) {
	t.Parallel()
	st, _ := removing(t)
	st.m.Incident, st.m.Attempts = &belief.Incident{ID: "web-1/1", Opened: st.s.Now.Wall}, []fleet.Instant{hour}
	st.m.Repair.Proof = fleet.ProofConfirmedOff
	st.want("it is off", st.round(), "CALL delete old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it is deleted", st.round(), "repair-ended removed; incident-closed removed; over")
	if st.m.Incident != nil || st.m.Attempts != nil {
		t.Errorf("it is still to be healed: %+v", st.m)
	}
}

// A build that is wanted gone by the machine's name goes whatever it is: it is given up, and may be removed.
func TestANamedMachineGoesWithItsBuild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		named, certified, adopted, expired bool
	}{
		"a build, by the machine's name": {named: true, expired: true},
		"a build that was shown":         {},
		"what was certified":             {named: true, certified: true},
		"what was adopted":               {named: true, adopted: true, certified: true},
	} {
		st := newStage(t, steps[fleet.StepRecreate])
		st.m.Current.Certified, st.m.Current.Adopted = c.certified, c.adopted
		st.m.Quarantine = &belief.Quarantine{}
		o := belief.Removal{Machine: "web-1", Order: "o1", Named: c.named}
		st.s.Whole.Ledger = &belief.Ledger{Size: 5, Removals: []belief.Removal{o}}
		st.play(func(w *work) { w.BeginChange(belief.RepairRemove, &o) })
		if st.m.Repair == nil || st.m.Repair.Target.Expired != c.expired || st.m.Quarantine != nil {
			t.Errorf("%s: %+v", name, st.m.Repair)
		}
	}
}

// Another template: the old instance goes as in a repair, the next is built from the one that is tried, and its mark
// ends the change.
func TestAMachineIsUpdated(t *testing.T) {
	t.Parallel()
	st, begins := updating(t, 0)
	st.m.Attempts = []fleet.Instant{hour}
	st.want("it is ordered", begins, "repair-started update; ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerOff, 1))
	st.want("it is off", st.round(), "proven confirmed-off; CALL delete old; act")
	if st.action().ForGood {
		t.Error("the machine is given up with its instance")
	}
	st.ends(fleet.OutcomeDone)
	st.want("it is deleted", st.round(), "CALL create new; act")
	if got := st.action().Intent.Edition; got != 4 {
		t.Errorf("it is built from template %d", got)
	}
	st.ends(fleet.OutcomeDone)
	st.want("it is built", st.round(), "verify")
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	st.want("it is well", st.round(), "verified; CALL certify new; certify")
	st.ends(fleet.OutcomeDone)
	st.want("it is done", st.round(), "certified; repair-ended updated; over")
	if c := st.m.Change; c == nil || c.Ended != fleet.ReasonUpdated || st.m.Attempts != nil {
		t.Errorf("it is not booked: %+v", st.m)
	}
}

// The first machine on another template does not become healthy. It shows what is wrong with the template, so that it
// stays for a person to look at.
func TestAPilotThatFailsIsLeftToAPerson(t *testing.T) {
	t.Parallel()
	st, _ := updating(t, 0)
	r := st.m.Repair
	r.Removed, r.Proof, r.Phase, r.Deadline = true, fleet.ProofConfirmedOff, belief.PhaseVerify, st.s.Now.Mono
	st.m.Current, st.m.Generation = belief.Incarnation{ID: "new", Host: "h2", Generation: 2, Edition: 4}, 2
	st.m.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks}
	st.want("its time is over", st.round(), "step-failed not-verified; repair-ended not-verified; "+
		"quarantined canary-failed; paged canary-failed; over")
	if !st.m.Current.Expired {
		t.Error("nothing may take its place")
	}
}

// The new template cannot even be built. There is nothing sick to look at, so that the machine is healed as any other,
// and a person is told that the update goes no further.
func TestAnUpdateThatBuildsNothing(t *testing.T) {
	t.Parallel()
	st, _ := updating(t, 0)
	st.m.Repair.Proof = fleet.ProofConfirmedOff
	st.round()
	st.ends(fleet.OutcomeDone)
	st.round()
	st.ends(fleet.OutcomeFailed)
	st.want("the build fails", st.round(),
		"repair-ended call-failed; paged update-stopped; held backoff; over, again in 5s")
	if st.m.Incident == nil || st.m.Incident.Cause != belief.CauseBuild {
		t.Errorf("nothing heals it: %+v", st.m.Incident)
	}
}

// The instance that an update replaces is put aside where the policy says so, and only then is it known to be possible.
func TestAnUpdateKeepsTheOldOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*stage)
		want string
	}{
		"as the policy says": {func(*stage) {}, "CALL keep old; act"},
		"the provider cannot": {func(st *stage) { st.s.Cannot = []fleet.Op{fleet.OpKeep} },
			givenUp("unsupported")},
		"it bears no mark": {func(st *stage) { st.m.Repair.Target.Adopted, st.m.Current.Adopted = true, true },
			givenUp("unsupported")},
		"too many are kept": {func(st *stage) {
			st.m.Kept = []belief.KeptInstance{{Incarnation: belief.Incarnation{ID: "a"}},
				{Incarnation: belief.Incarnation{ID: "b"}}, {Incarnation: belief.Incarnation{ID: "c"}}}
		}, givenUp("too-many-kept")},
		"it is gone": {func(st *stage) { st.m.Repair.Proof = fleet.ProofDeleted }, "CALL delete old; act"},
		"it never was whole": {func(st *stage) {
			st.m.Repair.Target.Certified, st.m.Repair.Target.Expired = false, true
			st.m.Current = st.m.Repair.Target
		}, "CALL delete old; act"},
	} {
		st, _ := updating(t, time.Hour)
		st.m.Repair.Proof = fleet.ProofConfirmedOff
		c.set(st)
		st.want(name, st.round(), c.want)
	}
}

// L13: until the old instance is removed, a wanted change can be given up, and what speaks against it by then does so.
// Afterwards it goes on to its end.
func TestL13WhatStandsAgainstAWantedChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set         func(*stage)
		want, after string // the old one is removed
	}{
		"nothing": {func(*stage) {}, "CALL delete old; act", "CALL create new; act"},
		"the order was taken back": {func(st *stage) { st.s.Whole.Ledger = &belief.Ledger{Size: 5} },
			"repair-ended withdrawn; over", "CALL create new; act"},
		"another order is in its place": {func(st *stage) {
			st.s.Whole.Ledger = &belief.Ledger{Size: 5, Update: &belief.Update{Edition: 5, Order: "o2"}}
		}, "repair-ended withdrawn; over", "CALL create new; act"},
		"the update was stopped": {func(st *stage) {
			u := *st.s.Whole.Ledger.Update
			u.Stopped = fleet.ReasonPilotFailed
			st.s.Whole.Ledger = st.s.Whole.Ledger.Updated(&u)
		}, "repair-ended withdrawn; over", "CALL create new; act"},
		"the book is lost": {func(st *stage) { st.s.Whole.Ledger = nil }, "repair-ended withdrawn; over",
			"CALL create new; act"},
		"the machine is protected by now": {func(st *stage) { st.s.Spec.Protected = []int{1} }, givenUp("protected"),
			"CALL create new; act"},
		"a disk of it is to be kept by now": {func(st *stage) {
			st.s.Spec.Template.Disks = []policy.Disk{{Name: "data"}}
		},
			givenUp("disk-kept"), "CALL create new; act"},
		"it is not to be destroyed by now": {func(st *stage) {
			st.m.Repair.Target.Adopted, st.m.Repair.Target.Irreplaceable = true, true
		}, givenUp("adopted-kept"), "CALL create new; act"},
		"the brake is on": {func(st *stage) { st.s.Brake.Engaged = true }, "held brake; act", "CALL create new; act"},
		"a person holds it": {func(st *stage) { st.s.Whole.Holds = []belief.Hold{{Machine: "web-1"}} },
			"held hold; act", "CALL create new; act"},
		"the provider does not answer": {func(st *stage) { st.s.Provider.Standing = fleet.ProviderDown },
			"held provider-down; act", "held provider-down; act"},
		"two hosts show it": {func(st *stage) {
			st.view.Seen = []fleet.Sighting{{Asked: hour, Instance: fleet.Instance{ID: "old", Host: "h1", Also: "h2"}}}
		}, "held two-hosts; act", "held two-hosts; act"},
	} {
		st, _ := updating(t, 0)
		st.m.Repair.Proof = fleet.ProofConfirmedOff
		c.set(st)
		st.want(name, st.round(), c.want)
		if st.m.Repair == nil && (st.m.Current.ID != "old" || st.m.Change.Order != "o1" || st.m.Waiting != "") {
			t.Errorf("%s: it is not as it was before: %+v", name, st.m)
		}
		st, _ = updating(t, 0)
		r := st.m.Repair
		r.Proof, r.Removed, st.m.Current = fleet.ProofConfirmedOff, true, belief.Incarnation{}
		c.set(st)
		st.want(name+", and the old one is gone", st.round(), c.after)
	}
}

// L6: what holds new steps back lets a wanted change finish when its instance was told to power off already, as soon as
// the picture is good enough.
func TestL6AWantedChangeUnderWayFinishes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*guard.Situation)
		want string
	}{
		"the brake is on": {func(s *guard.Situation) { s.Brake.Engaged = true }, "CALL delete old; act"},
		"a person holds it": {func(s *guard.Situation) { s.Whole.Holds = []belief.Hold{{}} },
			"CALL delete old; act"},
		"it is night": {func(s *guard.Situation) { s.Closed = true }, "CALL delete old; act"},
		"hale has just begun": {func(s *guard.Situation) { s.Closed, s.SteadyAt = true, hour+1 },
			"held amnesty; act"},
		"hale cannot see": {func(s *guard.Situation) { s.Whole.Doubt.Reason = fleet.ReasonVantageIsolated },
			"held vantage-isolated; act"},
		"hale may only observe": {func(s *guard.Situation) { s.Spec.Mode = policy.ModeObserve }, "held observe; act"},
	} {
		st, _ := updating(t, 0)
		st.m.Repair.Proof, st.m.Repair.OffCalls = fleet.ProofConfirmedOff, 1
		c.set(&st.s)
		st.want(name, st.round(), c.want)
	}
}

// L8: a wanted change that asks, or tries, in vain is given up.
func TestAWantedChangeInVain(t *testing.T) {
	t.Parallel()
	st, _ := removing(t)
	for n := 1; n < 10; n++ {
		st.due()
		st.want("it is asked", st.round(), "ASK old; act")
	}
	st.due()
	st.want("ten times in vain", st.round(), givenUp("call-failed"))
	st, _ = removing(t)
	st.m.Repair.Proof, st.m.Repair.Retries = fleet.ProofConfirmedOff, 9
	st.round()
	st.ends(fleet.OutcomeRetry)
	st.want("tried in vain", st.round(), givenUp("call-failed"))
	st, _ = removing(t)
	st.m.Repair.Proof, st.m.Repair.Retries = fleet.ProofConfirmedOff, 9
	st.round()
	st.ends(fleet.OutcomeUnknown)
	st.want("unknown, the tenth time: first it must be known", st.round(), "ASK old; act")
	if st.m.Incident != nil {
		t.Errorf("a change that is wanted looks like a failure: %+v", st.m.Incident)
	}
	for kind, why := range map[fleet.OutcomeKind]string{fleet.OutcomeRefused: "refused", fleet.OutcomeLocked: "locked",
		fleet.OutcomeNoSecret: "no-secret", fleet.OutcomeFailed: "delete-failed"} {
		st, _ := removing(t)
		st.m.Repair.Proof = fleet.ProofConfirmedOff
		st.round()
		st.ends(kind)
		st.want(string(kind), st.round(), givenUp(why))
	}
}

// L1: without proof that it is off, a wanted change goes no further. Only that is asked for again, and never a look.
func TestL1AWantedChangeNeedsTheProof(t *testing.T) {
	t.Parallel()
	st, _ := removing(t)
	for n := 1; n <= 3; n++ {
		st.seen(marked("old", "h1", fleet.PowerRunning, 1))
		st.want("it runs on", st.round(), "CALL power-off old; act")
		st.ends(fleet.OutcomeDone)
		st.want("it is said to be off", st.round(), "ASK old; act")
	}
	st.seen(marked("old", "h1", fleet.PowerRunning, 1))
	st.want("it may go off yet, by one of the calls", st.round(), "act")
	st.pass(time.Minute)
	st.want("it is asked for now and then", st.round(), "ASK old; act")
	st.pass(2 * time.Minute)
	st.seen(marked("old", "h1", fleet.PowerRunning, 1))
	st.want("it runs on", st.round(), givenUp("no-proof"))
	st, _ = removing(t)
	st.m.Repair.Proof = fleet.ProofConfirmedOff
	st.restarts()
	st.want("a new owner", st.round(), "ASK old; act")
}

// What surely was not carried out is no call to power off: it is tried as often as any other.
func TestL1NoProofIsMissingOfWhatWasNotToldToGoOff(t *testing.T) {
	t.Parallel()
	st, _ := removing(t)
	for range 4 {
		st.seen(marked("old", "h1", fleet.PowerRunning, 1))
		st.want("it runs on", st.round(), "CALL power-off old; act")
		st.ends(fleet.OutcomeRetry)
		st.round()
		st.due()
	}
}

// A removal is not given up once its instance is gone: nothing is left that could be healed as before.
func TestARemovalOfWhatIsGoneIsNotGivenUp(t *testing.T) {
	t.Parallel()
	st, _ := removing(t)
	st.m.Repair.Retries = 20
	st.seen(marked("old", "h1", fleet.PowerGone, 1))
	st.want("it is gone", st.round(), "proven confirmed-deleted; CALL delete old; act")
	st.ends(fleet.OutcomeRetry)
	st.want("what it left cannot be removed now", st.round(), "act in 30s")
	st.due()
	st.want("it is asked for", st.round(), "ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerGone, 1))
	st.want("it is tried again", st.round(), "proven confirmed-deleted; CALL delete old; act")
	st.ends(fleet.OutcomeDone)
	st.want("removed", st.round(), "repair-ended removed; over")
}

// A delete whose answer was lost may be carried out late: until that is over, the removal is not given up, and no
// further delete is sent, though it was tried ten times (L13). It is all the same whether the last one surely did
// nothing.
func TestL13ARemovalThatMayBeCarriedOutLateIsNotGivenUp(t *testing.T) {
	t.Parallel()
	for _, last := range []fleet.OutcomeKind{fleet.OutcomeUnknown, fleet.OutcomeRetry} {
		for _, power := range []fleet.Power{fleet.PowerGone, fleet.PowerOff} {
			st, _ := removing(t)
			st.m.Repair.Proof, st.m.Repair.Retries = fleet.ProofConfirmedOff, 9
			st.m.Repair.MayGo = last == fleet.OutcomeRetry // another one, before it
			st.round()
			st.ends(last)
			st.want("it may be carried out yet", st.round(), "ASK old; act")
			for range 5 {
				st.seen(marked("old", "h1", fleet.PowerOff, 1))
				st.want("it was not so far", st.round(), "act")
				st.pass(30 * time.Second)
				st.want("it is asked for", st.round(), "ASK old; act")
			}
			st.pass(30 * time.Second)
			st.seen(marked("old", "h1", power, 1))
			if power == fleet.PowerGone {
				st.want("it was", st.round(), "proven confirmed-deleted; CALL delete old; act")
			} else {
				st.want("it is not any more", st.round(), givenUp("call-failed"))
			}
		}
	}
}

// What is left of an instance that is gone may be something that no try removes: a person is told once, with what the
// provider said, when that has lasted.
func TestOfWhatStaysOfARemovalAPersonIsToldOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []fleet.OutcomeKind{fleet.OutcomeRetry, fleet.OutcomeConflict} {
		st, _ := removing(t)
		began, told := st.s.Now.Mono, fleet.Instant(0)
		for range 25 {
			st.seen(marked("old", "h1", fleet.PowerGone, 1))
			st.want("it is gone", st.round(), "proven confirmed-deleted; CALL delete old; act")
			st.ends(kind)
			switch said := st.round(); {
			case strings.HasPrefix(said, "paged rest-stays; "):
				if rec := st.record(record.Paged); told != 0 || rec.Instance != "old" ||
					rec.Detail != "so it was said" {
					t.Errorf("%s: a person is told, before at %v: %+v", kind, told, rec)
				}
				told = st.s.Now.Mono
			default:
				st.want("it is tried again", said[:len("act in")], "act in")
			}
			st.due()
			st.want("it is asked for", st.round(), "ASK old; act")
		}
		if least := began.Add(st.s.Spec.BlindAfter); told < least || told > least.Add(time.Minute) {
			t.Errorf("%s: a person was told at %v, and is to be by %v", kind, told, least)
		}
		st.seen(marked("old", "h1", fleet.PowerGone, 1))
		st.round()
		st.ends(fleet.OutcomeDone)
		st.want("the rest is removed", st.round(), "repair-ended removed; over")
	}
}

// What no try can remove stays: the machine has left, and a person is told at once.
func TestWhatSurelyStaysOfARemovalIsToldAtOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []fleet.OutcomeKind{fleet.OutcomeFailed, fleet.OutcomeRefused, fleet.OutcomeUnsupported} {
		st, _ := removing(t)
		st.seen(marked("old", "h1", fleet.PowerGone, 1))
		st.round()
		st.ends(kind)
		st.want(string(kind), st.round(), "paged rest-stays; repair-ended removed; over")
	}
}

// A machine that is healed while an update goes on is built from the template in force, unless the other one proved
// itself, or the machine stood on that already.
func TestWhichTemplateIsBuiltFrom(t *testing.T) {
	t.Parallel()
	stopped := fleet.ReasonPilotFailed
	for name, c := range map[string]struct {
		ledger *belief.Ledger
		stood  uint64 // the old instance's
		want   uint64
	}{
		"there is no book":  {nil, 0, 0},
		"no update goes on": {&belief.Ledger{Edition: 3}, 3, 3},
		"one is being tried": {&belief.Ledger{Edition: 3, Update: &belief.Update{Edition: 4, Order: "o1"}},
			3, 3},
		"and the machine is of that": {&belief.Ledger{Edition: 3, Update: &belief.Update{Edition: 4, Order: "o1"}},
			4, 4},
		"one proved itself": {&belief.Ledger{Edition: 3, Update: &belief.Update{Edition: 4, Proven: true}},
			3, 4},
		"one was stopped": {&belief.Ledger{Edition: 3, Update: &belief.Update{Edition: 4,
			Stopped: stopped}}, 4, 3},
		"one was stopped when it proved": {&belief.Ledger{Edition: 3, Update: &belief.Update{Edition: 4, Proven: true,
			Stopped: stopped}}, 3, 3},
	} {
		st := provenOff(inAct(t, fleet.OpDelete, fleet.StepRecreate, belief.CauseChecks))
		st.s.Whole.Ledger = c.ledger
		st.m.Repair.Target.Edition, st.m.Current.Edition = c.stood, c.stood
		st.ends(fleet.OutcomeDone)
		st.want(name, st.round(), "CALL create new; act")
		if got := st.action().Intent.Edition; got != c.want {
			t.Errorf("%s: it is built from %d, want %d", name, got, c.want)
		}
	}
}

// L8: the old instance cannot be put aside: the change is given up while there still is an instance.
func TestAnUpdateThatCannotKeepIsGivenUp(t *testing.T) {
	t.Parallel()
	st, _ := updating(t, time.Hour)
	st.m.Repair.Proof = fleet.ProofConfirmedOff
	st.want("it is off", st.round(), "CALL keep old; act")
	st.ends(fleet.OutcomeFailed)
	st.want("it fails", st.round(), givenUp("keep-failed"))
}

// While the place of hale's starts at the provider is silent, a change waits, too, also when its old instance is gone.
func TestASilentPlaceOfStartsHoldsAChange(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		st, _ := updating(t, 0)
		if st.m.Repair.Proof = fleet.ProofConfirmedOff; removed {
			st.m.Repair.Removed, st.m.Current = true, belief.Incarnation{}
		}
		st.s.Roll.Silent = "the provider takes no note"
		st.want("silent", st.round(), "held place-silent; act")
	}
}
