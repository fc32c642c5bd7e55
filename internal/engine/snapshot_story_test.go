package engine_test

import (
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
)

// copying is a ladder that copies the disks before it replaces them.
func copying(size int, then policy.OnFailure) policy.Spec {
	step := rung(fleet.StepSnapshot)
	step.Timeout, step.Keep, step.KeepFor, step.OnFailure = time.Minute, 1, 10*time.Minute, then
	return rungs(web(size), step, rung(fleet.StepRecreate))
}

// hang lets web-2 hang for good, until it is replaced.
func (s *story) hang() {
	s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.Hung,
		Cure: simulated.ByRecreate}})
}

func (s *story) copied(heals int) func() bool {
	return func() bool { return s.heals(2) == heals && s.healthy(2) }
}

// The copy is made before the instance goes, stays when it is gone, gives way to a younger one, and goes when its time
// is over.
func TestDisksAreCopiedBeforeTheyAreLost(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{Latency: 20 * time.Millisecond}, copying(3, policy.OnFailureStop), func(s *story) {
		s.grown()
		old := s.id(2)
		s.hang()
		s.await(10*time.Minute, "web-2 is healed", s.copied(1))
		made := s.world.Snapshots()
		if len(made) != 1 || made[0].Instance != old || made[0].Machine != "web-2" {
			t.Fatalf("copies: %+v", made)
		}
		if d := s.machine(2).Snapshots; len(d) != 1 || !d[0].Whole || d[0].Instance != old || d[0].Where == "" ||
			d[0].Bytes == 0 {
			t.Errorf("hale believes in %+v", d)
		}
		s.hang()
		s.await(10*time.Minute, "web-2 is healed again", s.copied(2))
		s.await(10*time.Minute, "the older copy is gone", func() bool { return len(s.world.Snapshots()) == 1 })
		if now := s.world.Snapshots(); now[0].ID == made[0].ID {
			t.Errorf("the older one stayed: %+v", now)
		}
		s.await(20*time.Minute, "the last copy is gone", func() bool {
			return len(s.world.Snapshots()) == 0 &&
				len(s.machine(2).Snapshots) == 0
		})
		if !s.healthy(2) || s.heals(2) != 2 {
			t.Error("the machine was touched")
		}
	})
}

// What fails says what follows: the machine is left to a person with all that is on it, or replaced all the same.
func TestACopyThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then  policy.OnFailure
		spoil func(s *story)
		lacks bool
		heals int
	}{
		"no room, so nothing is lost":      {then: policy.OnFailureStop, spoil: refuses(fault.NoSpace)},
		"no room, and it is not worth it":  {then: policy.OnFailureContinue, spoil: refuses(fault.NoSpace), heals: 1},
		"it fails":                         {then: policy.OnFailureStop, spoil: refuses(fault.Permanent)},
		"it turns out not to be possible":  {then: policy.OnFailureStop, spoil: refuses(fault.Unsupported)},
		"its answers are lost":             {then: policy.OnFailureStop, spoil: hangs(simulated.Hangs)},
		"its answers are lost, whatever":   {then: policy.OnFailureContinue, spoil: hangs(simulated.Hangs), heals: 1},
		"the provider never can":           {then: policy.OnFailureStop, lacks: true},
		"the provider never can, whatever": {then: policy.OnFailureContinue, lacks: true, heals: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, copying(3, c.then), func(s *story) {
				if c.lacks {
					s.adapter = func(p provider.Provider) provider.Provider { return deprived{p} }
				}
				s.grown()
				if c.spoil != nil {
					c.spoil(s)
				}
				s.hang()
				if c.heals > 0 {
					s.await(20*time.Minute, "web-2 is healed", s.copied(1))
				} else {
					s.await(20*time.Minute, "web-2 is left to a person",
						func() bool { return s.machine(2).Quarantine != nil })
					if q := s.machine(2).Quarantine; q.Reason != fleet.ReasonSnapshotFailed {
						t.Errorf("because of %s", q.Reason)
					}
					if n := len(s.calls(fleet.OpDelete, time.Time{})) + len(s.calls(fleet.OpPowerOff,
						time.Time{})); n != 0 {
						t.Errorf("%d calls that destroy", n)
					}
				}
				if n := len(s.world.Snapshots()); n != 0 {
					t.Errorf("%d copies", n)
				}
				if c.heals > 0 {
					s.await(10*time.Minute, "nothing is believed in",
						func() bool { return len(s.machine(2).Snapshots) == 0 })
				}
			})
		})
	}
}

func refuses(kind fault.Kind) func(*story) {
	return func(s *story) {
		s.inject(simulated.Calls{Op: fleet.OpSnapshot, Effect: simulated.Fails, Kind: kind})
	}
}

func hangs(how simulated.Effect) func(*story) {
	return func(s *story) { s.inject(simulated.Calls{Op: fleet.OpSnapshot, Effect: how}) }
}

// The answer to the copy is lost, or hale is killed before or after it took effect: there is one copy, which hale
// knows.
func TestS71ACopyWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		how    simulated.Effect
		killed bool
	}{
		"after it took effect":              {how: simulated.HangsAfter},
		"before it took effect":             {how: simulated.Hangs},
		"killed after it took effect":       {how: simulated.HangsAfter, killed: true},
		"killed before it took effect":      {how: simulated.Hangs, killed: true},
		"killed, and it takes effect later": {how: simulated.ActsLate, killed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, copying(3, policy.OnFailureStop), func(s *story) {
				s.grown()
				s.inject(simulated.Calls{Op: fleet.OpSnapshot, Times: 1, Effect: c.how, Delay: 30 * time.Second})
				s.hang()
				s.await(5*time.Minute, "the copy is ordered", func() bool {
					r := s.machine(2).Repair
					return r != nil && r.Intent != nil && r.Intent.Op == fleet.OpSnapshot
				})
				if c.killed {
					s.kill()
					s.start()
				}
				s.await(20*time.Minute, "web-2 is healed", s.copied(1))
				made, known := s.world.Snapshots(), s.machine(2).Snapshots
				if len(made) != 1 || len(known) != 1 || !known[0].Whole || known[0].ID != made[0].ID {
					t.Errorf("there are %+v, and hale believes in %+v", made, known)
				}
			})
		})
	}
}

// A copy that will not go is tried again much later, a person is told once, and the machine is healed meanwhile as any
// other.
func TestACopyThatWillNotGoKeepsNothingUp(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, copying(3, policy.OnFailureStop), func(s *story) {
		s.grown()
		s.hang()
		s.await(10*time.Minute, "web-2 is healed", s.copied(1))
		lift := s.inject(simulated.Calls{Op: fleet.OpDropSnapshot, Effect: simulated.Fails, Kind: fault.Permanent})
		paged := func(r record.Record) bool {
			return r.Kind == record.Paged && r.Reason == fleet.ReasonSnapshotStays
		}
		s.await(20*time.Minute, "a person is told", func() bool { return s.count(paged) == 1 })
		s.hang()
		s.await(10*time.Minute, "web-2 is healed again", s.copied(2))
		lift()
		s.await(50*time.Minute, "they are gone", func() bool { return len(s.world.Snapshots()) == 0 })
		if s.count(paged) != 1 {
			t.Errorf("a person was told %d times", s.count(paged))
		}
	})
}

// oneCopyIsKnown: of the machine's disks there is one copy, whole, and hale believes in it.
func oneCopyIsKnown(s *story) {
	s.t.Helper()
	made, known := s.world.Snapshots(), s.machine(2).Snapshots
	if len(made) != 1 || len(known) != 1 || !known[0].Whole || known[0].ID != made[0].ID {
		s.t.Errorf("there are %+v, and hale believes in %+v", made, known)
	}
}

func isCopied(s *story) {
	ails(simulated.ByRecreate)(s)
	s.await(5*time.Minute, "web-2 is replaced", func() bool {
		return s.heals(2) == 1 && s.healthy(2) &&
			len(s.world.Snapshots()) == 1
	})
}

func nothingCopied(s *story) bool {
	return len(s.world.Snapshots()) == 0 && len(s.machine(2).Snapshots) == 0 && s.allHealthy()
}

// isReverted: web-2 is the instance that it was, with the disks of its copy.
func isReverted(s *story) bool { return isCarriedOut(s) && s.id(2) == s.before }
