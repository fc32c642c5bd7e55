package memory_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/memory"
	"hale/internal/state/statetest"
)

func TestConformanceInTheBubble(t *testing.T) {
	t.Parallel()
	// A handle does not tell its backing, so the cases' backings are kept beside it.
	type handle struct {
		*memory.Store
		backing *memory.Backing
	}
	statetest.Run(t, statetest.Setup{
		Open: func(*testing.T) state.Store {
			b := memory.New(memory.Options{})
			return handle{b.Open(nil), b}
		},
		Compact: func(_ *testing.T, s state.Store) { s.(handle).backing.Compact() },
		Around:  synctest.Test,
	})
}

func put(key, value string) state.Txn {
	return state.Txn{Then: []state.Write{state.Put(key, []byte(value))}}
}

// always returns faults that have the effect on all calls of the kind.
func always(op memory.Op, effect memory.Effect) memory.Faults {
	return func(_ context.Context, c memory.Call) memory.Effect {
		if c.Op == op {
			return effect
		}
		return memory.Normal
	}
}

func TestFaultsOfACommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect  memory.Effect
		want    fault.Kind
		written bool
		took    time.Duration
	}{
		"the answer is lost":           {memory.FailAfter, fault.UnknownOutcome, true, 0},
		"it fails before it is done":   {memory.FailBefore, fault.Transient, false, 0},
		"the disk is full":             {memory.NoSpace, fault.NoSpace, false, 0},
		"it hangs":                     {memory.Stall, fault.UnknownOutcome, false, time.Second},
		"it is done, and hangs":        {memory.StallAfter, fault.UnknownOutcome, true, time.Second},
		"nothing happens out of order": {memory.Normal, "", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				backing := memory.New(memory.Options{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				_, err := backing.Open(always(memory.OpCommit, c.effect)).Commit(ctx, put("a", "1"))
				if got := fault.KindOf(err); got != c.want {
					t.Errorf("commit = %v, want kind %q", err, c.want)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				_, err = backing.Open(nil).Get(t.Context(), "a")
				if written := err == nil; written != c.written {
					t.Errorf("written = %v (%v), want %v", written, err, c.written)
				}
			})
		})
	}
}

func TestASlowCallThatOutlastsItsCallerIsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context, memory.Call) memory.Effect {
			time.Sleep(2 * time.Second)
			return memory.Normal
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := memory.New(memory.Options{}).Open(slow).Commit(ctx,
			put("a", "1")); !fault.Is(err, fault.UnknownOutcome) {
			t.Errorf("commit = %v, want %s", err, fault.UnknownOutcome)
		}
	})
}

func TestALeaseWhoseRenewalsHangIsLostOnTimeAndItsKeysLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backing := memory.New(memory.Options{
			ExpireLate: func(state.LeaseID) time.Duration { return 7 * time.Second },
		})
		began := time.Now()
		lease, err := backing.Open(always(memory.OpRenew, memory.Stall)).Grant(t.Context(), 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		rival := backing.Open(nil)
		revision, err := rival.Commit(t.Context(), state.Txn{
			Then: []state.Write{state.PutLeased("owner", nil, lease.ID())},
		})
		if err != nil {
			t.Fatal(err)
		}
		<-lease.Lost()
		if lost := time.Since(began); lost != 10*time.Second {
			t.Errorf("the lease was lost after %v, want 10s", lost)
		}
		for e, err := range rival.Watch(t.Context(), "owner", revision) {
			if err != nil || !e.Deleted || time.Since(began) != 17*time.Second {
				t.Errorf("event %+v, %v after %v, want a deletion after 17s", e, err, time.Since(began))
			}
			break
		}
	})
}

func TestTheStoreOutlivesAnEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backing := memory.New(memory.Options{})
		life, crash := context.WithCancel(t.Context())
		lease, err := backing.Open(nil).Grant(life, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		owner := state.Txn{Then: []state.Write{state.PutLeased("owner", nil, lease.ID()), state.Put("data", nil)}}
		if _, err := backing.Open(nil).Commit(life, owner); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second) // it was renewed all the while, at 3.3 s, 6.7 s, 10 s and 13.3 s
		crash()
		<-lease.Lost()
		next := backing.Open(nil)
		time.Sleep(8333 * time.Millisecond)
		if _, err := next.Get(t.Context(), "owner"); err != nil {
			t.Errorf("the lease did not live its full time: %v", err)
		}
		time.Sleep(2 * time.Millisecond)
		if _, err := next.Get(t.Context(), "owner"); !fault.Is(err, fault.NotFound) {
			t.Errorf("get = %v, want %s", err, fault.NotFound)
		}
		if _, err := next.Get(t.Context(), "data"); err != nil {
			t.Errorf("the data is gone: %v", err)
		}
	})
}

func TestRevokeAllEndsThePredecessorsLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backing := memory.New(memory.Options{})
		s := backing.Open(nil)
		lease, err := s.Grant(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), state.Txn{
			Then: []state.Write{state.PutLeased("owner", nil, lease.ID())},
		}); err != nil {
			t.Fatal(err)
		}
		backing.RevokeAll()
		if _, err := s.Get(t.Context(), "owner"); !fault.Is(err, fault.NotFound) {
			t.Errorf("get = %v, want %s", err, fault.NotFound)
		}
		<-lease.Lost() // at the next renewal
	})
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	backing := memory.New(memory.Options{History: 10})
	s := backing.Open(nil)
	for i := range 100 {
		if _, err := s.Commit(t.Context(), put("a", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range s.Watch(t.Context(), "", 0) {
		if !errors.Is(err, state.ErrCompacted) {
			t.Errorf("watch = %v, want %v", err, state.ErrCompacted)
		}
	}
	for e, err := range s.Watch(t.Context(), "", 91) {
		if err != nil || e.Revision != 92 || string(e.Value) != "90" {
			t.Errorf("the watch of the last ten events begins with %+v, %v", e, err)
		}
		break
	}
}

func TestAWatchCanBreak(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(always(memory.OpWatch, memory.FailBefore))
	var got []error
	for _, err := range s.Watch(t.Context(), "", 0) {
		got = append(got, err)
	}
	if len(got) != 1 || !fault.Is(got[0], fault.Transient) {
		t.Errorf("the watch yielded %v, want one %s", got, fault.Transient)
	}
}

// TestAgainstAMap compares the store with the dumbest one that could be: a map that looks at all its keys for each
// question.
func TestAgainstAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		s := memory.New(memory.Options{}).Open(nil)
		model := make(map[string]state.Entry)
		var seen []string // by the model, in the words of the watch
		revision := int64(1)
		key := rapid.SampledFrom([]string{"a", "a/", "a/1", "a/2", "b", "b/1", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"commit": func(t *rapid.T) {
				txn := drawTxn(t, key, model)
				if txn.Validate() != nil {
					return
				}
				holds := true
				for _, c := range txn.If {
					holds = holds && model[c.Key].Revision == c.Revision
				}
				_, err := s.Commit(ctx, txn)
				if holds != (err == nil) || (!holds && !fault.Is(err, fault.Conflict)) {
					t.Fatalf("commit of %+v = %v on %v", txn, err, model)
				}
				if holds {
					seen = append(seen, applyToMap(model, txn, &revision)...)
				}
			},
			"": func(t *rapid.T) {
				prefix := rapid.SampledFrom([]string{"", "a", "a/", "b/", "d"}).Draw(t, "prefix")
				got, at, err := s.List(ctx, prefix)
				if err != nil || at != revision {
					t.Fatalf("list at %d, %v, want %d", at, err, revision)
				}
				var want []state.Entry
				for _, k := range slices.Sorted(maps.Keys(model)) {
					if strings.HasPrefix(k, prefix) {
						want = append(want, model[k])
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("list of %q is %v, want %v", prefix, got, want)
				}
			},
		})
		last := put("end", "of story")
		if _, err := s.Commit(ctx, last); err != nil {
			t.Fatal(err)
		}
		var watched []string
		for e, err := range s.Watch(ctx, "", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Key == last.Then[0].Key {
				break
			}
			watched = append(watched, fmt.Sprint(e))
		}
		if !slices.Equal(watched, seen) {
			t.Fatalf("the watch saw\n%v, want\n%v", watched, seen)
		}
	})
}

func drawTxn(t *rapid.T, key *rapid.Generator[string], model map[string]state.Entry) state.Txn {
	var txn state.Txn
	for range rapid.IntRange(0, 2).Draw(t, "compares") {
		k := key.Draw(t, "compared")
		wrong := rapid.SampledFrom([]int64{0, 0, 0, 1}).Draw(t, "wrong")
		txn.If = append(txn.If, state.At(k, model[k].Revision+wrong))
	}
	for range rapid.IntRange(0, 3).Draw(t, "writes") {
		k := key.Draw(t, "written")
		txn.Then = append(txn.Then, rapid.SampledFrom([]state.Write{
			state.Put(k, rapid.SliceOfN(rapid.Byte(), 1, 3).Draw(t, "value")),
			state.Delete(k),
			state.DeletePrefix(k),
		}).Draw(t, "write"))
	}
	return txn
}

// applyToMap does the writes to the model and returns what a watch should see.
func applyToMap(model map[string]state.Entry, txn state.Txn, revision *int64) []string {
	var seen []string
	for _, w := range txn.Then {
		if w.Action == state.ActionPut {
			e := state.Entry{Key: w.Key, Value: w.Value, Revision: *revision + 1}
			model[w.Key] = e
			seen = append(seen, fmt.Sprint(state.Event{Entry: e}))
			continue
		}
		for _, k := range slices.Sorted(maps.Keys(model)) {
			if k == w.Key || w.Action == state.ActionDeleteRange && strings.HasPrefix(k, w.Key) {
				delete(model, k)
				seen = append(seen,
					fmt.Sprint(state.Event{Entry: state.Entry{Key: k, Revision: *revision + 1}, Deleted: true}))
			}
		}
	}
	if len(seen) > 0 {
		*revision++
	}
	return seen
}

// A copy holds what the store held and no lease, and goes its own way from there.
func TestACopyIsAStoreOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := memory.New(memory.Options{})
	s := b.Open(nil)
	lease, err := s.Grant(ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	leased := state.Put("owner", []byte("me"))
	leased.Lease = lease.ID()
	for _, w := range []state.Write{state.Put("a", []byte("1")), leased} {
		if _, err := s.Commit(ctx, state.Txn{Then: []state.Write{w}}); err != nil {
			t.Fatal(err)
		}
	}
	c := b.Copy().Open(nil)
	if _, err := s.Commit(ctx, state.Txn{Then: []state.Write{state.Put("a", []byte("2"))}}); err != nil {
		t.Fatal(err)
	}
	found, _, err := c.List(ctx, "")
	if err != nil || len(found) != 1 || string(found[0].Value) != "1" {
		t.Errorf("the copy holds %v, %v", found, err)
	}
	if _, err := c.Commit(ctx, state.Txn{
		If:   []state.Compare{{Key: "a", Revision: found[0].Revision}},
		Then: []state.Write{state.Put("a", []byte("3"))},
	}); err != nil {
		t.Errorf("the copy takes no write: %v", err)
	}
	if e, err := s.Get(ctx, "a"); err != nil || string(e.Value) != "2" {
		t.Errorf("the original has %s, %v", e.Value, err)
	}
}
