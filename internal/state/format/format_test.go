package format

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/memory"
)

func put(t *testing.T, s state.Store, key, value string) {
	t.Helper()
	if _, err := s.Commit(t.Context(), state.Txn{Then: []state.Write{state.Put(key, []byte(value))}}); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s state.Store, key string) string {
	t.Helper()
	e, err := s.Get(t.Context(), key)
	if fault.Is(err, fault.NotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(e.Value)
}

// adding is a step that notes that it was taken.
func adding(what string) func(context.Context, state.Store) error {
	return func(ctx context.Context, s state.Store) error {
		e, err := s.Get(ctx, "trail")
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		_, err = s.Commit(ctx, state.Txn{Then: []state.Write{state.Put("trail", append(e.Value, what...))}})
		return err
	}
}

func TestAStoreIsMarkedAtFirstUse(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(state.Store){
		"a new one":                          func(state.Store) {},
		"one from before there was a number": func(s state.Store) { put(t, s, "installation", "x") },
	} {
		s := memory.New(memory.Options{}).Open(nil)
		fill(s)
		for range 2 { // the second time nothing is left to do
			if err := Open(t.Context(), s, "0.9"); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		mark, err := Read(t.Context(), s)
		if err != nil || mark != (Mark{Format: Current(), Needs: hales[Current()-1].since, By: "0.9"}) {
			t.Errorf("%s: %+v, %v", name, mark, err)
		}
	}
}

func TestANewerStoreIsRefusedAndLeftAsItIs(t *testing.T) {
	t.Parallel()
	for value, says := range map[string]string{
		`{"Format": 7, "Needs": "2.1", "By": "2.4", "More": 1}`: "it is of format 7: hale 2.1 and later read it, and " +
			"this hale reads formats up to ",
		`{"Format": 7, "By": "2.4"}`: "it is of format 7: hale 2.4 wrote it",
		`{"Format": 7}`:              "it is of format 7: a newer hale wrote it",
	} {
		s := memory.New(memory.Options{}).Open(nil)
		put(t, s, Key, value)
		_, before, _ := s.List(t.Context(), "")
		err := Open(t.Context(), s, "0.9")
		if !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "hale restore") {
			t.Errorf("%s: %v", value, err)
		}
		if _, after, _ := s.List(t.Context(), ""); after != before {
			t.Error("the store was written to")
		}
	}
}

func TestADamagedMarkIsSaid(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"?", "{}", `{"Format": -1}`} {
		s := memory.New(memory.Options{}).Open(nil)
		put(t, s, Key, value)
		if err := Open(t.Context(), s, "0.9"); !fault.Is(err, fault.Permanent) || get(t, s, Key) != value {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestAnOlderStoreTakesEachStepOnce(t *testing.T) {
	t.Parallel()
	l := line{{}, {"2.0", adding("b")}, {"3.0", adding("c")}}
	for mark, trail := range map[string]string{
		"":              "bc",
		`{"Format": 1}`: "bc",
		`{"Format": 2}`: "c",
		`{"Format": 3}`: "",
	} {
		s := memory.New(memory.Options{}).Open(nil)
		if mark != "" {
			put(t, s, Key, mark)
		}
		for range 2 {
			if err := l.open(t.Context(), s, "3.1"); err != nil {
				t.Fatal(err)
			}
		}
		if got := get(t, s, "trail"); got != trail {
			t.Errorf("from %q the steps %q were taken, want %q", mark, got, trail)
		}
		if is, err := Read(t.Context(), s); err != nil || is.Format != 3 || trail != "" && is.Needs != "3.0" {
			t.Errorf("from %q: %+v, %v", mark, is, err)
		}
	}
}

// What was done before a step failed stays done, and the store says so: the next start goes on from there.
func TestAStepThatWasBrokenOffIsTakenAgain(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	tries := 0
	l := line{{}, {"2.0", adding("b")}, {"3.0", func(ctx context.Context, s state.Store) error {
		if tries++; tries == 1 {
			return fault.New(fault.Transient, "x", "", broken)
		}
		return adding("c")(ctx, s)
	}}}
	s := memory.New(memory.Options{}).Open(nil)
	err := l.open(t.Context(), s, "3.1")
	if !fault.Is(err, fault.Transient) || !errors.Is(err, broken) ||
		!strings.Contains(err.Error(), "from format 2 to 3") {
		t.Fatalf("open = %v", err)
	}
	if mark, err := Read(t.Context(), s); err != nil || mark != (Mark{Format: 2, Needs: "2.0", By: "3.1"}) {
		t.Fatalf("it is %+v, %v", mark, err)
	}
	if err := l.open(t.Context(), s, "3.1"); err != nil || get(t, s, "trail") != "bc" {
		t.Errorf("%v, steps %q", err, get(t, s, "trail"))
	}
}

func TestAFullStoreIsReadWithoutItsMark(t *testing.T) {
	t.Parallel()
	full := memory.New(memory.Options{}).Open(func(_ context.Context, c memory.Call) memory.Effect {
		if c.Op == memory.OpCommit {
			return memory.NoSpace
		}
		return memory.Normal
	})
	if err := (line{{}}).open(t.Context(), full, "0.9"); err != nil {
		t.Errorf("one that only lacks its mark: %v", err)
	}
	if err := (line{{}, {"2.0", adding("b")}}).open(t.Context(), full, "2.0"); !fault.Is(err, fault.NoSpace) {
		t.Errorf("one that must be changed: %v", err)
	}
}

func TestALostAnswerIsAskedFor(t *testing.T) {
	t.Parallel()
	lost := 0
	s := memory.New(memory.Options{}).Open(func(_ context.Context, c memory.Call) memory.Effect {
		if c.Op == memory.OpCommit && lost == 0 {
			lost++
			return memory.FailAfter
		}
		return memory.Normal
	})
	if err := Open(t.Context(), s, "0.9"); err != nil || lost != 1 {
		t.Errorf("%v, %d answers were lost", err, lost)
	}
}
