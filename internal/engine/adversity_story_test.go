package engine_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/sim/verbs"
)

// leaveRemnant puts an instance into the world that bears web-n's mark, uncertified, as a late build does.
func (s *story) leaveRemnant(n int, host fleet.HostName) fleet.InstanceID {
	s.t.Helper()
	s.twins = true
	i, _ := s.world.Instance(s.spec.Name.Machine(n))
	m := i.Mark
	m.Certified = false
	p := s.world.Open("late")
	id := fleet.InstanceID("late-" + string(m.Machine))
	if err := p.Create(s.t.Context(), provider.Blueprint{Ref: provider.Ref{ID: id, Host: host, Mark: m},
		Name: "late-" + string(m.Machine)}); err != nil {
		s.t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		s.t.Fatal(err)
	}
	return id
}

func broken(id fleet.InstanceID) simulated.Broken {
	return simulated.Broken{Instance: id, Illness: simulated.Illness{Symptom: simulated.NoHTTP,
		Cure: simulated.ByRecreate}}
}

// The remnant goes by itself while it is being fenced.
func TestARemnantThatVanishesDuringItsRemoval(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.inject(simulated.Calls{Op: fleet.OpPowerOff, Times: 1, Effect: simulated.Slow, Delay: 5 * time.Second})
		id := s.leaveRemnant(1, "")
		s.await(time.Minute, "order under way", func() bool {
			r := s.machine(1).Repair
			return r != nil &&
				r.Intent != nil
		})
		s.inject(simulated.Vanishes{Instance: id})
		s.pass(time.Minute)
	})
}

// The delete takes effect, and its answer comes later than the next listing.
func TestARemnantWhoseDeleteIsAnsweredLate(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{Latency: 400 * time.Millisecond}, web(3), func(s *story) {
		s.grown()
		s.inject(simulated.Calls{Op: fleet.OpDelete, Times: 1, Effect: simulated.HangsAfter})
		s.leaveRemnant(1, "")
		s.pass(time.Minute)
	})
}

// hale dies while the delete of a remnant is under way.
func TestARestartDuringTheRemovalOfARemnant(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		lift := s.inject(simulated.Calls{Op: fleet.OpDelete, Times: 1, Effect: simulated.HangsAfter})
		s.leaveRemnant(1, "")
		s.await(time.Minute, "delete under way", func() bool {
			r := s.machine(1).Repair
			return r != nil && r.Intent != nil && r.Intent.Op == fleet.OpDelete
		})
		s.kill()
		lift()
		s.start()
		s.pass(time.Minute)
	})
}

// The delete of a remnant is refused: one page, and its healthy machine is left in peace.
func TestARemnantThatMayNotBeDeletedPagesOnce(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.inject(simulated.Calls{Op: fleet.OpDelete, Effect: simulated.Fails, Kind: fault.Unauthorised})
		s.leaveRemnant(1, "")
		s.pass(10 * time.Minute)
		if n := s.count(kind(record.Paged)); n > 1 {
			t.Errorf("%d pages in 10 minutes for one healthy machine", n)
		}
		s.backing.RevokeAll()
	})
}

// A remnant that cannot be deleted does not keep its machine from being healed.
func TestARemnantThatStaysDoesNotStarveTheHeal(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.inject(simulated.Calls{Op: fleet.OpDelete, Instance: "late-web-1", Effect: simulated.Fails,
			Kind: fault.Permanent})
		id := s.id(1)
		s.leaveRemnant(1, "")
		s.pass(time.Minute)
		s.inject(simulated.Crash{Instance: id})
		s.pass(6 * time.Hour)
		if s.heals(1) == 0 || !s.healthy(1) {
			t.Errorf("crashed 6 h ago: %d heals, %d pages, waiting %q", s.heals(1), s.count(kind(record.Paged)),
				s.machine(1).Waiting)
		}
	})
}

// A remnant on a host that went away does not hold its machine.
func TestARemnantOnALostHostDoesNotBlockTheHeal(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}}, web(3), func(s *story) {
		s.grown()
		here := s.machine(1).Current.Host
		there := fleet.HostName("h1")
		if here == "h1" {
			there = "h2"
		}
		id := s.id(1)
		s.inject(simulated.Calls{Op: fleet.OpPowerOff, Times: 1, Effect: simulated.Slow, Delay: 2 * time.Second})
		s.leaveRemnant(1, there)
		s.await(time.Minute, "removal under way", func() bool {
			r := s.machine(1).Repair
			return r != nil &&
				r.Intent != nil
		})
		s.inject(simulated.HostUnreachable{Host: there})
		s.pass(10 * time.Minute)
		s.inject(simulated.Crash{Instance: id})
		s.pass(6 * time.Hour)
		if s.heals(1) == 0 {
			t.Errorf("crashed 6 h ago on a good host: %d heals, %d pages, waiting %q, incident %+v", s.heals(1),
				s.count(func(r record.Record) bool { return r.Kind == record.Paged && r.Machine == "web-1" }),
				s.machine(1).Waiting, s.machine(1).Incident)
		}
	})
}

// L8: a call to power off that is never answered ends with a person.
func TestAPowerOffThatHangsEveryTimeIsPaged(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.grown()
		s.inject(simulated.Calls{Op: fleet.OpPowerOff, Effect: simulated.Hangs})
		s.inject(broken(s.id(2)))
		s.pass(6 * time.Hour)
		n := s.count(func(r record.Record) bool { return r.Kind == record.Intent && r.Op == fleet.OpPowerOff })
		if p := s.count(kind(record.Paged)); p == 0 {
			t.Errorf("%d calls to power off and no page; quarantine %v", n, s.machine(2).Quarantine)
		}
	})
}

// L8: a reset that the provider puts off for ever ends with a person, and is not sent without pause.
func TestAResetThatNeverWorksIsPaged(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.inject(simulated.Calls{Op: fleet.OpReboot, Effect: simulated.Fails})
		s.inject(broken(s.id(2)))
		s.pass(time.Hour)
		n := s.count(func(r record.Record) bool { return r.Kind == record.Intent && r.Op == fleet.OpReboot })
		if p := s.count(kind(record.Paged)); p == 0 {
			t.Errorf("%d reboots tried in an hour and no page", n)
		}
	})
}

// L8: first builds that the provider puts off for ever are told to a person.
func TestABuildThatCannotBeOrderedIsPaged(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.inject(simulated.Calls{Op: fleet.OpCreate, Effect: simulated.Fails})
		s.start()
		s.pass(6 * time.Hour)
		if p := s.count(kind(record.Paged)); p == 0 {
			t.Errorf("no instance for 6 h, no page; waiting %q incident %v generation %d", s.machine(1).Waiting,
				s.machine(1).Incident, s.machine(1).Generation)
		}
	})
}

// The mark cannot be written, and the machine dies meanwhile: it is not forgotten.
func TestAMachineThatDiesBeforeItIsCertified(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.inject(simulated.Calls{Op: fleet.OpCertify, Machine: "web-1", Effect: simulated.Fails, Kind: fault.Permanent})
		s.start()
		s.pass(3 * time.Minute)
		s.inject(simulated.Crash{Instance: s.id(1)})
		s.pass(6 * time.Hour)
		if s.machine(1).Incident == nil {
			t.Errorf("dead for 6 h: verdict %s, incident %v, phase %s, pages %d", s.machine(1).Health.Verdict,
				s.machine(1).Incident, s.machine(1).Repair.Phase, s.count(kind(record.Paged)))
		}
	})
}

// The mark may not be written: one page, and no storm of calls.
func TestARefusedCertificateIsNotTriedWithoutPause(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{Latency: 50 * time.Millisecond}, web(3), func(s *story) {
		s.inject(simulated.Calls{Op: fleet.OpCertify, Machine: "web-1", Effect: simulated.Fails,
			Kind: fault.Unauthorised})
		s.start()
		s.pass(5 * time.Minute)
		n := s.count(func(r record.Record) bool {
			return r.Kind == record.Intent && r.Op == fleet.OpCertify && r.Machine == "web-1"
		})
		if n > 20 {
			t.Errorf("%d certify calls in 5 minutes, %d quarantines", n, s.count(kind(record.Quarantined)))
		}
	})
}

// L3, L9: hale dies with a delete under way that never happens; a person mends the machine; hale comes back.
func TestAnOldConfirmationIsWorthNothingAfterARestart(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.grown()
		lift := s.inject(simulated.Calls{Op: fleet.OpDelete, Times: 1, Effect: simulated.Hangs})
		end := s.inject(broken(s.id(2)))
		s.mendedWhileAway(fleet.OpDelete, lift, end)
	})
}

// L3: the provider is away between the call to power off and the proof, and a person mends the machine.
func TestAnOldConfirmationIsWorthNothingAfterAnOutage(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.grown()
		end := s.inject(broken(s.id(2)))
		var lifted func()
		s.inject(simulated.Calls{Op: fleet.OpPowerOff, Times: 1, Effect: simulated.Slow, Delay: 2 * time.Second})
		s.await(time.Minute, "off under way", func() bool {
			r := s.machine(2).Repair
			return r != nil && r.Intent != nil && r.Intent.Op == fleet.OpPowerOff
		})
		g := s.inject(simulated.Calls{Op: provider.OpGet, Client: "hale-1", Effect: simulated.Fails})
		l := s.inject(simulated.Calls{Op: provider.OpList, Client: "hale-1", Effect: simulated.Fails})
		lifted = func() { g(); l() }
		s.pass(time.Minute)
		end()
		s.personStarts(2)
		s.pass(time.Hour)
		lifted()
		s.pass(5 * time.Minute)
	})
}

// L10: a person stops, or the host pauses, a machine while its repair is being verified.
func TestAStopByAPersonDuringARepairIsRespected(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(s *story) simulated.Fault{
		"stopped": func(s *story) simulated.Fault { return simulated.PersonPowersOff{Instance: s.id(2)} },
		"paused":  func(s *story) simulated.Fault { return simulated.Paused{Instance: s.id(2)} },
	} {
		t.Run(name, func(t *testing.T) {
			tell(t, simulated.Options{}, ladder(web(3), fleet.StepReboot, fleet.StepRecreate), func(s *story) {
				s.grown()
				old := s.id(2)
				s.inject(broken(old))
				s.await(time.Minute, "rebooted", func() bool {
					r := s.machine(2).Repair
					return r != nil &&
						r.Phase == belief.PhaseVerify
				})
				s.pass(5 * time.Second)
				s.inject(f(s))
				s.pass(5 * time.Minute)
				if now := s.id(2); now != old {
					t.Errorf("policy %s, and its instance was destroyed and replaced", s.spec.Repair.OnExternalStop)
				}
			})
		})
	}
}

// L4: hale cannot see what it builds, for a reason of its own.
func TestABlindVantageDestroysNoBuilds(t *testing.T) {
	t.Parallel()
	vantage := &cut{}
	tellCut(t, vantage, web(3), func(s *story) {
		vantage.local.Store(true)
		s.start()
		s.pass(30 * time.Minute)
	})
}

// L1: an administrator migrates the machines, and one of them fails later. The provider says "not found" where the
// machine was, and its listing is complete, successful and empty: no proof of anything.
func TestAMachineThatMovedIsNotGoneBecauseAListIsEmpty(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}}, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.grown()
		began, old := time.Now(), s.id(2)
		lift := s.inject(simulated.Happens{Verb: verbs.ListsNothing})
		to := fleet.HostName("h1")
		if s.machine(2).Current.Host == "h1" {
			to = "h2"
		}
		s.world.Migrate(old, to)
		s.pass(20 * time.Minute)
		if n := len(s.calls(fleet.OpCreate, began)); n > 0 || s.id(2) != old {
			s.t.Errorf("%d machines were built in the place of those that an empty list does not show", n)
		}
		lift()
		s.await(time.Minute, "all is well again", s.allHealthy)
	})
}

func TestAMigratedMachineIsFollowed(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}}, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.grown()
		for n := 1; n <= 3; n++ {
			to := fleet.HostName("h1")
			if s.machine(n).Current.Host == "h1" {
				to = "h2"
			}
			s.world.Migrate(s.id(n), to)
		}
		s.pass(5 * time.Minute)
		s.inject(broken(s.id(2)))
		s.pass(10 * time.Minute)
	})
}

// L1: an administrator migrates a machine while the provider's listings are complete, successful and wrong.
func TestAMigratedMachineThatNoListingHasIsNotGone(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]simulated.Fault{
		"empty":       simulated.Happens{Verb: verbs.ListsNothing},
		"of the past": simulated.Happens{Verb: verbs.ListsStale, Arg: "9m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}}, ladder(web(3), fleet.StepRecreate),
				func(s *story) {
					s.grown()
					old := s.id(2)
					to := fleet.HostName("h1")
					if s.machine(2).Current.Host == "h1" {
						to = "h2"
					}
					lift := s.inject(lie)
					s.world.Migrate(old, to)
					s.pass(10 * time.Minute)
					if s.id(2) != old {
						t.Errorf("the machine runs on %s, and another one was built", to)
					}
					lift()
					s.pass(time.Minute)
					if m := s.machine(2); !s.healthy(2) || m.Current.Host != to {
						t.Errorf("the machine runs on %s, and hale believes on %s", to, m.Current.Host)
					}
				})
		})
	}
}

// L1: a call without an answer takes effect late.
func TestALostOrderBindsTheNextOneToItsHost(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2", "h3", "h4"}}, web(4), func(s *story) {
		for n := 1; n <= 4; n++ {
			m := s.spec.Name.Machine(n)
			s.inject(simulated.Calls{Op: fleet.OpCreate, Machine: m, Times: 1, Effect: simulated.Fails,
				Kind: fault.Permanent})
			s.inject(simulated.Calls{Op: fleet.OpCreate, Machine: m, Times: 1, Effect: simulated.ActsLate,
				Delay: 60 * time.Second})
		}
		s.start()
		s.pass(10 * time.Minute)
	})
}

// A host goes, and another one answers behind its address.
func TestAHostThatComesBackAsAnotherIsDoubted(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2", "h3"}}, ladder(web(3), fleet.StepRecreate),
		func(s *story) {
			s.grown()
			h := s.machine(2).Current.Host
			lift := s.inject(simulated.HostUnreachable{Host: h})
			s.pass(time.Minute)
			s.inject(simulated.OtherIdentity{Host: h})
			at := time.Now()
			lift()
			s.pass(10 * time.Minute)
			if s.count(because(record.Provider, fleet.ReasonProviderDoubtful)) == 0 {
				t.Errorf("nobody doubted host %s; creates since: %d", h, len(s.calls(fleet.OpCreate, at)))
			}
		})
}

// The operator changes the mode to observe and restarts hale in the middle of a repair.
func TestObserveModeAlsoStopsARepairUnderWay(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.grown()
		lift := s.inject(simulated.Calls{Op: fleet.OpPowerOff, Times: 1, Effect: simulated.HangsAfter})
		s.inject(broken(s.id(2)))
		s.await(time.Minute, "under way", func() bool {
			r := s.machine(2).Repair
			return r != nil && r.Intent != nil && r.Intent.Op == fleet.OpPowerOff
		})
		s.kill()
		lift()
		s.spec.Mode = policy.ModeObserve
		at := time.Now()
		s.start()
		s.pass(10 * time.Minute)
		for _, c := range s.world.Calls() {
			if c.At.After(at) && c.Client == "hale-1" {
				t.Errorf("%s of %s in observe mode", c.Op, c.Machine)
			}
		}
	})
}

// A disk is declared kept, or the ladder loses its rung, before a restart.
func TestAnEditedPolicyIsObeyedInTheMiddleOfARepair(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(s *story){
		"disk kept":   func(s *story) { s.spec.Template.Disks = []policy.Disk{{Name: "root"}} },
		"no recreate": func(s *story) { s.spec = ladder(s.spec, fleet.StepReboot) },
	} {
		t.Run(name, func(t *testing.T) {
			spec := ladder(web(3), fleet.StepRecreate)
			full := web(3)
			tell(t, simulated.Options{}, spec, func(s *story) {
				s.spec.Template.Disks = []policy.Disk{{Name: "root", Ephemeral: true}}
				s.grown()
				s.inject(simulated.Calls{Op: provider.OpGet, Effect: simulated.Hangs, Times: 1})
				s.inject(broken(s.id(2)))
				s.await(time.Minute, "look", func() bool {
					r := s.machine(2).Repair
					return r != nil &&
						r.Phase == belief.PhaseLook
				})
				s.kill()
				if name == "no recreate" {
					s.spec.Repair.Steps = full.Repair.Steps
				}
				edit(s)
				at := time.Now()
				s.start()
				s.pass(5 * time.Minute)
				if n := len(s.calls(fleet.OpDelete, at)); n != 0 {
					t.Errorf("%d deletes although the policy now forbids it", n)
				}
			})
		})
	}
}

// A person stops a machine that has an incident already.
func TestAStopDuringAnIncidentIsPagedAfterItsHold(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.spec.Limits.Brake.AtLeast, s.spec.Limits.Brake.Percent = 1, 10
		s.grown()
		s.inject(broken(s.id(1)))
		s.inject(broken(s.id(2)))
		s.await(time.Minute, "incident", func() bool {
			return s.machine(2).Incident != nil &&
				s.machine(1).Incident != nil
		})
		s.inject(simulated.PersonPowersOff{Instance: s.id(2)})
		s.pass(3 * time.Hour)
		if n := s.count(func(r record.Record) bool {
			return r.Kind == record.Paged &&
				r.Machine == "web-2"
		}); n == 0 {
			t.Errorf("stopped 3 h ago with a hold of 15 min, waiting %q, never paged", s.machine(2).Waiting)
		}
	})
}

// A stopped machine is started by a person just before hale restarts.
func TestAMachineStartedWhileHaleWasAwayHasItsGrace(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(2), fleet.StepRecreate), func(s *story) {
		s.grown()
		old := s.id(2)
		s.inject(simulated.PersonPowersOff{Instance: old})
		s.pass(time.Minute)
		s.kill()
		s.inject(simulated.Broken{Instance: old, Illness: simulated.Illness{Symptom: simulated.BootsSlowly,
			Delay: 40 * time.Second, Cure: simulated.ByRecreate}})
		s.personStarts(2)
		s.pass(2 * time.Second)
		s.start()
		s.pass(3 * time.Minute)
		if s.id(2) != old {
			t.Error("a machine that was booting (grace one minute) was destroyed after the restart")
		}
	})
}

// The host that was chosen goes away before the order reached it.
func TestABuildMovesAwayFromALostHost(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}}, web(1), func(s *story) {
		s.inject(simulated.Calls{Op: fleet.OpCreate, Times: 1, Effect: simulated.Slow, Delay: 2 * time.Second})
		s.start()
		s.await(time.Minute, "create", func() bool { r := s.machine(1).Repair; return r != nil && r.Intent != nil })
		h := s.machine(1).Repair.Next.Host
		s.inject(simulated.HostUnreachable{Host: h})
		s.pass(6 * time.Hour)
		if !s.healthy(1) {
			t.Errorf("not built for 6 h though a host is free; pages %d, waiting %q, generation %d",
				s.count(kind(record.Paged)), s.machine(1).Waiting, s.machine(1).Generation)
		}
	})
}

// A machine that hale powered off and failed to replace is healed when a person wants another try.
func TestS22WhatHalePoweredOffIsTriedAgain(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.grown()
		lift := s.inject(simulated.Calls{Op: fleet.OpDelete, Effect: simulated.Fails, Kind: fault.Permanent})
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoNetwork,
			Cure: simulated.ByRecreate}})
		s.await(5*time.Minute, "it is left to a person", func() bool { return s.machine(2).Quarantine != nil })
		lift()
		s.orders(fleet.Order{Kind: fleet.OrderRetry, Machine: "web-2"})
		s.pass(10 * time.Minute)
		if m := s.machine(2); !s.healthy(2) {
			t.Errorf("it waits for %q, with the cause %s; nobody but hale ever stopped it", m.Waiting, m.Health.Cause)
		}
	})
}

// A ladder edited while the old instance is off, and will not go, does not turn hale's own power-off into a person's
// stop.
func TestALadderEditedWhileItIsOffHealsIt(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.grown()
		lift := s.inject(simulated.Calls{Op: fleet.OpDelete, Effect: simulated.Fails, Kind: fault.Throttled})
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoNetwork,
			Cure: simulated.ByRecreate}})
		s.await(5*time.Minute, "it is off", func() bool { r := s.machine(2).Repair; return r != nil && r.Retries > 2 })
		s.reload(func(spec *policy.Spec) { *spec = rungs(*spec, rung(fleet.StepStart), spec.Repair.Steps[0]) })
		lift()
		s.pass(12 * time.Minute)
		if m := s.machine(2); !s.healthy(2) {
			t.Errorf("it waits for %q, with the cause %s; nobody but hale ever stopped it", m.Waiting, m.Health.Cause)
		}
	})
}

// A second change that fails does not make hale forget that it was hale who powered the machine off.
func TestS52AfterTwoChangesThatFailedItIsHealed(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.reload(func(spec *policy.Spec) { spec.Size = 2 })
		s.inject(simulated.Calls{Op: fleet.OpDelete, Effect: simulated.Fails, Kind: fault.Permanent})
		lift := s.inject(simulated.Calls{Op: fleet.OpStart, Effect: simulated.Fails, Kind: fault.Throttled})
		s.confirm()
		s.await(5*time.Minute, "it is given up", func() bool { return s.has(fleet.ReasonGivenUp) })
		s.pass(2 * time.Second)
		s.confirm()
		s.await(5*time.Minute, "again", func() bool {
			return s.count(because(record.Paged,
				fleet.ReasonGivenUp)) == 2
		})
		lift()
		s.pass(12 * time.Minute)
		if m := s.machine(3); !s.healthy(3) {
			t.Errorf("it waits for %q, with the cause %s; nobody but hale ever stopped it", m.Waiting, m.Health.Cause)
		}
	})
}

// L10: what hale powered off once, and saw run again, is a person's to stop.
func TestL10WhatRanAgainIsAPersonsToStop(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepStart, fleet.StepRecreate), func(s *story) {
		s.grown()
		lift := s.inject(simulated.Calls{Op: fleet.OpDelete, Effect: simulated.Fails, Kind: fault.Permanent})
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoNetwork,
			Cure: simulated.ByReboot}})
		s.await(5*time.Minute, "it is left to a person", func() bool { return s.machine(2).Quarantine != nil })
		lift()
		s.personStarts(2)
		s.await(5*time.Minute, "it is healthy", func() bool { return s.healthy(2) })
		s.inject(simulated.PersonPowersOff{Instance: s.id(2)})
		s.pass(5 * time.Minute)
		if m := s.machine(2); m.Health.Cause != belief.CauseStopped || s.world.RunningCopies("web-2") != 0 {
			t.Errorf("the cause is %q, and it waits for %q", m.Health.Cause, m.Waiting)
		}
	})
}
