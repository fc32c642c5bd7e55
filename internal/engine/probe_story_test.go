package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/probe"
	"hale/internal/provider/simulated"
	"hale/internal/sim/verbs"
)

func ping(every time.Duration) policy.Check {
	return policy.Check{Name: "alive", Kind: policy.CheckPing, Every: every, Timeout: time.Second, DownAfter: 3,
		UpAfter: 2}
}

// S01: a ping check every 5 s, three in a row fail: exactly one heal, and probing resumes on the new address.
func TestS01ThreeFailedPingsMakeOneHealOnANewAddress(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(only(web(3), ping(5*time.Second)), fleet.StepRecreate), func(s *story) {
		s.grown()
		old, before := s.id(2), s.machine(2).Address
		s.inject(simulated.Broken{Instance: old, Illness: simulated.Illness{Symptom: simulated.NoNetwork,
			Cure: simulated.ByRecreate}})
		s.pass(10 * time.Second) // two or three probes; never three timeouts
		if s.heals(2) != 0 {
			t.Error("healed before the third failure")
		}
		s.await(time.Minute, "web-2 is healed", func() bool { return s.healthy(2) && s.id(2) != old })
		s.pass(10 * time.Minute)
		if n := s.heals(2); n != 1 {
			t.Errorf("%d heals, want exactly one", n)
		}
		if after := s.machine(2).Address; after == before || !after.IsValid() {
			t.Errorf("still probed at %s", after)
		}
		if !s.healthy(2) {
			t.Error("the new address is not probed")
		}
	})
}

// S02: two failures, a success, two failures: no heal.
func TestS02FailuresThatAreNotInARowDoNothing(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, only(web(3), ping(5*time.Second)), func(s *story) {
		s.grown()
		for range 2 {
			lift := s.inject(simulated.Broken{Instance: s.id(1),
				Illness: simulated.Illness{Symptom: simulated.NoNetwork}})
			s.await(20*time.Second, "a first failure",
				func() bool { return s.machine(1).Health.Verdict == belief.VerdictSuspect })
			s.pass(5 * time.Second) // the second
			lift()
			s.await(10*time.Second, "up again", func() bool { return s.healthy(1) })
		}
		s.pass(time.Minute)
		if s.heals(1) != 0 || s.count(kind(record.IncidentOpen)) != 0 {
			t.Error("two failures, twice, are no fault")
		}
	})
}

// S03: 503 and silence count as failures of an http check; 2xx are successes (certificates: package netprobe).
func TestS03TheHTTPCheckBelievesOnlySuccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ill    simulated.Illness
		result fleet.ResultReason
		heals  int
	}{
		"503": {ill: simulated.Illness{Symptom: simulated.HTTPStatus, Status: 503}, result: fleet.ResultStatus,
			heals: 1},
		"hanging": {ill: simulated.Illness{Symptom: simulated.HTTPHangs}, result: fleet.ResultTimeout, heals: 1},
		"refused": {ill: simulated.Illness{Symptom: simulated.NoHTTP}, result: fleet.ResultRefused, heals: 1},
		"204":     {ill: simulated.Illness{Symptom: simulated.HTTPStatus, Status: 204}, heals: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, web(3), func(s *story) {
				s.grown()
				s.inject(simulated.Broken{Instance: s.id(3), Illness: c.ill})
				s.pass(2 * time.Minute)
				if got := s.heals(3); got != c.heals {
					t.Errorf("%d heals, want %d", got, c.heals)
				}
				opened := s.count(func(r record.Record) bool {
					return r.Kind == record.IncidentOpen && r.Check == "page" && r.Result == c.result
				})
				if opened != c.heals {
					t.Errorf("%d incidents name the page check and %q, want %d", opened, c.result, c.heals)
				}
				if !s.healthy(3) {
					t.Error("web-3 is not healthy at the end")
				}
			})
		})
	}
}

// S04: a closed port on one of ten: only that one is healed.
func TestS04OnlyTheMachineWithTheClosedPortIsHealed(t *testing.T) {
	t.Parallel()
	port := policy.Check{Name: "port", Kind: policy.CheckTCP, Port: 80, Every: 2 * time.Second, Timeout: time.Second,
		DownAfter: 3, UpAfter: 2}
	tell(t, simulated.Options{}, only(web(10), port), func(s *story) {
		s.grown()
		s.inject(simulated.Broken{Instance: s.id(7), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.await(time.Minute, "web-7 is healed", func() bool { return s.heals(7) == 1 && s.healthy(7) })
		s.pass(time.Minute)
		for n := 1; n <= 10; n++ {
			if n != 7 && s.heals(n) != 0 {
				t.Errorf("web-%d was healed, too", n)
			}
		}
	})
}

// S05: an exec check that hangs is killed at its timeout, counts as a failure, and is repeated at the next interval.
func TestS05AHangingExecCheckIsAFailure(t *testing.T) {
	t.Parallel()
	var hanging atomic.Bool // web-1's
	var asked atomic.Int32
	options := simulated.Options{Run: func(ctx context.Context, p probe.Program) (int, string, error) {
		asked.Add(1)
		if p.Args[1] == "web-1" && hanging.Load() {
			<-ctx.Done()
			return -1, "", ctx.Err()
		}
		return 0, "fine", nil
	}}
	custom := policy.Check{Name: "custom", Kind: policy.CheckExec, Exec: policy.ExecCheck{Command: []string{"check",
		"{name}"}}, Every: 20 * time.Second,
		Timeout: 15 * time.Second, DownAfter: 3, UpAfter: 1}
	tell(t, options, ladder(only(web(3), custom), fleet.StepReboot), func(s *story) {
		s.spec.Repair.Steps[0].VerifyWithin = 5 * time.Minute
		s.grown()
		hanging.Store(true)
		s.pass(50 * time.Second)
		if s.heals(1) != 0 {
			t.Error("healed before the third failure")
		}
		s.await(time.Minute, "a heal begins", func() bool { return s.heals(1) == 1 })
		incident := s.count(func(r record.Record) bool {
			return r.Kind == record.IncidentOpen && r.Check == "custom" && r.Result == fleet.ResultTimeout
		})
		if incident != 1 {
			t.Error("the incident does not name the timeout")
		}
		hanging.Store(false)
		before := asked.Load()
		s.pass(time.Minute)
		if n := asked.Load() - before; n < 3 {
			t.Errorf("asked %d times in a minute", n)
		}
		s.await(2*time.Minute, "web-1 is healed", func() bool { return s.healthy(1) })
	})
}

// A program is told what its machine bears. A look tells it what that is now: the failure was that of a word which is
// wrong by then.
func TestALookTellsAProgramWhatTheMachineBearsNow(t *testing.T) {
	t.Parallel()
	var wrong atomic.Bool
	options := simulated.Options{Run: func(_ context.Context, p probe.Program) (int, string, error) {
		if p.Args[1] != "h1" || p.Args[2] == "old" && p.Args[3] == "web-1" && wrong.Load() {
			return 2, "no such role", nil
		}
		return 0, "fine", nil
	}, Hosts: []fleet.HostName{"h1"}}
	custom := policy.Check{Name: "custom", Kind: policy.CheckExec, Exec: policy.ExecCheck{Command: []string{"check",
		"{host}", "{meta.role}", "{name}"}},
		Every: 200 * time.Millisecond, Timeout: 100 * time.Millisecond, DownAfter: 3, UpAfter: 1}
	spec := ladder(only(web(3), custom), fleet.StepReboot)
	spec.Template.Metadata = fleet.MetadataOf(map[string]string{"role": "old"})
	tell(t, options, spec, func(s *story) {
		s.grown()
		at := time.Now()
		wrong.Store(true)
		s.await(time.Minute, "web-1 is about to be down",
			func() bool { return s.machine(1).Health.Verdict == belief.VerdictSuspect })
		s.world.Bear(s.id(1), fleet.MetadataOf(map[string]string{"role": "new"}))
		s.pass(time.Minute)
		refuted := s.count(func(r record.Record) bool {
			return r.Kind == record.Look &&
				r.Reason == fleet.ReasonRefuted
		})
		if calls := s.calls(fleet.OpReboot, at); len(calls) != 0 || refuted != 1 || !s.healthy(1) {
			t.Errorf("calls %+v, %d looks refuted it", calls, refuted)
		}
	})
}

// S06: a machine without a known address is unknown, with an event, and never healthy.
func TestS06WithoutAnAddressAMachineIsUnknown(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.spec.BuildWithin = time.Hour
		s.inject(simulated.NextBuilds{Machine: "web-2", Times: 1,
			Illness: simulated.Illness{Symptom: simulated.NoAddress, Cure: simulated.ByRecreate}})
		s.start()
		s.await(time.Minute, "the others stand", func() bool { return s.healthy(1) && s.healthy(3) })
		for range 60 {
			s.pass(time.Second)
			if v := s.machine(2).Health.Verdict; v == belief.VerdictHealthy || v == belief.VerdictUnhealthy {
				t.Fatalf("judged %s without an address", v)
			}
		}
		events := s.count(func(r record.Record) bool {
			return r.Machine == "web-2" && r.Kind == record.Verdict && r.Result == fleet.ResultNoAddress
		})
		if events == 0 {
			t.Error("no event says that the address is missing")
		}
	})
}

// S08: with up_after 2 one success does not re-arm; two do, and a recovery event is sent.
func TestS08TwoSuccessesReArm(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, only(web(3), ping(5*time.Second)), func(s *story) {
		s.spec.Mode = policy.ModeObserve
		s.spec.Mode = policy.ModeAct
		s.grown()
		s.spec.Mode = policy.ModeObserve // from now on hale only watches
		s.kill()
		s.start()
		s.await(time.Minute, "watched again",
			func() bool { return s.machine(1).Health.Verdict == belief.VerdictHealthy })
		lift := s.inject(simulated.Broken{Instance: s.id(1), Illness: simulated.Illness{Symptom: simulated.NoNetwork}})
		s.await(time.Minute, "web-1 is unhealthy",
			func() bool { return s.machine(1).Health.Verdict == belief.VerdictUnhealthy })
		lift()
		s.pass(5 * time.Second) // one success
		if v := s.machine(1).Health.Verdict; v != belief.VerdictUnhealthy {
			t.Errorf("re-armed after one success: %s", v)
		}
		s.pass(5 * time.Second) // the second
		if !s.healthy(1) {
			t.Error("not re-armed after two")
		}
		if s.count(because(record.IncidentClosed, fleet.ReasonRecovered)) != 1 {
			t.Error("no recovery event")
		}
	})
}

// S10: when hale or the fleet is taken away, its probes stop within an interval and no heal starts afterwards.
func TestS10AfterTheEndNothingIsProbedOrHealed(t *testing.T) {
	t.Parallel()
	var probed atomic.Int32
	options := simulated.Options{Run: func(context.Context, probe.Program) (int, string, error) {
		probed.Add(1)
		return 0, "", nil
	}}
	custom := policy.Check{Name: "custom", Kind: policy.CheckExec, Exec: policy.ExecCheck{Command: []string{"check"}},
		Every:   5 * time.Second,
		Timeout: time.Second, DownAfter: 3, UpAfter: 1}
	tell(t, options, only(web(3), custom), func(s *story) {
		s.grown()
		s.kill()
		before, at := probed.Load(), time.Now()
		s.inject(simulated.Crash{Instance: s.id(1)})
		s.pass(time.Hour)
		if n := probed.Load() - before; n != 0 {
			t.Errorf("%d probes after the end", n)
		}
		for _, c := range s.world.Calls() {
			if !c.At.Before(at) {
				t.Errorf("a call after the end: %+v", c)
			}
		}
	})
}

// S10: a fleet that is taken out of the file is released: nothing is probed or healed, and the journal says so once.
func TestS10AFleetTakenOutOfTheFileIsReleased(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		old := s.spec
		s.kill()
		s.spec = web(1)
		s.spec.Name = "other"
		at := time.Now()
		s.inject(simulated.Crash{Instance: s.idOf("web-1")})
		for range 2 {
			s.start()
			s.pass(time.Minute)
			s.kill()
		}
		for _, c := range s.world.Calls() {
			if !c.At.Before(at) && c.Machine.Fleet() == "web" {
				t.Errorf("%s of %s after its fleet left", c.Op, c.Machine)
			}
		}
		s.spec = old
		if n := s.count(because(record.Owner, fleet.ReasonFleetLeft)); n != 1 {
			t.Errorf("%d records of the release, want one", n)
		}
	})
}

// S19: a DHCP server gives another address; the next check goes there.
func TestS19AChangedAddressIsFollowed(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		before, at := s.machine(2).Address, time.Now()
		s.inject(simulated.Happens{Verb: verbs.Readdressed, Instance: s.id(2)})
		s.await(20*time.Second, "the new address is watched", func() bool {
			return s.machine(2).Address != before &&
				s.healthy(2)
		})
		s.pass(5 * time.Minute)
		// The checks may be down before the provider is asked again; the look then finds the machine where it went.
		if n := len(s.calls(fleet.OpReboot, at)) + len(s.calls(fleet.OpPowerOff, at)); n != 0 {
			t.Errorf("%d disruptive calls for a changed address", n)
		}
		if s.count(because(record.Address, fleet.ReasonNewAddress)) < 4 {
			t.Error("no event tells of the new address")
		}
	})
}

// S46: within its grace a machine may fail its checks.
func TestS46GraceForgivesFailingChecks(t *testing.T) {
	t.Parallel()
	for boot, heals := range map[time.Duration]int{40 * time.Second: 0, 10 * time.Minute: 1} {
		t.Run(fmt.Sprintf("boot takes %v", boot), func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, ladder(web(3), fleet.StepReboot), func(s *story) {
				s.grown()
				// A person restarts the machine, and its web server takes its time.
				s.spec.Repair.OnExternalStop = policy.ExternalStopHoldThenPage
				id := s.id(1)
				s.inject(simulated.PersonPowersOff{Instance: id})
				s.await(10*time.Second, "hale sees the stop",
					func() bool { return s.machine(1).Health.Cause == belief.CauseStopped })
				lift := s.inject(simulated.Broken{Instance: id, Illness: simulated.Illness{Symptom: simulated.NoHTTP,
					Cure: simulated.ByRecreate}})
				s.personStarts(1)
				s.pass(boot)
				lift()
				s.await(time.Minute, "web-1 is healthy",
					func() bool { return s.machine(1).Health.Verdict == belief.VerdictHealthy })
				if got := s.heals(1); (got > 0) != (heals > 0) {
					t.Errorf("%d heals", got)
				}
			})
		})
	}
}

// Of a machine that gets well, those who ask learn how many good answers its checks have; the others are left out.
func TestARecoveringMachinesGoodAnswersAreCounted(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.pass(time.Minute)
		f := s.status()
		f.Machines = slices.Clone(f.Machines)
		f.Machines[1].Machine.Waiting = fleet.ReasonRecovering
		s.hale.engine.Count(s.t.Context(), &f)
		if n := f.Good[probe.ID{Machine: "web-2", Check: "page"}]; n < 2 || len(f.Good) != len(s.spec.Checks) {
			t.Errorf("the good answers are %v", f.Good)
		}
	})
}
