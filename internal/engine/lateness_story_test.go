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
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/state/memory"
)

// L1: the same, with a repair that fails in between.
func TestALostOrderIsRememberedBeyondItsRepair(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 4; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			tell(t, simulated.Options{Hosts: []fleet.HostName{"h1", "h2", "h3", "h4"}}, web(4), func(s *story) {
				m := s.spec.Name.Machine(n)
				s.inject(simulated.Calls{Op: fleet.OpCreate, Machine: m, Times: 1, Effect: simulated.Fails,
					Kind: fault.Permanent})
				s.inject(simulated.Calls{Op: fleet.OpCreate, Machine: m, Times: 1, Effect: simulated.ActsLate,
					Delay: 60 * time.Second})
				s.start()
				s.pass(10 * time.Minute)
			})
		})
	}
}

// L1: the old instance is off and not deleted, hale dies, and a person starts it.
func TestAnOldProofIsWorthNothingAfterARestart(t *testing.T) {
	t.Parallel()
	hosts := simulated.Options{Hosts: []fleet.HostName{"h1", "h2", "h3", "h4"}}
	tell(t, hosts, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.spec.Repair.Steps[0].OnDeleteFailure = policy.DeleteFailureContinue
		s.grown()
		s.inject(simulated.Calls{Op: fleet.OpDelete, Effect: simulated.Fails, Kind: fault.Permanent})
		lift := s.inject(simulated.Calls{Op: fleet.OpCreate, Effect: simulated.Hangs, Times: 1})
		end := s.inject(broken(s.id(2)))
		s.mendedWhileAway(fleet.OpCreate, lift, end)
	})
}

// Everything fails at once while the store is slow; afterwards everything is well again, soon.
func TestASlowStoreDoesNotDeafenTheOwner(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(200), func(s *story) {
		s.spec.Limits.InBuild = 200
		var slow atomic.Int64
		s.faults = slowCommits(&slow)
		s.grown()
		at := time.Now()
		slow.Store(int64(30 * time.Millisecond))
		var lifts []func()
		for n := 1; n <= 200; n++ {
			lifts = append(lifts, s.inject(simulated.Broken{Instance: s.id(n),
				Illness: simulated.Illness{Symptom: simulated.NoNetwork, Cure: simulated.ByRecreate}}))
		}
		s.pass(2 * time.Minute)
		for _, l := range lifts {
			l()
		}
		s.pass(10 * time.Minute)
		unknown, total, late := 0, 0, 0
		for _, r := range s.records() {
			if r.At.After(at) && r.Kind == record.Verdict {
				total++
				if r.Verdict == belief.VerdictUnknown {
					unknown++
				}
				if r.Result == fleet.ResultLate {
					late++
				}
			}
		}
		healthy := 0
		for n := 1; n <= 200; n++ {
			if s.healthy(n) {
				healthy++
			}
		}
		if healthy < 200 || unknown > 2*200 {
			t.Errorf("verdicts %d unknown %d late %d; healthy at the end %d", total, unknown, late, healthy)
		}
	})
}

// The store fails at the first sight of the provider.
func TestAnIdentityThatCouldNotBeStoredIsStoredLater(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(1), func(s *story) {
		fails := 1
		s.faults = func(_ context.Context, c memory.Call) memory.Effect {
			if c.Op == memory.OpCommit && len(c.Txn.Then) == 1 && len(c.Txn.If) == 0 && fails > 0 {
				fails--
				return memory.FailBefore
			}
			return memory.Normal
		}
		s.grown()
		if _, err := s.backing.Open(nil).Get(t.Context(), "providers/lab/identity"); err != nil {
			t.Errorf("a fleet was built and the provider's identity is not pinned: %v", err)
		}
	})
}

// L10: a person starts a crashed machine while its repair waits for the provider.
func TestAMachineStartedWhileItsRepairWaitsHasItsGrace(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepRecreate), func(s *story) {
		s.grown()
		old := s.id(2)
		lift := s.inject(simulated.Calls{Op: provider.OpGet, Effect: simulated.Fails})
		s.inject(simulated.Crash{Instance: old})
		s.await(time.Minute, "look", func() bool {
			r := s.machine(2).Repair
			return r != nil &&
				r.Phase == belief.PhaseLook
		})
		s.pass(2 * time.Minute)
		s.inject(simulated.Broken{Instance: old, Illness: simulated.Illness{Symptom: simulated.BootsSlowly,
			Delay: 50 * time.Second, Cure: simulated.ByRecreate}})
		s.personStarts(2)
		s.pass(2 * time.Second)
		lift()
		s.pass(3 * time.Minute)
		if s.id(2) != old {
			t.Error("a machine that a person started, still within grace, was destroyed")
		}
	})
}

// One commit hangs until its time is over.
func TestOneCommitThatHangs(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(3), func(s *story) {
		var hang atomic.Bool
		s.faults = func(_ context.Context, c memory.Call) memory.Effect {
			if c.Op == memory.OpCommit && hang.CompareAndSwap(true, false) {
				return memory.Stall
			}
			return memory.Normal
		}
		s.grown()
		hang.Store(true)
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.pass(time.Hour)
		if !s.healthy(2) {
			t.Errorf("one commit never answered: dead for an hour; status acting=%q", s.status().Acting)
		}
	})
}
