package engine_test

import (
	"sync/atomic"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/engine"
	"hale/internal/provider/simulated"
)

// What is done around the work on a machine: hooks, pools, spares.

// aroundOrdeals are repairs with hooks before and after them, of machines that leave a pool, and that have a spare.
func aroundOrdeals() []ordeal {
	program := func(name fleet.HookName, idempotent bool) policy.Hook {
		return policy.Hook{Name: name, Kind: policy.HookCommand, Within: 30 * time.Second, Idempotent: idempotent,
			OnFailure: policy.HookStop, Run: policy.Command{Args: []string{"/opt/" + string(name), "{name}"}}}
	}
	hooked := bare(3, rung(fleet.StepRecreate))
	hooked.Hooks = policy.Hooks{Before: []policy.Hook{program("copy-logs", true)},
		Leave: []policy.Hook{program("drain", true)}, After: []policy.Hook{program("tell", true)}}
	hooked.Provision = []policy.Hook{program("configure", true)}
	once := bare(3, rung(fleet.StepReboot))
	once.Hooks.Leave = []policy.Hook{program("drain", false)}
	waits := bare(3, rung(fleet.StepReboot))
	waits.Hooks.Leave = []policy.Hook{{Name: "backup", Kind: policy.HookWait, Within: 10 * time.Minute,
		Deadline: time.Hour, OnFailure: policy.HookGoOn}} // in another attempt nobody says anything
	asked := bare(3, rung(fleet.StepReboot))
	asked.Repair.Steps[0].Approve = policy.Approval{Within: 2 * time.Minute, Otherwise: policy.UnapprovedGoOn}
	pooled := bare(3, rung(fleet.StepReboot))
	pooled.Pools = []policy.Pool{{Balancer: "edge", Wait: 10 * time.Second}}
	spared := bare(2, rung(fleet.StepRecreate))
	spared.Spares.Count = 1
	cold := bare(2, rung(fleet.StepRecreate))
	cold.Spares = policy.Spares{Count: 1, Off: true}
	return []ordeal{
		{step: "hooks, idempotent", spec: hooked, begin: ails(simulated.ByRecreate), incidents: 1,
			twice: []fleet.Op{fleet.OpHook}},
		{step: "hook, not idempotent", spec: once, begin: ails(simulated.ByReboot), incidents: 1, ends: healedOrLeft,
			mayPage: true},
		{step: "order: a word on a hook", spec: waits, before: waitsForAWord, begin: given(fleet.Order{
			Kind: fleet.OrderHook, Machine: "web-2", Word: fleet.HookDone}), incidents: 1,
			ends: func(s *story) bool {
				return s.allHealthy() && s.count(kind(record.IncidentClosed)) == 1 && s.settled(1)
			}},
		// in another attempt it goes on after its time
		{step: "order: a step is approved", spec: asked, before: waitsForAWord, begin: given(fleet.Order{
			Kind: fleet.OrderHook, Machine: "web-2", Word: fleet.HookDone, Hook: fleet.Approval}), incidents: 1,
			asks: true, ends: func(s *story) bool {
				return s.allHealthy() && s.count(kind(record.IncidentClosed)) == 1 && s.settled(1)
			}},
		{step: "leave of a pool", spec: pooled, early: isInAPool, begin: ails(simulated.ByReboot), incidents: 1,
			after: hasLeftItsPool},
		{step: "spare takes a place", spec: spared, before: standsByAsThird, begin: ails(simulated.ByRecreate),
			incidents: 1, ends: isHealedAsSpare, after: tookThePlaceOnce},
		{step: "spare takes the place of what is replaced by order", spec: spared, before: standsByAsThird,
			begin: has(fleet.OrderReplace), ends: isHealedAsSpare, after: tookThePlaceOnce},
		{step: "spare is turned off", spec: cold, before: standsByAsThird, begin: isCalm, ends: restsAsThird,
			after: isNoFailure},
		{step: "spare is started, and takes a place", spec: cold, before: restsLong, begin: ails(simulated.ByRecreate),
			incidents: 1, ends: isHealedBesideASpare, after: tookNoPlaceTwice},
	}
}

// waitsForAWord: web-2 fails, and its repair waits until a person says that it may go on.
func waitsForAWord(s *story) {
	ails(simulated.ByReboot)(s)
	s.await(5*time.Minute, "a word is waited for", func() bool { return s.count(kind(record.HookBegun)) == 1 })
}

// isInAPool lets a pool say, whenever it is asked, that web-2 has no connections left.
func isInAPool(s *story) {
	var rev atomic.Uint64
	s.members = func(fleet.Name) []engine.Membership {
		word := fleet.PoolWord{Balancer: "edge", Rev: rev.Add(1), Members: map[fleet.MachineName]fleet.Membership{
			"web-1": {State: fleet.MemberServes, Verdict: fleet.MemberUp, Connections: 5},
			"web-2": {State: fleet.MemberDrains, Verdict: fleet.MemberUp},
			"web-3": {State: fleet.MemberServes, Verdict: fleet.MemberUp, Connections: 5},
		}}
		return []engine.Membership{{PoolWord: word, At: time.Now()}}
	}
}

// hasLeftItsPool: the pool had let go of it before it was restarted.
func hasLeftItsPool(s *story) {
	s.t.Helper()
	if s.count(because(record.PoolLeft, fleet.ReasonOut)) == 0 {
		s.t.Error("it did not leave its pool")
	}
}

// standsByAsThird: three machines are well, and the third serves no one.
func standsByAsThird(s *story) {
	s.await(5*time.Minute, "web-3 stands by", func() bool {
		return s.healthy(3) && s.allHealthy() && s.status().Whole.Ledger.IsSpare("web-3")
	})
}

// isHealedAsSpare: all three are well, and web-2 stands by where web-3 did.
func isHealedAsSpare(s *story) bool {
	l, m := s.status().Whole.Ledger, s.machine(2)
	return s.allHealthy() && s.healthy(3) && l.IsSpare("web-2") && !l.IsSpare("web-3") && m.Wanted == nil &&
		m.Current.ID != s.before && s.inInbox() == 0
}

// tookThePlaceOnce: no place went twice.
func tookThePlaceOnce(s *story) {
	s.t.Helper()
	if n := s.count(because(record.Change, fleet.ReasonTakesPlace)); n != 1 {
		s.t.Errorf("a spare took a place %d times", n)
	}
}

// isHealedBesideASpare: those that serve are well, web-2 is healed, and one of the three is the spare: web-2,
// or web-3 still, where web-2 was healed before that had started.
func isHealedBesideASpare(s *story) bool {
	serving := 0
	for n := 1; n <= 3; n++ {
		m := s.machine(n)
		switch spare := s.status().Whole.Ledger.IsSpare(m.Name); {
		case spare && m.Health.Cause == belief.CauseSpareOff && m.Repair == nil:
		case !s.healthy(n):
			return false
		case !spare:
			serving++
		}
	}
	return serving == 2 && s.count(kind(record.IncidentClosed)) > 0
}

// tookNoPlaceTwice: a spare took a place once, or never.
func tookNoPlaceTwice(s *story) {
	s.t.Helper()
	if n := s.count(because(record.Change, fleet.ReasonTakesPlace)); n > 1 {
		s.t.Errorf("a spare took a place %d times", n)
	}
}

// isCalm: all have been well for almost as long as it takes until the spare is turned off.
func isCalm(s *story) {
	s.named = append(s.named, s.id(3)) // it serves no one
	s.pass(4*time.Minute + 30*time.Second)
}

// restsAsThird: two machines are well, and the third, which serves no one, is off.
func restsAsThird(s *story) bool {
	m := s.machine(3)
	return s.healthy(2) && m.Repair == nil && m.Health.Cause == belief.CauseSpareOff &&
		m.Waiting == fleet.ReasonSpareOff
}

// restsLong: the third machine stands by, and is off.
func restsLong(s *story) {
	standsByAsThird(s)
	s.named = append(s.named, s.id(3)) // it serves no one
	s.await(10*time.Minute, "web-3 is off", func() bool { return restsAsThird(s) })
}

// isNoFailure: of what was turned off no person was told, and nothing was repaired.
func isNoFailure(s *story) {
	s.t.Helper()
	if n := s.count(kind(record.IncidentOpen)); n != 0 {
		s.t.Errorf("%d incidents", n)
	}
}
