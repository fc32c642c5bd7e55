package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/notify"
	notified "hale/internal/notify/memory"
	"hale/internal/provider/simulated"
	"hale/internal/state"
	"hale/internal/state/memory"
	"hale/internal/state/outbox"
)

// spoiled is a story with a store that takes writes as effect says, with one target, which is told reasons and details.
func spoiled(t *testing.T, effect *atomic.Int64, tale func(s *story, ops *notified.Target)) {
	t.Helper()
	ops, spec := &notified.Target{}, web(3)
	spec.Notify = told(0, "ops").Notify
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.people(map[policy.TargetName]*notified.Target{"ops": ops})
		s.post.Words = func(l outbox.Letter, _ []record.Record) notify.Message {
			return notify.Message{
				Key:    l.Key,
				Event:  notify.Event(l.Event),
				Reason: string(l.Record.Reason),
				Text:   l.Record.Detail,
			}
		}
		s.faults = func(_ context.Context, c memory.Call) memory.Effect {
			if c.Op == memory.OpCommit || c.Op == memory.OpGrant {
				return memory.Effect(effect.Load())
			}
			return memory.Normal
		}
		s.grown()
		tale(s, ops)
	})
}

// reasons returns what a target took, each by its event and reason.
func reasons(t *notified.Target) (all []string) {
	for _, m := range t.Taken() {
		all = append(all, string(m.Event)+" "+m.Reason)
	}
	return all
}

func TestAFullStoreIsToldWithoutItOnceAndItsEnd(t *testing.T) {
	t.Parallel()
	var effect atomic.Int64
	spoiled(t, &effect, func(s *story, ops *notified.Target) {
		effect.Store(int64(memory.NoSpace))
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.await(time.Minute, "a person is told", func() bool { return len(ops.Taken()) == 1 })
		if said := ops.Taken()[0].Text; !strings.Contains(said, "it sees fail: web-2") {
			t.Errorf("the page says %q", said)
		}
		s.pass(time.Hour)
		effect.Store(int64(memory.Normal))
		s.await(5*time.Minute, "web-2 is healed", func() bool { return s.healthy(2) })
		s.pass(time.Hour)
		if got, want := reasons(ops), []string{"pages store-full", "healed store-takes"}; !slices.Equal(got, want) {
			t.Errorf("ops was told %q, want %q", got, want)
		}
		keys := map[string]bool{}
		for _, m := range ops.Taken() {
			keys[m.Key] = true
		}
		if len(keys) != 2 {
			t.Errorf("the messages share a key: %v", keys)
		}
	})
}

func TestWhatFailsWhileTheStoreIsFullIsShownAndWhatRecoversToo(t *testing.T) {
	t.Parallel()
	var effect atomic.Int64
	spoiled(t, &effect, func(s *story, _ *notified.Target) {
		effect.Store(int64(memory.NoSpace))
		at := time.Now()
		lift := s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		shown := func(v belief.Verdict) func() bool {
			return func() bool {
				is := s.status()
				return s.machine(2).Health.Verdict == v && is.Acting == fleet.ReasonStoreFull &&
					is.FromMemory == (v != belief.VerdictHealthy)
			}
		}
		s.await(time.Minute, "web-2 is shown as unhealthy", shown(belief.VerdictUnhealthy))
		since, idle := s.machine(2).Health.Since, s.status().Idle
		if since.Before(at) || idle.Before(at) {
			t.Errorf("unhealthy since %v, idle since %v, and it began at %v", since, idle, at)
		}
		s.pass(10 * time.Minute)
		if is := s.machine(2).Health.Since; !is.Equal(since) || !s.status().Idle.Equal(idle) {
			t.Errorf("it is unhealthy since %v, and was since %v", is, since)
		}
		if s.status().Tally.Failing != 1 {
			t.Errorf("%d fail", s.status().Tally.Failing)
		}
		lift()
		s.inject(simulated.PersonMends{Instance: s.id(2)})
		s.await(time.Minute, "web-2 is shown as healthy", shown(belief.VerdictHealthy))
		if n := s.heals(2); n != 0 {
			t.Errorf("%d repairs began", n)
		}
	})
}

func TestAStoreThatDoesNotAnswerIsToldAndTheVerdictsAreStale(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]memory.Effect{"fails": memory.FailBefore, "hangs": memory.Stall} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var effect atomic.Int64
			spoiled(t, &effect, func(s *story, ops *notified.Target) {
				effect.Store(int64(e))
				s.inject(simulated.Crash{Instance: s.id(2)})
				s.await(5*time.Minute, "a person is told", func() bool { return len(ops.Taken()) == 1 })
				if e == memory.FailBefore {
					if is := s.status(); is.Acting != fleet.ReasonStoreDown || is.AsOf.IsZero() || is.Idle.IsZero() {
						t.Errorf("acting %q, as of %v, idle since %v", is.Acting, is.AsOf, is.Idle)
					}
				}
				effect.Store(int64(memory.Normal))
				if e == memory.Stall {
					s.kill() // what hangs is not let go by itself
					s.start()
				}
				s.await(10*time.Minute, "web-2 is healed", func() bool { return s.healthy(2) })
				s.pass(time.Minute)
				if is := s.status(); !is.AsOf.IsZero() || !is.Idle.IsZero() {
					t.Errorf("as of %v, idle since %v", is.AsOf, is.Idle)
				}
				got := reasons(ops)
				if want := []string{"pages store-down", "healed store-takes"}; e == memory.FailBefore &&
					!slices.Equal(got, want) {
					t.Errorf("ops was told %q, want %q", got, want)
				}
			})
		})
	}
}

func TestAStoreAtTheEdgeOfItsRoomIsToldOnce(t *testing.T) {
	t.Parallel()
	var effect atomic.Int64
	spoiled(t, &effect, func(s *story, ops *notified.Target) {
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP}})
		for range 8 {
			effect.Store(int64(memory.NoSpace))
			s.hale.engine.Nudge()
			s.pass(30 * time.Second)
			effect.Store(int64(memory.Normal))
			s.pass(30 * time.Second)
		}
		n := 0
		for _, is := range reasons(ops) {
			if is == "pages store-full" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d pages about the store in eight minutes: %q", n, reasons(ops))
		}
	})
}

func TestAPageAboutTheStoreIsTriedUntilItIsTaken(t *testing.T) {
	t.Parallel()
	var effect atomic.Int64
	spoiled(t, &effect, func(s *story, ops *notified.Target) {
		ops.Fail(unavailable(), unavailable(), unavailable())
		effect.Store(int64(memory.NoSpace))
		s.inject(simulated.Crash{Instance: s.id(2)})
		s.await(5*time.Minute, "a person is told", func() bool { return len(ops.Taken()) == 1 })
		if n := len(ops.Tries()); n != 4 {
			t.Errorf("%d tries", n)
		}
		effect.Store(int64(memory.Normal))
		s.pass(5 * time.Minute)
		if got, want := reasons(ops), []string{"pages store-full", "healed store-takes"}; !slices.Equal(got, want) {
			t.Errorf("ops was told %q, want %q", got, want)
		}
	})
}

func TestAStoreThatIsNearlyFullIsToldOnceAndItsEnd(t *testing.T) {
	t.Parallel()
	ops := &notified.Target{}
	var free atomic.Uint64
	free.Store(10 << 30)
	tell(t, simulated.Options{}, told(0, "ops"), func(s *story) {
		s.people(map[policy.TargetName]*notified.Target{"ops": ops})
		s.post.Words = func(l outbox.Letter, _ []record.Record) notify.Message {
			return notify.Message{Key: l.Key, Event: notify.Event(l.Event), Reason: string(l.Record.Reason)}
		}
		s.room = func() (state.Space, error) {
			return state.Space{Free: free.Load(), Total: 20 << 30, Reserve: 128 << 20}, nil
		}
		s.grown()
		free.Store(800 << 20)
		s.pass(time.Hour)
		if low := s.hale.engine.StoreStatus().Low; !strings.Contains(low, "800 MiB of 20480 MiB are free") {
			t.Errorf("it says %q", low)
		}
		free.Store(10 << 30)
		s.pass(time.Minute)
		if got, want := reasons(ops), []string{"pages store-low", "healed store-room"}; !slices.Equal(got, want) {
			t.Errorf("ops was told %q, want %q", got, want)
		}
	})
}
