package starts_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/memory"
	"hale/internal/state/starts"
)

func begin(t *testing.T, s state.Store) starts.Start {
	t.Helper()
	start, err := starts.Begin(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return start
}

func known(t *testing.T, s state.Store) []starts.Start {
	t.Helper()
	all, err := starts.Known(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEachStartIsCountedAndHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	if all := known(t, s); len(all) != 0 {
		t.Fatalf("a new store knows %v", all)
	}
	nonces := make(map[string]bool)
	for n := range uint64(5) {
		start := begin(t, s)
		if start.Number != n+1 || len(start.Nonce) != 12 || strings.ToLower(start.Nonce) != start.Nonce ||
			start.At.IsZero() {
			t.Errorf("start %d is %+v", n+1, start)
		}
		nonces[start.Nonce] = true
		if all := known(t, s); all[len(all)-1].Nonce != start.Nonce || len(all) != int(start.Number) {
			t.Errorf("the store does not know start %d: %v", n+1, all)
		}
	}
	if len(nonces) != 5 {
		t.Errorf("five starts have %d nonces", len(nonces))
	}
}

// TestTheSameStartOfTwoCopiesHasTwoNames is what tells a clone, or a store that lost its last start, from the store
// that it was.
func TestTheSameStartOfTwoCopiesHasTwoNames(t *testing.T) {
	t.Parallel()
	one, other := memory.New(memory.Options{}).Open(nil), memory.New(memory.Options{}).Open(nil)
	a, b := begin(t, one), begin(t, other)
	if a.Number != b.Number || a.Nonce == b.Nonce {
		t.Errorf("the first starts of two stores are %+v and %+v", a, b)
	}
}

func TestStartsAtOnceAreAllCounted(t *testing.T) {
	t.Parallel()
	backing := memory.New(memory.Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := starts.Begin(t.Context(), backing.Open(nil)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, start := range known(t, backing.Open(nil)) {
		if start.Number != uint64(i)+1 {
			t.Errorf("start %d has number %d", i+1, start.Number)
		}
	}
	if n := len(known(t, backing.Open(nil))); n != 8 {
		t.Errorf("%d of 8 starts are known", n)
	}
}

func TestOnlyTheLatestStartsAreKept(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Open(nil)
	for range starts.Keep + 5 {
		begin(t, s)
	}
	all := known(t, s)
	if len(all) != starts.Keep || all[0].Number != 6 || all[len(all)-1].Number != starts.Keep+5 {
		t.Errorf("%d are known, from %d to %d", len(all), all[0].Number, all[len(all)-1].Number)
	}
}

func TestAStartIsNamedOnlyWhenItIsInTheStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect memory.Effect
		want   fault.Kind // of the error; empty: it is counted again
		number uint64
	}{
		"the store is full":            {memory.NoSpace, fault.NoSpace, 0},
		"the store does not answer":    {memory.FailBefore, fault.Transient, 0},
		"the store's answer gets lost": {memory.FailAfter, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once := c.effect
			s := memory.New(memory.Options{}).Open(func(_ context.Context, call memory.Call) memory.Effect {
				if call.Op != memory.OpCommit {
					return memory.Normal
				}
				effect := once
				once = memory.Normal
				return effect
			})
			start, err := starts.Begin(t.Context(), s)
			if fault.KindOf(err) != c.want || start.Number != c.number {
				t.Errorf("begin = %+v, %v, want number %d, kind %q", start, err, c.number, c.want)
			}
			if all := known(t, s); len(all) != int(c.number) {
				t.Errorf("the store knows %v", all)
			}
		})
	}
}

func TestAStartThatCannotBeReadIsSaid(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"?", `{"Number": 2}`} {
		s := memory.New(memory.Options{}).Open(nil)
		key := fmt.Sprintf("starts/%020d", 1)
		if _, err := s.Commit(t.Context(), state.Txn{Then: []state.Write{state.Put(key, []byte(value))}}); err != nil {
			t.Fatal(err)
		}
		if _, err := starts.Begin(t.Context(), s); !fault.Is(err, fault.Permanent) ||
			!strings.Contains(err.Error(), key) {
			t.Errorf("begin on %s = %v", value, err)
		}
	}
}
