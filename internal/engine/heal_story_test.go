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

func TestAFleetIsBuiltAndCertified(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.start()
		s.await(time.Minute, "the fleet stands", s.allHealthy)
		for n := 1; n <= 3; n++ {
			i, _ := s.world.Instance(s.spec.Name.Machine(n))
			if !i.Mark.Certified || i.Mark.Generation != 1 {
				t.Errorf("%s bears %+v", i.Name, i.Mark)
			}
		}
	})
}

func TestACrashedMachineIsStarted(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		before, at := s.id(2), time.Now()
		s.inject(simulated.Crash{Instance: before})
		s.await(20*time.Second, "web-2 is healed", func() bool { return s.healthy(2) && s.heals(2) == 1 })
		if s.id(2) != before || len(s.calls(fleet.OpStart, at)) != 1 {
			t.Error("a crashed machine that can be started was not just started")
		}
	})
}

// S13: a machine under construction is not certified; its failing checks delete nothing.
func TestS13AMachineUnderConstructionIsNotDeleted(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.spec.BuildWithin = 10 * time.Minute
		s.inject(simulated.NextBuilds{Times: 3, Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByRecreate}})
		s.start()
		s.pass(9 * time.Minute)
		for _, op := range []fleet.Op{fleet.OpDelete, fleet.OpPowerOff, fleet.OpReboot} {
			if n := len(s.calls(op, time.Time{})); n != 0 {
				t.Errorf("%d calls %s on machines under construction", n, op)
			}
		}
	})
}

// S14: look, power off, delete, create, address, verified, certified, in this order; what is true already is not done.
func TestS14TheOrderOfAReplacement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(s *story)
		want  []fleet.Op
	}{
		"running and sick": {
			spoil: func(s *story) {
				s.inject(simulated.Broken{Instance: s.id(1), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
					Cure: simulated.ByRecreate}})
			},
			want: []fleet.Op{fleet.OpPowerOff, fleet.OpDelete, fleet.OpCreate, fleet.OpCertify},
		},
		"off already": {
			spoil: func(s *story) { s.inject(simulated.Crash{Instance: s.id(1)}) },
			want:  []fleet.Op{fleet.OpDelete, fleet.OpCreate, fleet.OpCertify},
		},
		"gone already": {
			spoil: func(s *story) { s.inject(simulated.Vanishes{Instance: s.id(1)}) },
			want:  []fleet.Op{fleet.OpCreate, fleet.OpCertify},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, ladder(web(3), fleet.StepRecreate), func(s *story) {
				s.grown()
				at := time.Now()
				c.spoil(s)
				s.await(time.Minute, "web-1 is replaced", func() bool {
					return s.healthy(1) &&
						s.machine(1).Current.Generation == 2
				})
				var got []fleet.Op
				for _, call := range s.world.Calls() {
					if !call.At.Before(at) && call.Effect {
						got = append(got, call.Op)
					}
				}
				if !equal(got, c.want) {
					t.Errorf("calls %v, want %v", got, c.want)
				}
				s.inOrder(1, record.Verdict, record.IncidentOpen, record.RepairStarted,
					record.StepChosen, record.Look,
					record.Proof, record.Intent, record.Outcome, record.Verified,
					record.Certified,
					record.RepairEnded, record.IncidentClosed)
			})
		})
	}
}

func equal(a, b []fleet.Op) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// inOrder checks that the machine's last incident left records of these kinds in this order, whatever lies between.
func (s *story) inOrder(n int, kinds ...record.Kind) {
	s.t.Helper()
	next := 0
	for _, r := range s.records() {
		if r.Machine != s.spec.Name.Machine(n) {
			continue
		}
		if r.Kind == record.Verdict && r.Verdict == belief.VerdictUnhealthy {
			next = 0
		}
		if next < len(kinds) && r.Kind == kinds[next] {
			next++
		}
	}
	if next < len(kinds) {
		s.t.Errorf("no record %q after %v", kinds[next], kinds[:next])
	}
}

// S15: a build that dies before it is certified is recognised as our own when its time is over, and tried again.
func TestS15AnExpiredBuildIsRemovedAndTriedAgain(t *testing.T) {
	t.Parallel()
	for name, symptom := range map[string]simulated.Symptom{
		"never boots": simulated.NeverBoots, "never gets an address": simulated.NoAddress,
		"serves nothing": simulated.NoHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, web(3), func(s *story) {
				s.inject(simulated.NextBuilds{Machine: "web-2", Times: 1,
					Illness: simulated.Illness{Symptom: symptom, Cure: simulated.ByRecreate}})
				s.start()
				s.await(time.Minute, "its instance exists", func() bool { return !s.machine(2).Current.None() })
				first := s.id(2)
				s.pass(50 * time.Second)
				if s.id(2) != first {
					t.Error("removed before its time was over")
				}
				s.await(3*time.Minute, "web-2 stands", func() bool { return s.healthy(2) })
				if m := s.machine(2); m.Current.ID == first || m.Current.Generation != 2 {
					t.Errorf("stands as %+v", m.Current)
				}
				if s.world.RunningCopies("web-2") != 1 {
					t.Error("the remnant was left behind")
				}
			})
		})
	}
}

// S15: what a build left behind that hale lost track of (its answer was lost, and it appeared late) is found by its
// mark and removed.
func TestS15ALateRemnantIsFoundByItsMark(t *testing.T) {
	t.Parallel()
	hosts := simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}}
	tell(t, hosts, web(3), func(s *story) {
		s.inject(simulated.Calls{Op: fleet.OpCreate, Machine: "web-1", Times: 1, Effect: simulated.ActsLate,
			Delay: 40 * time.Second})
		s.start()
		s.await(3*time.Minute, "the fleet stands", s.allHealthy)
		s.pass(3 * time.Minute)
		if n := s.world.RunningCopies("web-1"); n != 1 {
			t.Errorf("%d copies of web-1 at the end", n)
		}
		if !s.allHealthy() {
			t.Error("the fleet does not stand at the end")
		}
	})
}

// S18: with a budget of one, two failures are repaired one after the other.
func TestS18TheBudgetIsKept(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(10), fleet.StepRecreate), func(s *story) {
		s.grown()
		s.inject(simulated.Crash{Instance: s.id(4)})
		s.inject(simulated.Crash{Instance: s.id(8)})
		most := 0
		s.await(2*time.Minute, "both are healed", func() bool {
			most = max(most, s.status().Tally.InRepair)
			return s.heals(4) == 1 && s.heals(8) == 1 && s.allHealthy()
		})
		if most != 1 {
			t.Errorf("%d repairs at once", most)
		}
		if s.count(because(record.Held, fleet.ReasonBudget)) == 0 {
			t.Error("no record says that the budget held one back")
		}
	})
}

// S21: the provider cannot be reached: no machine is judged by it, and one event says so.
func TestS21AnUnreachableProviderKillsNobody(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		at := time.Now()
		lift := s.inject(simulated.Outage{})
		s.pass(10 * time.Minute)
		for n := 1; n <= 3; n++ {
			if !s.healthy(n) {
				t.Errorf("web-%d is judged %s", n, s.machine(n).Health.Verdict)
			}
		}
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.await(time.Minute, "web-2's repair waits for the provider",
			func() bool { return s.machine(2).Waiting == fleet.ReasonProviderDown })
		if n := s.count(because(record.Provider, fleet.ReasonDown)); n != 1 {
			t.Errorf("%d events of the provider being down, want one", n)
		}
		for _, c := range s.world.Calls() {
			if !c.At.Before(at) {
				t.Errorf("called %s during the outage", c.Op)
			}
		}
		lift()
		s.await(time.Minute, "web-2 is healed", func() bool { return s.healthy(2) })
	})
}

// S26: five events for one failure: one heal.
func TestS26FiveEventsOneHeal(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		s.inject(simulated.RepeatedEvents{Times: 5})
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.pass(5 * time.Minute)
		if n := s.heals(2); n != 1 || !s.healthy(2) {
			t.Errorf("%d heals", n)
		}
	})
}

// S27: a machine that fails while another one is healed is healed, too.
func TestS27AFailureDuringAHealIsNotForgotten(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(10), func(s *story) {
		s.grown()
		s.inject(simulated.Crash{Instance: s.id(3)})
		s.await(10*time.Second, "web-3 is in repair", func() bool { return s.machine(3).Repair != nil })
		s.inject(simulated.Crash{Instance: s.id(5)})
		s.await(time.Minute, "both are healed", func() bool {
			return s.heals(3) == 1 && s.heals(5) == 1 &&
				s.allHealthy()
		})
	})
}

// S28: hale dies between the verdict and the act: after the restart the heal is carried out once.
func TestS28AHealSurvivesARestart(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		at := time.Now()
		lift := s.inject(simulated.Outage{}) // so that the act cannot follow the verdict
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.await(time.Minute, "web-2 has an incident", func() bool { return s.machine(2).Incident != nil })
		s.kill()
		lift()
		s.start()
		s.await(2*time.Minute, "web-2 is healed", func() bool { return s.healthy(2) })
		s.pass(10 * time.Minute)
		if n := len(s.calls(fleet.OpReboot, at)); n != 1 {
			t.Errorf("%d reboots, want one", n)
		}
	})
}

// S42: off, in error, deleted or gone is recovered; an error of the API is reported and recovers nothing.
func TestS42WhatTheProviderSaysIsRecovered(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(s *story) simulated.Fault{
		"powered itself off": func(s *story) simulated.Fault {
			return simulated.Happens{Verb: verbs.ShutsDown, Instance: s.id(2)}
		},
		"stopped by a person, policy heal": func(s *story) simulated.Fault {
			return simulated.PersonPowersOff{Instance: s.id(2)}
		},
		"crashed": func(s *story) simulated.Fault { return simulated.Crash{Instance: s.id(2)} },
		"gone":    func(s *story) simulated.Fault { return simulated.Vanishes{Instance: s.id(2)} },
		"panicked": func(s *story) simulated.Fault {
			return simulated.Panic{Instance: s.id(2),
				Remains: fleet.PowerCrashed}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, web(3), func(s *story) {
				s.spec.Repair.OnExternalStop = policy.ExternalStopHeal
				s.grown()
				s.inject(fail(s))
				s.await(2*time.Minute, "web-2 is recovered", func() bool { return s.heals(2) == 1 && s.healthy(2) })
			})
		})
	}
	t.Run("an API error recovers nothing", func(t *testing.T) {
		t.Parallel()
		tell(t, simulated.Options{}, web(3), func(s *story) {
			s.grown()
			s.inject(simulated.Calls{Op: provider.OpList, Effect: simulated.Fails, Kind: fault.Unauthorised})
			s.pass(10 * time.Minute)
			if s.count(kind(record.IncidentOpen)) != 0 || s.count(because(record.Provider,
				fleet.ReasonDown)) != 1 {
				t.Error("an API error must be reported, once, and judge nobody")
			}
		})
	})
}

// S49: when a step does not bring health in its time, the next one runs; success stops the ladder.
func TestS49TheLadderIsClimbedStepByStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cure simulated.Cure
		want []fleet.StepKind
	}{
		"cured by the reboot": {cure: simulated.ByReboot, want: []fleet.StepKind{fleet.StepReboot}},
		"cured by the recreate": {cure: simulated.ByRecreate, want: []fleet.StepKind{fleet.StepReboot,
			fleet.StepRecreate}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, web(3), func(s *story) {
				s.grown()
				s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
					Cure: c.cure}})
				s.await(5*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
				var got []fleet.StepKind
				for _, r := range s.records() {
					if r.Kind == record.StepChosen {
						got = append(got, r.Step)
					}
				}
				if len(got) != len(c.want) || got[0] != c.want[0] || got[len(got)-1] != c.want[len(c.want)-1] {
					t.Errorf("steps %v, want %v", got, c.want)
				}
				if s.count(because(record.StepSkipped, fleet.ReasonNotOff)) != 1 {
					t.Error("no record says why start was skipped")
				}
			})
		})
	}
}

// S50: a recreate that cannot delete stops with a page; told to continue, it goes on, since the old instance is proven
// off.
func TestS50AFailingDelete(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy policy.OnDeleteFailure
		healed bool
	}{
		"stop":     {policy: policy.DeleteFailureStop, healed: false},
		"continue": {policy: policy.DeleteFailureContinue, healed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := simulated.Options{Hosts: []fleet.HostName{"h1", "h2", "h3", "h4"}}
			tell(t, hosts, ladder(web(3), fleet.StepRecreate), func(s *story) {
				s.spec.Repair.Steps[0].OnDeleteFailure = c.policy
				s.grown()
				old := s.id(2)
				s.inject(simulated.Calls{Op: fleet.OpDelete, Effect: simulated.Fails, Kind: fault.Permanent})
				s.inject(simulated.Broken{Instance: old, Illness: simulated.Illness{Symptom: simulated.NoHTTP,
					Cure: simulated.ByRecreate}})
				if c.healed {
					s.await(3*time.Minute, "web-2 stands elsewhere", func() bool {
						return s.healthy(2) &&
							s.id(2) != old
					})
					return
				}
				s.await(3*time.Minute, "web-2 is in quarantine", func() bool { return s.machine(2).Quarantine != nil })
				s.pass(time.Hour)
				if s.id(2) != old || s.world.RunningCopies("web-2") != 0 {
					t.Error("a replacement was started")
				}
				if n := s.count(because(record.Paged, fleet.ReasonDeleteFailed)); n != 1 {
					t.Errorf("%d pages, want one", n)
				}
			})
		})
	}
}

// S51: fencing is demanded and not confirmed: no replacement.
func TestS51WithoutProofNoReplacement(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]simulated.Calls{
		"accepted and without effect": {Op: fleet.OpPowerOff, Effect: simulated.NoEffect},
		"refused":                     {Op: fleet.OpPowerOff, Effect: simulated.Fails, Kind: fault.Permanent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, ladder(web(3), fleet.StepRecreate), func(s *story) {
				s.grown()
				at := time.Now()
				s.inject(f)
				s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
					Cure: simulated.ByRecreate}})
				s.await(3*time.Minute, "web-2 is in quarantine", func() bool { return s.machine(2).Quarantine != nil })
				s.pass(time.Hour)
				if len(s.calls(fleet.OpCreate, at)) != 0 || len(s.calls(fleet.OpDelete, at)) != 0 {
					t.Error("replaced without proof")
				}
				if n := s.count(because(record.Paged, fleet.ReasonNoProof)); n != 1 {
					t.Errorf("%d pages, want one", n)
				}
			})
		})
	}
}
