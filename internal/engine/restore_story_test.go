package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/notify/memory"
	"hale/internal/provider/simulated"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	store "hale/internal/state/memory"
	begun "hale/internal/state/starts"
)

// stored returns what the store holds. No hale runs.
func (s *story) stored() []state.Entry {
	s.t.Helper()
	entries, _, err := s.backing.Open(nil).List(s.t.Context(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	return entries
}

// refill gives the next hale a store that holds the entries.
func (s *story) refill(entries []state.Entry) state.Store {
	s.t.Helper()
	s.backing = store.New(store.Options{})
	fresh := s.backing.Open(nil)
	err := state.CommitAll(s.t.Context(), fresh, func(yield func(state.Write, error) bool) {
		for _, e := range entries {
			if !yield(state.Put(e.Key, e.Value), nil) {
				return
			}
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return fresh
}

// numberOf is the end of a message's key: the number of its record.
func numberOf(key string) string { return key[strings.LastIndexByte(key, '-')+1:] }

// L12: a number that an older store gives once more is not the key of another message, whether the store was restored,
// or lost its last writes.
func TestMessageKeysDoNotRepeatOnAnOlderStore(t *testing.T) {
	t.Parallel()
	for name, mark := range map[string]func(*story, state.Store, time.Time){
		"the store lost its last writes": func(*story, state.Store, time.Time) {},
		"the store was restored": func(s *story, fresh state.Store, made time.Time) {
			if err := beliefs.MarkRestored(s.t.Context(), fresh, made); err != nil {
				s.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ops := &memory.Target{}
			tell(t, simulated.Options{}, told(0, "ops"), func(s *story) {
				s.people(map[policy.TargetName]*memory.Target{"ops": ops})
				s.grown()
				s.kill()
				before, made := s.stored(), time.Now()
				for page := range 2 {
					mark(s, s.refill(before), made)
					s.start()
					s.await(5*time.Minute, "the fleet stands", s.allHealthy)
					s.pass(time.Minute)
					lift := s.incurable()
					s.await(10*time.Minute, "a person is told", func() bool { return len(ops.Taken()) == page+1 })
					s.kill()
					lift()
					s.inject(simulated.PersonMends{Instance: s.id(2)})
					s.pass(time.Minute)
				}
				first, second := ops.Taken()[0], ops.Taken()[1]
				if numberOf(first.Key) != numberOf(second.Key) {
					t.Fatalf("this shows nothing: %s, %s", first.Key, second.Key)
				}
				if first.Key == second.Key {
					t.Errorf("two pages have the key %s", first.Key)
				}
			})
		})
	}
}

// What waited when the backup was made, and was taken since, comes once more, and under its key: the receiver knows it.
func TestAMessageThatWaitedInABackupKeepsItsKey(t *testing.T) {
	t.Parallel()
	ops := &memory.Target{}
	tell(t, simulated.Options{}, told(0, "ops"), func(s *story) {
		s.people(map[policy.TargetName]*memory.Target{"ops": ops})
		ops.Down(unavailable())
		s.grown()
		s.incurable()
		s.await(10*time.Minute, "it waits", func() bool { return s.status().Post.Waiting == 1 })
		s.kill()
		before := s.stored()
		ops.Down(nil)
		for n := range 2 {
			s.start()
			s.await(10*time.Minute, "it is taken", func() bool { return len(ops.Taken()) == n+1 })
			s.kill()
			if err := beliefs.MarkRestored(t.Context(), s.refill(before), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if got := ops.Taken(); got[0].Key != got[1].Key || ops.Tries()[0].Key != got[0].Key {
			t.Errorf("its keys are %s, %s and %s", ops.Tries()[0].Key, got[0].Key, got[1].Key)
		}
	})
}

// People and their tools know incidents by their numbers: after a restore they go on beyond those that may have been
// given.
func TestNumbersLeapAtARestore(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, ladder(web(3), fleet.StepReboot), func(s *story) {
		s.grown()
		s.kill()
		before := s.stored()
		if _, ever, err := beliefs.LastRestore(t.Context(), s.store()); ever || err != nil {
			t.Errorf("it was never restored: %v, %v", ever, err)
		}
		made := time.Now().Add(-time.Hour)
		nonces := map[string]bool{}
		for range 2 {
			fresh := s.refill(before)
			if err := beliefs.MarkRestored(t.Context(), fresh, made); err != nil {
				t.Fatal(err)
			}
			r, ever, err := beliefs.LastRestore(t.Context(), fresh)
			if err != nil || !ever || !r.Made.Equal(made) || !r.At.Equal(time.Now()) {
				t.Errorf("%+v, %v, %v", r, ever, err)
			}
			nonces[r.Nonce] = true
		}
		if len(nonces) != 2 {
			t.Error("two restores have one nonce")
		}
		if n := s.count(because(record.Store, fleet.ReasonRestored)); n != 1 {
			t.Errorf("the journal tells of the restore %d times", n)
		}
		s.start()
		s.await(5*time.Minute, "the fleet stands", s.allHealthy)
		s.pass(time.Minute)
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
			Cure: simulated.ByReboot}})
		s.await(10*time.Minute, "it is healed", func() bool { return s.heals(2) == 1 && s.healthy(2) })
		opened := s.records()
		i := slices.IndexFunc(opened, kind(record.IncidentOpen))
		if i < 0 || opened[i].Incident != "web-2/1001" || s.machine(2).Repairs != 1001 {
			t.Errorf("%+v, %d repairs", opened[max(i, 0)], s.machine(2).Repairs)
		}
	})
}

// Each start is in the store before anything is done in its name: the first record of its terms comes after it.
func TestEachStartOfAnEngineIsCounted(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(1), func(s *story) {
		for n := range 3 {
			s.start()
			s.await(5*time.Minute, "the fleet stands", s.allHealthy)
			s.kill()
			known, err := begun.Known(t.Context(), s.store())
			if err != nil || len(known) != n+1 || known[n].Number != uint64(n)+1 {
				t.Fatalf("%+v, %v", known, err)
			}
		}
	})
}

// A store that does not take the count at first, because it is full or does not answer, is waited for: nothing is done
// before.
func TestAStartThatCannotBeCountedYetWaits(t *testing.T) {
	t.Parallel()
	for name, effect := range map[string]store.Effect{"full": store.NoSpace, "does not answer": store.FailBefore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, simulated.Options{}, web(1), func(s *story) {
				s.grown()
				s.kill()
				var poor atomic.Bool
				poor.Store(true)
				s.faults = func(_ context.Context, c store.Call) store.Effect {
					if poor.Load() && c.Op == store.OpCommit {
						return effect
					}
					return store.Normal
				}
				was, calls := len(s.records()), len(s.world.Calls())
				s.inject(simulated.Broken{Instance: s.id(1), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
					Cure: simulated.ByReboot}})
				s.start()
				s.pass(10 * time.Minute)
				if known, err := begun.Known(t.Context(), s.backing.Open(nil)); err != nil || len(known) != 1 ||
					s.status().Acting == "" {
					t.Errorf("%d starts are known, %v, and it says %q", len(known), err, s.status().Acting)
				}
				if len(s.records()) != was || len(s.world.Calls()) != calls {
					t.Error("something was done")
				}
				poor.Store(false)
				s.await(10*time.Minute, "it is healed", func() bool { return s.heals(1) == 1 && s.healthy(1) })
			})
		})
	}
}
