package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"hale/internal/fleet"
	"hale/internal/provider/simulated"
	"hale/internal/state/memory"
)

// fatal makes the store freeze at the n-th commit from when it is armed, before or after the commit took effect: the
// controller is as good as dead from there on.
type fatal struct {
	armed  bool
	left   int
	effect memory.Effect
	died   bool
}

func (f *fatal) faults(_ context.Context, c memory.Call) memory.Effect {
	if !f.armed || c.Op != memory.OpCommit {
		return memory.Normal
	}
	if f.died {
		return memory.Stall
	}
	if f.left--; f.left > 0 {
		return memory.Normal
	}
	f.died = true
	return f.effect
}

// S71: hale is killed at each write of each kind of heal, just before or just after the write reached the disk. After
// the restart the end state is right: healed, one instance, nothing left behind.
func TestS71KilledAtAnyWriteOfAHeal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ladder []fleet.Step
		fail   func(s *story) simulated.Fault
	}{
		"start": {ladder: []fleet.Step{rung(fleet.StepStart)},
			fail: func(s *story) simulated.Fault { return simulated.Crash{Instance: s.id(2)} }},
		"reboot": {ladder: []fleet.Step{rung(fleet.StepReboot), rung(fleet.StepRecreate)},
			fail: func(s *story) simulated.Fault {
				return simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}}
			}},
		"soft reboot": {ladder: []fleet.Step{softly(), rung(fleet.StepRecreate)},
			fail: func(s *story) simulated.Fault {
				return simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}}
			}},
		"resume": {ladder: []fleet.Step{rung(fleet.StepResume)},
			fail: func(s *story) simulated.Fault { return simulated.Paused{Instance: s.id(2), By: fleet.StopGuest} }},
		"recreate": {ladder: []fleet.Step{rung(fleet.StepRecreate)},
			fail: func(s *story) simulated.Fault {
				return simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate}}
			}},
		"page": {ladder: []fleet.Step{{Kind: fleet.StepPage, VerifyWithin: 5 * time.Second}, {Kind: fleet.StepPage}, rung(fleet.StepReboot)},
			fail: func(s *story) simulated.Fault {
				return simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}}
			}},
		"run": {ladder: []fleet.Step{playbook(true), rung(fleet.StepRecreate)}, fail: unconfigured},
		"rebuild": {ladder: []fleet.Step{rung(fleet.StepRebuild), rung(fleet.StepRecreate)},
			fail: func(s *story) simulated.Fault {
				return simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate}}
			}},
		"gone": {ladder: []fleet.Step{rung(fleet.StepRecreate)},
			fail: func(s *story) simulated.Fault { return simulated.Vanishes{Instance: s.id(2)} }},
	} {
		for _, effect := range []memory.Effect{memory.Stall, memory.StallAfter} {
			for write := 1; write <= 14; write++ {
				t.Run(fmt.Sprintf("%s, write %d, %v", name, write, map[memory.Effect]string{
					memory.Stall: "before", memory.StallAfter: "after"}[effect]), func(t *testing.T) {
					t.Parallel()
					tell(t, simulated.Options{Latency: 50 * time.Millisecond}, rungs(web(3), c.ladder...), func(s *story) {
						f := &fatal{left: write, effect: effect}
						s.faults = f.faults
						s.grown()
						f.armed = true
						s.inject(c.fail(s))
						s.pass(30 * time.Second) // it dies somewhere in here, or the heal has fewer writes
						if write <= 5 && !f.died {
							t.Error("a heal has more writes than this")
						}
						s.faults = nil
						s.kill()
						s.pass(time.Second)
						s.start()
						s.await(10*time.Minute, "the fleet stands again", s.allHealthy)
						s.pass(time.Minute)
						s.oneInstanceEach()
					})
				})
			}
		}
	}
}

// S71: the same while the first instances are built.
func TestS71KilledAtAnyWriteOfABuild(t *testing.T) {
	t.Parallel()
	for _, effect := range []memory.Effect{memory.Stall, memory.StallAfter} {
		for write := 1; write <= 16; write++ {
			t.Run(fmt.Sprintf("write %d, %v", write, effect), func(t *testing.T) {
				t.Parallel()
				tell(t, simulated.Options{Latency: 50 * time.Millisecond}, web(2), func(s *story) {
					f := &fatal{left: write, effect: effect, armed: true}
					s.faults = f.faults
					s.start()
					s.pass(20 * time.Second)
					if write <= 12 && !f.died {
						t.Error("two builds have more writes than this")
					}
					s.faults = nil
					s.kill()
					s.start()
					s.await(10*time.Minute, "the fleet stands", s.allHealthy)
					s.pass(2 * time.Minute)
					s.oneInstanceEach()
				})
			})
		}
	}
}

// S71: hale dies while a call is under way, which takes effect all the same, or does not.
func TestS71KilledDuringEachCall(t *testing.T) {
	t.Parallel()
	for _, op := range []fleet.Op{fleet.OpPowerOff, fleet.OpDelete, fleet.OpCreate, fleet.OpCertify, fleet.OpStart, fleet.OpReboot, fleet.OpSoftReboot, fleet.OpResume, fleet.OpRebuild} {
		for _, effect := range []simulated.Effect{simulated.HangsAfter, simulated.Hangs, simulated.ActsLate} {
			t.Run(string(op)+" "+string(effect), func(t *testing.T) {
				t.Parallel()
				spec := rungs(web(3), rung(fleet.StepStart), rung(fleet.StepResume), softly(), rung(fleet.StepReboot), rung(fleet.StepRecreate))
				if op == fleet.OpRebuild {
					spec = rungs(spec, rung(fleet.StepRebuild), rung(fleet.StepRecreate))
				}
				tell(t, simulated.Options{}, spec, func(s *story) {
					s.grown()
					lift := s.inject(simulated.Calls{Op: op, Times: 1, Effect: effect, Delay: 2 * time.Second})
					switch op {
					case fleet.OpStart:
						s.inject(simulated.Crash{Instance: s.id(2)})
					case fleet.OpResume:
						s.inject(simulated.Paused{Instance: s.id(2), By: fleet.StopGuest})
					default:
						s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate}})
					}
					s.await(3*time.Minute, "the call is under way", func() bool {
						r := s.machine(2).Repair
						return r != nil && r.Intent != nil && r.Intent.Op == op
					})
					s.kill()
					lift()
					s.pass(time.Second)
					s.start()
					s.await(10*time.Minute, "the fleet stands again", s.allHealthy)
					s.pass(3 * time.Minute)
					s.oneInstanceEach()
				})
			})
		}
	}
}

// L12: a reset whose answer was lost cannot be observed; it is not repeated, the machine's health decides.
func TestALostAnswerToAResetIsNotRepeated(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		s.grown()
		at := time.Now()
		s.inject(simulated.Calls{Op: fleet.OpReboot, Times: 1, Effect: simulated.AnswerLost})
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		s.await(2*time.Minute, "web-2 is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		if n := len(s.calls(fleet.OpReboot, at)); n != 1 {
			t.Errorf("%d resets, want one", n)
		}
	})
}

// oneInstanceEach checks the truth: every machine has exactly one instance, it runs, and it is the certified one.
func (s *story) oneInstanceEach() {
	s.t.Helper()
	if !s.allHealthy() {
		s.t.Error("the fleet does not stand")
	}
	exist := make(map[fleet.MachineName]int)
	for _, l := range s.world.Lives() {
		if l.Removed.IsZero() {
			exist[l.Mark.Machine]++
		}
	}
	for n := 1; n <= s.spec.Size; n++ {
		name := s.spec.Name.Machine(n)
		if exist[name] != 1 || s.world.RunningCopies(name) != 1 {
			s.t.Errorf("%s has %d instances, %d running", name, exist[name], s.world.RunningCopies(name))
		}
		if i, _ := s.world.Instance(name); i.ID != s.machine(n).Current.ID || !i.Mark.Certified {
			s.t.Errorf("%s is %s (certified %v), hale believes %s", name, i.ID, i.Mark.Certified, s.machine(n).Current.ID)
		}
	}
}
