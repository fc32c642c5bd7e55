package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider/simulated"
	"hale/internal/state/memory"
)

// scale orders so many machines.
func (s *story) scale(n int) { s.orders(fleet.Order{Kind: fleet.OrderScale, Size: n}) }

// remove orders the machine with the number removed.
func (s *story) remove(n int) {
	s.t.Helper()
	s.leaving = append(s.leaving, s.spec.Name.Machine(n))
	s.orders(fleet.Order{Kind: fleet.OrderDelete, Machine: s.spec.Name.Machine(n)})
}

// size returns how many machines are in force, and how many are asked for.
func (s *story) size() (inForce, asked int) {
	f := s.status()
	return f.Spec.Size, f.Whole.Ledger.Asked(&f.Wanted)
}

// undisturbed fails the test when anything since the record looks like trouble.
func (s *story) undisturbed(since int) {
	s.t.Helper()
	for _, r := range s.records()[since:] {
		switch r.Kind {
		case record.IncidentOpen, record.Paged, record.Brake:
			s.t.Errorf("L10: a wanted change looks like trouble: %+v", r)
		default:
		}
	}
}

// An ordered size holds, whatever else is edited and whoever looks after the fleet; only the file's own word on the
// size ends it.
func TestAnOrderedSizeHoldsUntilTheFileSaysAnother(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		began := len(s.records())
		s.scale(5)
		s.await(5*time.Minute, "five stand", func() bool { return s.healthy(4) && s.healthy(5) })
		s.reload(func(spec *policy.Spec) { spec.Limits.InBuild = 2 })
		s.kill()
		s.start()
		s.await(time.Minute, "they stand under the next owner", func() bool { return s.healthy(4) && s.healthy(5) })
		if is, asked := s.size(); is != 5 || asked != 5 || s.status().Whole.Ledger.Ordered.By != "alice" ||
			s.status().Whole.Ledger.Ordered.File != 3 {
			s.t.Errorf("%d machines, %d asked for, by %+v", is, asked, s.status().Whole.Ledger.Ordered)
		}
		s.undisturbed(began)
		s.reload(func(spec *policy.Spec) { spec.Size = 6 })
		s.await(5*time.Minute, "six stand", func() bool { return s.healthy(6) })
		if !s.has(fleet.ReasonSizeFromFile) || s.status().Whole.Ledger.Ordered != nil {
			s.t.Errorf("the file's word is not the last one: %+v", s.status().Whole.Ledger)
		}
	})
}

// A smaller size waits for a person's word, also across a restart; another order takes it back.
func TestASmallerOrderedSizeWaitsForAWord(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(4), func(s *story) {
		s.grown()
		s.scale(2)
		s.pass(time.Minute)
		s.kill()
		s.start()
		s.pass(time.Minute)
		status := s.status()
		p := status.Pending()
		if p.From != 4 || p.To != 2 || len(p.Remove) != 2 || !s.allHealthy() {
			s.t.Fatalf("the plan is %+v", p)
		}
		s.scale(4)
		s.pass(time.Minute)
		if status = s.status(); !status.Pending().Empty() || status.Whole.Ledger.Ordered != nil {
			s.t.Errorf("what was taken back waits still: %+v", status.Whole.Ledger)
		}
		s.scale(3)
		s.pass(time.Minute)
		began := len(s.records())
		s.confirm()
		s.await(5*time.Minute, "three are left", func() bool { return s.gone(4) && s.status().Spec.Size == 3 })
		s.pass(10 * time.Minute)
		s.undisturbed(began)
		if !s.healthy(1) || !s.healthy(2) || !s.healthy(3) || !s.gone(4) {
			s.t.Error("not the three that are to stay are well")
		}
	})
}

// What is being removed is asked for once: a second confirmation finds nothing that waits.
func TestAPlanThatIsCarriedOutWaitsNoMore(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(4), func(s *story) {
		s.grown()
		s.scale(2)
		lift := s.inject(simulated.Outage{})
		s.pass(time.Minute)
		plan := s.confirm()
		s.pass(time.Minute)
		status := s.status()
		if !status.Pending().Empty() {
			s.t.Errorf("%+v waits, and is carried out", status.Pending())
		}
		s.orders(fleet.Order{Kind: fleet.OrderConfirm, Plan: plan})
		lift()
		s.await(5*time.Minute, "two are left", func() bool {
			return s.gone(3) && s.gone(4) &&
				s.status().Spec.Size == 2
		})
		s.pass(10 * time.Minute)
		if !s.healthy(1) || !s.healthy(2) {
			s.t.Error("the two that stay are not well")
		}
	})
}

// The very machine that a person names goes, and nothing brings it back: no restart, no edit of other keys. A second
// order finds it gone.
func TestADeletedMachineStaysAway(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		began := len(s.records())
		s.remove(2)
		s.await(5*time.Minute, "it has gone", func() bool { return s.gone(2) && s.status().Spec.Size == 2 })
		s.reload(func(spec *policy.Spec) { spec.BlindAfter = time.Hour })
		s.kill()
		s.start()
		s.pass(10 * time.Minute)
		s.orders(fleet.Order{Kind: fleet.OrderDelete, Machine: "web-2"})
		s.pass(10 * time.Minute)
		if is, asked := s.size(); is != 2 || asked != 2 || !s.gone(2) || !s.healthy(1) || !s.healthy(3) ||
			len(s.dead()) != 0 {
			s.t.Errorf("%d machines, %d asked for; %+v", is, asked, s.dead())
		}
		s.undisturbed(began)
		s.inject(simulated.Crash{Instance: s.id(3)})
		s.await(5*time.Minute, "the others are healed as ever", func() bool { return s.heals(3) == 1 && s.healthy(3) })
	})
}

// What the provider keeps for a machine that is given up, such as an address, goes with it, and with no other: the one
// that is built anew has it still.
func TestWhoIsGivenUpForGoodIsSaid(t *testing.T) {
	t.Parallel()
	spec := web(3)
	spec.Repair.Steps = []policy.Step{{Kind: fleet.StepRecreate, Timeout: time.Minute, VerifyWithin: time.Minute}}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		s.inject(simulated.Crash{Instance: s.id(1)})
		s.await(10*time.Minute, "one is built anew", func() bool { return s.heals(1) == 1 && s.healthy(1) })
		s.remove(2)
		s.await(5*time.Minute, "another has gone", func() bool { return s.gone(2) })
		deletes := map[fleet.MachineName]bool{}
		for _, c := range s.world.Calls() {
			if _, twice := deletes[c.Machine]; c.Op == fleet.OpDelete {
				if deletes[c.Machine] = c.ForGood; twice {
					s.t.Errorf("%s was deleted twice", c.Machine)
				}
			}
		}
		if len(deletes) != 2 || deletes["web-1"] || !deletes["web-2"] {
			s.t.Errorf("for good were deleted: %v", deletes)
		}
	})
}

// What is under way on the machine ends first, or gives way: a first build, and a repair in any of its phases.
func TestADeleteComesWhileTheMachineIsWorkedOn(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(r *belief.Repair) bool{
		"a look":       func(r *belief.Repair) bool { return r.Phase == belief.PhaseLook },
		"a power-off":  func(r *belief.Repair) bool { return r.Intent != nil && r.Intent.Op == fleet.OpPowerOff },
		"a delete":     func(r *belief.Repair) bool { return r.Intent != nil && r.Intent.Op == fleet.OpDelete },
		"a create":     func(r *belief.Repair) bool { return r.Intent != nil && r.Intent.Op == fleet.OpCreate },
		"a new build":  func(r *belief.Repair) bool { return r.Phase == belief.PhaseVerify },
		"a certifying": func(r *belief.Repair) bool { return r.Intent != nil && r.Intent.Op == fleet.OpCertify },
		"no proof, yet": func(r *belief.Repair) bool {
			return r.Phase == belief.PhaseAct &&
				r.Proof.Grade().Proof == fleet.ProofNone
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{Latency: 2 * time.Second}, ladder(web(3), fleet.StepRecreate), func(s *story) {
				s.grown()
				s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoNetwork,
					Cure: simulated.ByRecreate}})
				s.await(5*time.Minute, name, func() bool { r := s.machine(2).Repair; return r != nil && at(r) })
				s.remove(2)
				s.await(10*time.Minute, "it has gone", func() bool { return s.gone(2) && s.status().Spec.Size == 2 })
				s.pass(30 * time.Minute)
				if !s.gone(2) || !s.healthy(1) || !s.healthy(3) {
					s.t.Error("the other two are not well, or it is back")
				}
			})
		})
	}
}

// L12, S52: killed at any write of a delete, hale ends it once, and never builds the machine again.
func TestADeleteThatIsKilledAtAnyWriteEndsOnce(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 20; n++ {
		for effect, name := range map[memory.Effect]string{memory.FailBefore: "before", memory.FailAfter: "after"} {
			t.Run(fmt.Sprintf("%s write %d", name, n), func(t *testing.T) {
				t.Parallel()
				tell(t, simulated.Options{}, web(3), func(s *story) {
					s.grown()
					s.remove(2)
					s.kill()
					var left atomic.Int32
					left.Store(int32(n))
					s.faults = func(_ context.Context, c memory.Call) memory.Effect {
						if c.Op != memory.OpCommit {
							return memory.Normal
						}
						switch now := left.Add(-1); {
						case now == 0:
							return effect
						case now < 0:
							return memory.FailBefore
						}
						return memory.Normal
					}
					s.start()
					s.pass(time.Minute)
					s.kill()
					s.faults = nil
					s.start()
					s.await(20*time.Minute, "it has gone", func() bool {
						return s.gone(2) &&
							s.status().Spec.Size == 2
					})
					s.pass(20 * time.Minute)
					if _, asked := s.size(); asked != 2 || s.inInbox() != 0 || !s.gone(2) || !s.healthy(1) ||
						!s.healthy(3) {
						s.t.Errorf("%d asked for, %d letters wait", asked, s.inInbox())
					}
				})
			})
		}
	}
}

// S52: a delete that fails is given up with a page, the size is what it was, and the machine is healed as before.
func TestADeleteThatFailsIsGivenUpAndTheSizeStays(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		lift := s.inject(simulated.Calls{Op: fleet.OpDelete, Effect: simulated.Fails})
		s.remove(2)
		s.await(20*time.Minute, "it is given up", func() bool { return s.has(fleet.ReasonGivenUp) })
		lift()
		s.await(10*time.Minute, "it is well again", func() bool { return s.healthy(2) })
		status := s.status()
		if is, asked := s.size(); is != 3 || asked != 3 || !status.Pending().Empty() ||
			status.Whole.Ledger.Ordered != nil {
			s.t.Errorf("%d machines, %d asked for: %+v", is, asked, status.Whole.Ledger)
		}
	})
}

// What guards a machine guards it from being deleted, before the order and after it.
func TestWhatRefusesADelete(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(s *story)
		why   fleet.Reason
	}{
		"it is protected": {func(s *story) { s.reload(func(spec *policy.Spec) { spec.Protected = []int{2} }) },
			fleet.ReasonProtected},
		"it is held":        {func(s *story) { s.holds(fleet.Order{Machine: "web-2"}, time.Hour) }, fleet.ReasonHold},
		"its fleet is held": {func(s *story) { s.holds(fleet.Order{}, time.Hour) }, fleet.ReasonHold},
		"the brake is on":   {func(s *story) { s.orders(fleet.Order{Kind: fleet.OrderBrakeOn}) }, fleet.ReasonBrake},
		"hale only watches": {func(s *story) { s.reload(func(spec *policy.Spec) { spec.Mode = policy.ModeObserve }) },
			fleet.ReasonObserve},
		"a disk would be lost": {func(s *story) {
			s.reload(func(spec *policy.Spec) { spec.Template.Disks = []policy.Disk{{Name: "root"}} })
		}, fleet.ReasonDiskKept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := web(3)
			spec.Template.Disks = []policy.Disk{{Name: "root", Ephemeral: true}}
			tell(t, simulated.Options{}, spec, func(s *story) {
				s.grown()
				c.spoil(s)
				s.pass(10 * time.Second)
				s.orders(fleet.Order{Kind: fleet.OrderDelete, Machine: "web-2"})
				s.pass(10 * time.Minute)
				dead := s.dead()
				if len(dead) != 1 || dead[0].Reason != c.why || s.gone(2) || s.status().Spec.Size != 3 {
					s.t.Errorf("refused: %+v", dead)
				}
			})
		})
	}
}

// A machine that is protected after it was ordered away stays.
func TestProtectionStopsARemovalThatDidNotBegin(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]func(s *story){
		"of a smaller size": func(s *story) {
			s.reload(func(spec *policy.Spec) { spec.Size = 2 })
			s.confirm()
		},
		"by its name": func(s *story) { s.remove(3) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, web(3), func(s *story) {
				s.grown()
				lift := s.inject(simulated.Outage{})
				s.pass(time.Minute)
				order(s)
				s.pass(time.Minute)
				s.reload(func(spec *policy.Spec) { spec.Protected = []int{3} })
				lift()
				s.pass(10 * time.Minute)
				if !s.healthy(3) || len(s.status().Whole.Ledger.Removals) != 0 ||
					s.count(kind(record.RepairStarted)) > 3 {
					s.t.Errorf("it is not left alone: %+v", s.status().Whole.Ledger)
				}
			})
		})
	}
}

func TestTheLastMachineIsNotDeleted(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(2), func(s *story) {
		s.grown()
		s.remove(2)
		s.orders(fleet.Order{Kind: fleet.OrderDelete, Machine: "web-1"})
		s.await(5*time.Minute, "the other one has gone", func() bool { return s.gone(2) && s.status().Spec.Size == 1 })
		s.pass(10 * time.Minute)
		if dead := s.dead(); len(dead) != 1 || dead[0].Reason != fleet.ReasonLastMachine || !s.healthy(1) {
			s.t.Errorf("refused: %+v", dead)
		}
	})
}

// An old instance that is kept outlives its machine for the rest of its time, and is removed then, whoever looks after
// the fleet.
func TestWhatADeletedMachineKeptGoesWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	spec := ladder(web(3), fleet.StepRecreate)
	spec.Repair.Steps[0].KeepOld = 2 * time.Hour
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		old := s.id(3)
		s.inject(simulated.Broken{Instance: old, Illness: simulated.Illness{Symptom: simulated.NoNetwork,
			Cure: simulated.ByRecreate}})
		s.await(10*time.Minute, "it is replaced", func() bool { return s.healthy(3) && s.id(3) != old })
		s.remove(3)
		s.await(5*time.Minute, "it has gone", func() bool { return s.gone(3) && s.status().Spec.Size == 2 })
		if !s.has(fleet.ReasonKeptStays) {
			s.t.Error("nobody is told what stays")
		}
		s.pass(time.Hour)
		s.kill()
		s.start()
		s.pass(50 * time.Minute)
		if g, there := s.world.Guest(old); !there || !g.Mark.Kept {
			s.t.Errorf("it is not kept for its time: %+v", g)
		}
		s.await(time.Hour, "its time is over", func() bool { _, there := s.world.Guest(old); return !there })
		s.pass(10 * time.Minute)
		if m := s.machine(3); len(m.Kept) != 0 || m.Repair != nil || s.status().Spec.Size != 2 ||
			s.count(kind(record.Paged)) != 0 {
			s.t.Errorf("%+v is believed of it", m)
		}
	})
}

// What a lost call builds after all, when its machine has gone, is removed.
func TestWhatIsBuiltTooLateForADeletedMachineIsRemoved(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.grown()
		s.inject(simulated.Vanishes{Instance: s.id(2)})
		lift := s.inject(simulated.Calls{Op: fleet.OpCreate, Effect: simulated.ActsLate, Delay: 3 * time.Minute})
		s.await(5*time.Minute, "it is ordered", func() bool {
			r := s.machine(2).Repair
			return r != nil && r.Intent != nil && r.Intent.Op == fleet.OpCreate
		})
		s.pass(time.Second)
		lift()
		s.remove(2)
		s.await(20*time.Minute, "it has gone", func() bool { return s.gone(2) && s.status().Spec.Size == 2 })
		s.pass(time.Hour)
		if !s.gone(2) {
			s.t.Error("it is back")
		}
	})
}

// Of an adopted machine a delete only lets go: it runs on, is not taken up again, and what is under way on it ends. The
// file that selects otherwise has the last word.
func TestAnAdoptedMachineIsOnlyLetGo(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, db(), func(s *story) {
		s.existing("db-main", "db-one", "db-two")
		s.adopts("db-main", "db-one", "db-two")
		s.orders(fleet.Order{Kind: fleet.OrderDelete, Machine: s.called("db-one").Name})
		s.await(time.Minute, "it is let go", s.adopted("db-main", "db-two"))
		s.kill()
		s.start()
		s.pass(10 * time.Minute)
		if !s.adopted("db-main", "db-two")() || len(s.world.Calls()) != 0 || !s.has(fleet.ReasonLetGo) {
			s.t.Errorf("it is %+v, calls %+v", s.called("db-one"), s.world.Calls())
		}
		s.inject(simulated.Crash{Instance: "db-main"})
		s.await(time.Minute, "it is started", func() bool { r := s.called("db-main").Repair; return r != nil })
		s.orders(fleet.Order{Kind: fleet.OrderDelete, Machine: s.called("db-main").Name})
		s.await(time.Minute, "that one, too", s.adopted("db-two"))
		s.pass(10 * time.Minute)
		if calls := s.world.Calls(); len(calls) > 1 || !s.adopted("db-two")() || s.count(kind(record.Paged)) != 0 {
			s.t.Errorf("it is worked on still: %+v", calls)
		}
		s.scale(5)
		s.pass(time.Minute)
		if dead := s.dead(); len(dead) != 1 || dead[0].Reason != fleet.ReasonSelects {
			s.t.Errorf("a size is ordered of a fleet that selects: %+v", dead)
		}
		s.reload(func(spec *policy.Spec) { spec.Adopt.Select.Except = []string{"db-x"} })
		s.await(10*time.Minute, "the file selects anew", s.adopted("db-main", "db-one", "db-two"))
	})
}

// A machine that a person named goes, also when more are asked for before its turn comes: by the file, or by order.
func TestWhatIsNamedGoesThoughMoreAreAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more func(s *story)
		size int
	}{
		"by the file": {func(s *story) { s.reload(func(spec *policy.Spec) { spec.Size = 4 }) }, 4},
		"by order":    {func(s *story) { s.scale(4) }, 4},
		"as before":   {func(s *story) { s.scale(3) }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, web(3), func(s *story) {
				s.grown()
				old := s.id(2)
				lift := s.inject(simulated.Outage{})
				s.pass(time.Minute)
				s.remove(2)
				s.pass(time.Minute)
				c.more(s)
				s.pass(time.Minute)
				lift()
				s.await(10*time.Minute, "it has gone", func() bool { _, there := s.world.Guest(old); return !there })
				s.await(10*time.Minute, "as many stand as are asked for", func() bool {
					well := 0
					for n := 1; n <= 5; n++ {
						if s.healthy(n) {
							well++
						}
					}
					return well == c.size && s.status().Spec.Size == c.size
				})
				s.pass(10 * time.Minute)
				status := s.status()
				if is, asked := s.size(); is != c.size || asked != c.size || !status.Pending().Empty() {
					s.t.Errorf("%d machines, %d asked for", is, asked)
				}
			})
		})
	}
}

// L9: a removal that a hold lets finish waits all the same, after a take-over, until everything was judged afresh.
func TestARemovalUnderAHoldWaitsForTheAmnesty(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		lift := s.inject(simulated.Calls{Op: fleet.OpPowerOff, Effect: simulated.Hangs})
		s.remove(2)
		s.await(time.Minute, "it is told to power off", func() bool {
			r := s.machine(2).Repair
			return r != nil && r.Intent != nil && r.Intent.Op == fleet.OpPowerOff
		})
		s.holds(fleet.Order{Machine: "web-2"}, time.Hour)
		s.kill()
		lift()
		s.start()
		began := time.Now()
		s.await(5*time.Minute, "it has gone, hold or not", func() bool {
			return s.gone(2) &&
				s.status().Spec.Size == 2
		})
		calls := s.calls(fleet.OpPowerOff, began)
		if len(calls) == 0 || calls[0].At.Sub(began) < 7*time.Second {
			s.t.Errorf("it is powered off before its checks could speak: %+v", calls)
		}
	})
}

// No machine is removed while a call to build it may yet be carried out; what that builds all the same does not stay.
func TestL1NoMachineIsRemovedBesideALateBuild(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.leaving = append(s.leaving, "web-3")
		s.grown()
		lift := s.inject(simulated.Calls{Op: fleet.OpCreate, Effect: simulated.Fails, Kind: fault.Permanent})
		s.inject(simulated.Calls{Op: fleet.OpCreate, Effect: simulated.ActsLate, Delay: 110 * time.Second, Times: 1})
		s.inject(simulated.Broken{Instance: s.id(3), Illness: simulated.Illness{Symptom: simulated.NoNetwork,
			Cure: simulated.ByRecreate}})
		s.await(5*time.Minute, "its successor was asked for in vain",
			func() bool { m := s.machine(3); return m.Anchor != nil && m.Repair == nil })
		s.reload(func(spec *policy.Spec) { spec.Size = 2 })
		s.confirm()
		s.await(time.Minute, "it waits, and says why", func() bool { return s.has(fleet.ReasonLateCall) })
		lift()
		s.await(10*time.Minute, "it has gone", func() bool { return s.status().Spec.Size == 2 })
		s.pass(10 * time.Minute)
		if i, ok := s.world.Instance("web-3"); ok {
			t.Errorf("%s is there, %s", i.ID, i.Power)
		}
	})
}
