package repair_test

import (
	"net/netip"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// A recreate: off, seen off, deleted, the next generation built under an id of its own, healthy, and certified.
func TestARecreate(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepRecreate])
	st.want("it begins", st.begin(), "repair-started heal; then recreate; LOOK; look")
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("it fails", st.round(), "look confirmed; CALL power-off old; act")
	st.ends(fleet.OutcomeDone)
	st.want("it is told to power off", st.round(), "ASK old; act")
	st.seen(marked("old", "h1", fleet.PowerOff, 1))
	st.want("it is off", st.round(), "proven confirmed-off; CALL delete old; act")
	epoch := st.m.Epoch
	st.ends(fleet.OutcomeDone)
	st.want("it is deleted", st.round(), "CALL create new; act")
	if !st.m.Current.None() || st.m.Epoch == epoch || st.m.Generation != 2 || st.m.Repair.Next.ID != "new" {
		t.Errorf("its place is not free, or the next is not allotted: %+v", st.m)
	}
	st.seen(fleet.Instance{ID: "new", Host: "h2", Power: fleet.PowerRunning, Address: netip.MustParseAddr("10.0.0.9")})
	st.ends(fleet.OutcomeDone)
	st.want("it is built", st.round(), "verify")
	if st.m.Address.String() != "10.0.0.9" || st.m.Current.Certified {
		t.Errorf("it is probed at %s, certified %t", st.m.Address, st.m.Current.Certified)
	}
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	st.want("it is well", st.round(), "verified; CALL certify new; certify")
	st.ends(fleet.OutcomeDone)
	st.want("its mark says so", st.round(), "certified; repair-ended healed; incident-closed healed; over")
	if !st.m.Current.Replaceable() || st.m.Current.Generation != 2 {
		t.Errorf("it may not be replaced one day: %+v", st.m.Current)
	}
}

// A build that never became healthy may be removed, though it was never certified, and only it.
func TestABuildThatNeverWorkedIsBuiltAnew(t *testing.T) {
	t.Parallel()
	st := calling[fleet.OpCreate](t)
	st.ends(fleet.OutcomeDone)
	st.want("it is built", st.round(), "verify")
	st.m.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks}
	st.pass(time.Minute)
	st.want("its time is over", st.round(), "step-failed not-verified; repair-ended not-verified; over, again in 500ms")
	if !st.m.Current.Expired || len(st.m.Spurned) != 1 || st.m.Spurned[0] != "h2" {
		t.Errorf("it is not to go, or its host is as good as any: %+v", st.m)
	}
	st.view.FreshID = "third"
	st.pass(time.Second)
	st.want("then", st.begin(), "repair-started heal; then recreate; LOOK; look")
	if st.m.Repair.Rung != belief.NoRung {
		t.Errorf("it is on a rung of the ladder: %d", st.m.Repair.Rung)
	}
}

// What became unhealthy between its verification and its mark is verified again, and what is certified by then is done.
func TestCertifyingLooksAtHealth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict   belief.Verdict
		certified bool
		want      string
	}{
		"healthy":           {belief.VerdictHealthy, false, "CALL certify old; certify"},
		"not healthy":       {belief.VerdictSuspect, false, "verify"},
		"already certified": {belief.VerdictHealthy, true, "repair-ended healed; incident-closed healed; over"},
	} {
		st := calling[fleet.OpCertify](t)
		st.m.Repair.Intent, st.m.Current.Certified, st.m.Health.Verdict = nil, c.certified, c.verdict
		st.want(name, st.round(), c.want)
	}
}

// A build that took longer than it was given, and is healthy by itself, is certified, and is a person's no more.
func TestALateBuildIsCertified(t *testing.T) {
	t.Parallel()
	st := newStage(t, steps[fleet.StepRecreate])
	st.m.Current.Certified, st.m.Current.Expired = false, true
	st.m.Health = belief.Health{Verdict: belief.VerdictHealthy}
	st.m.Quarantine = &belief.Quarantine{Reason: fleet.ReasonAttempts}
	st.m.Attempts = []fleet.Instant{hour, hour}
	st.want("it is well", st.play(func(w *work) { w.BeginCertify() }),
		"repair-started build; CALL certify old; certify")
	st.ends(fleet.OutcomeDone)
	st.want("it is certified", st.round(), "certified; repair-ended built; incident-closed healed; over")
	if st.m.Quarantine != nil || st.m.Current.Expired || len(st.m.Attempts) != 0 {
		t.Errorf("it is not as any other: %+v", st.m)
	}
}

// A mark that cannot be written leaves a healthy machine as it is. A person is told, and it is tried much later.
func TestAMarkThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	st := calling[fleet.OpCertify](t)
	st.m.Incident, st.m.Repair.Kind = nil, belief.RepairBuild
	st.ends(fleet.OutcomeFailed)
	st.want("it fails", st.round(),
		"step-failed call-failed; repair-ended call-failed; paged call-failed; over, again in 30m0s")
	if st.m.Incident == nil || st.m.Quarantine != nil || st.m.Current.None() {
		t.Errorf("nothing shows what is wrong, or it was given up: %+v", st.m)
	}
}

// S42: an instance that is gone before it is certified is a build of hale's own that failed. It is built anew. If it is
// there after all, it is certified then.
func TestAnInstanceThatIsGoneBeforeItIsCertified(t *testing.T) {
	t.Parallel()
	for _, certified := range []bool{false, true} {
		st := calling[fleet.OpCertify](t)
		st.m.Current.Certified = certified
		st.ends(fleet.OutcomeNotFound)
		st.want("it is gone", st.round(), "repair-ended no-instance; over, again in 5s")
		if !st.m.Current.Replaceable() || st.m.Current.Expired == certified {
			t.Errorf("certified %t: it cannot be built anew, or is no build that failed: %+v", certified, st.m.Current)
		}
	}
}

// L12: the answer to a call to build was lost. Whether it is there, and how, says what follows.
func TestL12ALostBuild(t *testing.T) {
	t.Parallel()
	for power, c := range map[fleet.Power]struct{ want, then string }{
		fleet.PowerRunning: {"verify", ""},
		fleet.PowerOff:     {"LOOK; look", "look confirmed; proven confirmed-off; CALL delete new; act"},
		fleet.PowerPaused:  {"LOOK; look", "look confirmed; CALL power-off new; act"},
		fleet.PowerGone:    {"ASK old; act", ""},
	} {
		st := calling[fleet.OpCreate](t)
		st.restarts()
		epoch := st.m.Epoch
		st.want("unseen", st.round(), "ASK new; act")
		st.seen(marked("new", "h2", power, 2))
		st.want(string(power), st.round(), c.want)
		switch power {
		case fleet.PowerGone: // it may yet appear: only there its name is guarded
			if a := st.m.Anchor; a == nil || a.Host != "h2" || a.Until != st.s.Now.Mono.Add(2*time.Minute) {
				t.Errorf("the next one may be built elsewhere: %+v", a)
			}
		case fleet.PowerRunning:
			if st.m.Current.ID != "new" || st.m.Anchor != nil {
				t.Errorf("it is not the machine's: %+v", st.m)
			}
		default: // it was made halfway: it is an expired build, and is proven off as any
			if !st.m.Current.Expired || st.m.Repair.Target.ID != "new" || st.m.Epoch == epoch {
				t.Errorf("it is not to go: %+v", st.m.Current)
			}
			st.show(marked("new", "h2", power, 2), fleet.StandingUnknown)
			st.want(string(power)+", looked at", st.round(), c.then)
		}
	}
}

// L1: while a call without an answer may yet be carried out, the next one goes to the same host, under another id;
// and what was removed is proven off once more. When that time is over, any host does.
func TestL1ALateBuildIsAwaitedWhereItWouldAppear(t *testing.T) {
	t.Parallel()
	for after, host := range map[time.Duration]fleet.HostName{2*time.Minute - 1: "h2", 2 * time.Minute: "h1"} {
		st := calling[fleet.OpCreate](t)
		st.m.Repair.Intent, st.m.Repair.Next = nil, belief.Incarnation{}
		st.m.Anchor = &belief.Anchor{Host: "h2", Until: hour.Add(2 * time.Minute)}
		st.m.Strays = []belief.Stray{{ID: "x", Host: "h2"}} // so that h2 is not chosen by itself
		st.seen(marked("x", "h2", fleet.PowerOff, 1))
		st.s.Now.Mono = hour.Add(after)
		st.want("the next", st.round(), "CALL create new; act")
		if got := st.m.Repair.Next.Host; got != host {
			t.Errorf("after %v it is built on %s, want %s", after, got, host)
		}
	}
	st := calling[fleet.OpCreate](t)
	st.m.Repair.Intent, st.m.Repair.Next = nil, belief.Incarnation{}
	st.m.Anchor, st.s.Hosts[1].Up = &belief.Anchor{Host: "h2", Until: hour.Add(time.Minute)}, false
	st.want("and that host is lost", st.round(), "held no-host; act in 500ms")
}

// L2: nothing is taken away before there is a host for its successor: neither before the look nor after the old
// instance was turned off, when that host is lost meanwhile; and no order of a person's changes that. What is gone has
// nothing to lose.
func TestL02NothingIsTakenAwayBeforeThereIsAHost(t *testing.T) {
	t.Parallel()
	nowhere := func(st *stage) *stage {
		for i := range st.s.Hosts {
			st.s.Hosts[i].Disabled = true
		}
		return st
	}
	st := nowhere(looked(t, fleet.StepRecreate, belief.CauseChecks))
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("before the look", st.round(), "held no-host; look")

	st = nowhere(looked(t, fleet.StepReboot, belief.CauseChecks))
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("what stays where it is", st.round(), "look confirmed; CALL reboot old; act")

	st = nowhere(calling[fleet.OpDelete](t))
	st.m.Repair.Intent = nil
	st.want("after it was turned off", st.round(), "held no-host; act in 500ms")
	st.m.Repair.Proof, st.m.Repair.RetryAt, st.m.Waiting = fleet.ProofDeleted, 0, ""
	st.want("what is gone", st.round(), "CALL delete old; act")
}

// L8: an update that finds no host for a machine waits for one for some minutes, and is given up, and a person is told.
// The machine serves all the time.
func TestAnUpdateWaitsForAHostForAWhile(t *testing.T) {
	t.Parallel()
	st, _ := updating(t, 0)
	st.seen(marked("old", "h1", fleet.PowerRunning, 1))
	for i := range st.s.Hosts {
		st.s.Hosts[i].Disabled = true
	}
	st.want("no host", st.round(), "held no-host; act in 1s")
	for n := 0; st.m.Repair != nil; n++ {
		if n > 20 || st.s.Now.Mono > hour.Add(10*time.Minute) {
			t.Fatal("it waits for ever")
		}
		st.s.Now.Mono = st.m.Repair.RetryAt
		if got := st.round(); st.m.Repair == nil {
			st.want("none for a while", got, givenUp("no-host"))
		}
	}
}
