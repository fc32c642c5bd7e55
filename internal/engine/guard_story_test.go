package engine_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider/simulated"
	"hale/internal/state/memory"
)

func TestTheBrakeStopsAMassRepairAndReleasesWhenItIsCalm(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(10), func(s *story) {
		s.grown()
		at := time.Now()
		var lifts []func()
		for n := 1; n <= 5; n++ {
			lifts = append(lifts, s.inject(simulated.Broken{Instance: s.id(n),
				Illness: simulated.Illness{Symptom: simulated.NoNetwork, Cure: simulated.ByRecreate}}))
		}
		s.await(time.Minute, "the brake engages", func() bool { return s.status().Brake.Engaged })
		s.pass(30 * time.Minute)
		if n := len(s.calls(fleet.OpReboot, at)) + len(s.calls(fleet.OpPowerOff, at)); n != 0 {
			t.Errorf("%d disruptive calls although five of ten failed at once", n)
		}
		if n := s.count(because(record.Paged, fleet.ReasonBrake)); n != 1 {
			t.Errorf("%d pages, want one", n)
		}
		for _, lift := range lifts[:4] {
			lift() // the switch is mended, but for one machine
		}
		s.await(5*time.Minute, "the brake releases and the last one is healed", func() bool {
			return !s.status().Brake.Engaged && s.allHealthy()
		})
		for n := 1; n <= 4; n++ {
			if s.heals(n) != 0 {
				t.Errorf("web-%d was healed although it came back by itself", n)
			}
		}
	})
}

func TestAllOfThreeFailingIsNeverRepaired(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		at := time.Now()
		for n := 1; n <= 3; n++ {
			s.inject(simulated.Broken{Instance: s.id(n), Illness: simulated.Illness{Symptom: simulated.NoNetwork,
				Cure: simulated.ByRecreate}})
		}
		s.pass(time.Hour)
		for _, c := range s.world.Calls() {
			if !c.At.Before(at) {
				t.Errorf("%s of %s although everything failed at once", c.Op, c.Machine)
			}
		}
	})
}

func TestAStopByAPersonIsHeldThenPagedAndNeverHealed(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		at := time.Now()
		s.inject(simulated.PersonPowersOff{Instance: s.id(2)})
		s.await(10*time.Second, "held", func() bool { return s.machine(2).Waiting == fleet.ReasonStoppedByPerson })
		s.pass(14 * time.Minute)
		if s.count(kind(record.Paged)) != 0 {
			t.Error("paged before the hold was over")
		}
		s.pass(2 * time.Minute)
		if n := s.count(because(record.Paged, fleet.ReasonHoldExpired)); n != 1 {
			t.Errorf("%d pages, want one", n)
		}
		s.pass(time.Hour)
		if len(s.calls(fleet.OpStart, at)) != 0 {
			t.Error("started against a person's will")
		}
		s.personStarts(2)
		s.await(time.Minute, "healthy again", func() bool { return s.healthy(2) })
	})
}

func TestABlindMachinePagesAndIsNeverTouched(t *testing.T) {
	t.Parallel()
	vantage := &cut{}
	tellCut(t, vantage, web(3), func(s *story) {
		s.grown()
		at := time.Now()
		vantage.local.Store(true) // our own network is gone: every probe is a local error
		s.pass(10 * time.Minute)
		if n := s.count(func(r record.Record) bool {
			return r.Kind == record.Paged && r.Reason == fleet.ReasonBlind && r.Machine != ""
		}); n != 3 {
			t.Errorf("%d pages for three blind machines", n)
		}
		s.pass(time.Hour)
		for _, c := range s.world.Calls() {
			if !c.At.Before(at) {
				t.Errorf("%s of %s while hale was blind", c.Op, c.Machine)
			}
		}
		vantage.local.Store(false)
		s.await(time.Minute, "seen again", s.allHealthy)
	})
}

func TestAnotherProviderBehindTheSameAddressIsDoubted(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		at := time.Now()
		lift := s.inject(simulated.Outage{})
		s.pass(20 * time.Second)
		s.inject(simulated.OtherIdentity{})
		lift()
		s.pass(30 * time.Minute)
		if n := s.count(because(record.Provider, fleet.ReasonProviderDoubtful)); n != 1 {
			t.Errorf("%d events of doubt, want one", n)
		}
		for _, c := range s.world.Calls() {
			if !c.At.Before(at) {
				t.Errorf("%s sent to a stranger", c.Op)
			}
		}
	})
}

// Whether the host refuses, or takes all the time that there is for the answers of the others.
func TestAHostThatCannotBeAskedHoldsItsMachinesOnly(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]simulated.Fault{"it refuses": simulated.HostUnreachable{Host: "h1"},
		"it hangs": simulated.HostHangs{Host: "h1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}}, web(4),
				func(s *story) { holdsItsMachinesOnly(s, trouble) })
		})
	}
}

func holdsItsMachinesOnly(s *story, trouble simulated.Fault) {
	s.grown()
	var lost, other int
	for n := 1; n <= 4; n++ {
		if s.machine(n).Current.Host == "h1" {
			lost = n
		} else {
			other = n
		}
	}
	if lost == 0 || other == 0 {
		s.t.Fatal("the fleet was not spread over the hosts")
	}
	lift := s.inject(trouble)
	s.pass(10 * time.Second)
	s.await(time.Minute, "it is said which host is silent", func() bool {
		p := s.status().Provider
		return p.Standing == fleet.ProviderUp && strings.HasPrefix(p.Detail, "host h1 does not answer: ")
	})
	s.inject(simulated.Broken{Instance: s.id(lost), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
	s.await(2*time.Minute, "held for its host", func() bool { return s.machine(lost).Waiting == fleet.ReasonHostDown })
	s.inject(simulated.Crash{Instance: s.id(other)})
	s.await(2*time.Minute, "the other host's is healed", func() bool { return s.heals(other) == 1 && s.healthy(other) })
	lift()
	s.await(time.Minute, "all stand", s.allHealthy)
	s.await(time.Minute, "no host is said to be silent", func() bool { return s.status().Provider.Detail == "" })
}

func TestAfterAStepOfTheClockEverythingIsJudgedAfresh(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.pass(3 * time.Second) // failing, not yet down
		s.hale.engine.StepClock(time.Hour)
		s.pass(2 * time.Second)
		if n := s.count(because(record.Owner, fleet.ReasonClockStep)); n != 1 {
			t.Errorf("%d records of the step, want one", n)
		}
		if v := s.machine(2).Health.Verdict; v == belief.VerdictUnhealthy {
			t.Error("a verdict rests on what was seen before the step")
		}
		s.await(time.Minute, "web-2 is healed all the same", func() bool { return s.heals(2) == 1 && s.healthy(2) })
	})
}

// L15: an old instance is kept for as long as was said, and not until the clock says so.
func TestL15AStepOfTheClockKeepsWhatIsKept(t *testing.T) {
	t.Parallel()
	step := rung(fleet.StepRecreate)
	step.KeepOld = 24 * time.Hour
	tell(t, simulated.Options{}, rungs(web(3), step), func(s *story) {
		s.grown()
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoNetwork,
			Cure: simulated.ByRecreate}})
		s.await(5*time.Minute, "the old instance is kept", func() bool {
			return s.healthy(2) &&
				len(s.machine(2).Kept) == 1
		})
		s.hale.engine.StepClock(25 * time.Hour)
		s.pass(23 * time.Hour)
		if n := len(s.calls(fleet.OpDelete, time.Time{})); n != 0 || len(s.machine(2).Kept) != 1 {
			t.Errorf("%d removals, %d kept", n, len(s.machine(2).Kept))
		}
		s.await(90*time.Minute, "its time is over", func() bool { return len(s.machine(2).Kept) == 0 })
	})
}

// A call that is under way when the clock is set is still under way: a command is not run beside itself.
func TestAStepOfTheClockDoesNotRepeatWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	step := policy.Step{Kind: fleet.StepRun, Timeout: 5 * time.Minute, VerifyWithin: time.Minute,
		Run: policy.Command{Args: []string{"fix"}, Idempotent: true}}
	tell(t, simulated.Options{}, rungs(web(3), step), func(s *story) {
		s.grown()
		s.inject(simulated.Calls{Op: fleet.OpRun, Effect: simulated.Slow, Delay: 2 * time.Minute})
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByCommand}})
		s.await(time.Minute, "it runs", func() bool { r := s.machine(2).Repair; return r != nil && r.Intent != nil })
		s.hale.engine.StepClock(5 * time.Second)
		s.await(5*time.Minute, "it is healed", func() bool { return s.healthy(2) && s.machine(2).Repair == nil })
		if n := s.count(func(r record.Record) bool {
			return r.Kind == record.Intent &&
				r.Op == fleet.OpRun
		}); n != 1 {
			t.Errorf("%d commands", n)
		}
	})
}

func TestAFullStoreStopsEveryActUntilThereIsSpace(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.faults = func(_ context.Context, c memory.Call) memory.Effect {
			if full.Load() && c.Op == memory.OpCommit {
				return memory.NoSpace
			}
			return memory.Normal
		}
		s.grown()
		at := time.Now()
		full.Store(true)
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.pass(10 * time.Minute)
		if r := s.status().Acting; r != fleet.ReasonStoreFull {
			t.Errorf("acting: %q, want %q", r, fleet.ReasonStoreFull)
		}
		for _, c := range s.world.Calls() {
			if !c.At.Before(at) {
				t.Errorf("%s although nothing could be written down first", c.Op)
			}
		}
		full.Store(false)
		s.await(time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		if s.count(because(record.Owner, fleet.ReasonActing)) != 1 {
			t.Error("no record says that hale acts again")
		}
	})
}

func TestALostLeaseEndsTheTermAndTheNextOneHeals(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.backing.RevokeAll()
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.await(2*time.Minute, "web-2 is healed in a new term", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		if n := s.count(because(record.Owner, fleet.ReasonTookOver)); n != 2 {
			t.Errorf("%d terms, want two", n)
		}
	})
}

func TestAStoreThatDoesNotAnswerEndsTheTerm(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.faults = func(_ context.Context, c memory.Call) memory.Effect {
			if broken.Load() && c.Op == memory.OpCommit {
				return memory.FailAfter // done, but nobody is told
			}
			return memory.Normal
		}
		s.grown()
		broken.Store(true)
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.pass(time.Minute)
		broken.Store(false)
		s.await(2*time.Minute, "web-2 is healed once", func() bool { return s.healthy(2) })
		s.oneInstanceEach()
	})
}

// S54: the store does not answer for some seconds, so that the term ends and cannot give its lease back. Once the store
// answers, hale goes on at once: it does not wait for its own lease to run out.
func TestAServerDoesNotWaitForItsOwnLease(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.faults = func(_ context.Context, c memory.Call) memory.Effect {
			if broken.Load() && (c.Op == memory.OpCommit || c.Op == memory.OpRevoke) {
				return memory.FailBefore
			}
			return memory.Normal
		}
		s.grown()
		broken.Store(true)
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.pass(5 * time.Second)
		broken.Store(false)
		s.await(10*time.Second, "a next term begins", func() bool {
			return s.count(because(record.Owner, fleet.ReasonTookOver)) == 2
		})
		s.await(time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		s.oneInstanceEach()
	})
}

func TestObserveModeActsNeverAndSaysWhatItWould(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.kill()
		s.spec.Mode = policy.ModeObserve
		s.start()
		s.pass(time.Minute)
		at := time.Now()
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.pass(10 * time.Minute)
		for _, c := range s.world.Calls() {
			if !c.At.Before(at) {
				t.Errorf("%s in observe mode", c.Op)
			}
		}
		would := s.count(func(r record.Record) bool {
			return r.Kind == record.Held && r.Reason == fleet.ReasonObserve && r.Step == fleet.StepStart
		})
		if would != 1 {
			t.Errorf("%d records say that it would start web-2, want one", would)
		}
	})
}

func TestTwoHalesAndOneFleet(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		rival := s.controller("hale-2")
		defer rival.stop()
		s.pass(time.Minute)
		if r := rival.engine.Status()[0].Acting; r != fleet.ReasonNotOwner {
			t.Errorf("the rival: %q", r)
		}
		at := time.Now()
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.await(time.Minute, "web-2 is healed", func() bool { return s.healthy(2) && s.heals(2) == 1 })
		if n := len(s.calls(fleet.OpStart, at)); n != 1 {
			t.Errorf("started %d times", n)
		}
		// The owner goes; the rival waits its bound out and takes over.
		s.hale.stop()
		s.hale = rival
		s.await(2*time.Minute, "the rival owns the fleet", s.allHealthy)
		s.inject(simulated.Crash{Instance: s.id(3)})
		s.await(2*time.Minute, "web-3 is healed by the rival", func() bool { return s.healthy(3) && s.heals(3) == 1 })
	})
}

func TestAMachineThatCannotBeHealedGoesIntoQuarantineWithOnePage(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.inject(simulated.NextBuilds{Machine: "web-2", Illness: simulated.Illness{Symptom: simulated.NeverBoots,
			Cure: simulated.ByRecreate}})
		s.inject(simulated.Vanishes{Instance: s.id(2)})
		s.await(30*time.Minute, "quarantine", func() bool { return s.machine(2).Quarantine != nil })
		s.pass(2 * time.Hour)
		if n := s.heals(2); n != s.spec.Repair.Attempts {
			t.Errorf("%d attempts, want %d", n, s.spec.Repair.Attempts)
		}
		if n := s.count(kind(record.Paged)); n != 1 {
			t.Errorf("%d pages, want one", n)
		}
		if !s.healthy(1) || !s.healthy(3) {
			t.Error("the others suffer")
		}
	})
}

// Who looks while hale has only just begun sees for how long it still judges afresh before it acts.
func TestTheFleetShowsHowLongTheAmnestyLasts(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.start()
		s.await(2*time.Second, "hale looks after the fleet", func() bool { return s.status().Acting == "" })
		at, now := s.status().SteadyAt, s.status().Now.Mono
		if left := at.Sub(now); left <= 0 || left > guard.SettleTime(s.spec)+time.Second {
			t.Errorf("the amnesty lasts for another %s", left)
		}
	})
}
