package state_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hale/internal/core/fault"
	"hale/internal/state"
)

func TestAllThatIsWrongIsToldAtOnce(t *testing.T) {
	t.Parallel()
	err := state.Txn{
		If: []state.Compare{state.Absent("")},
		Then: []state.Write{
			state.Put("a", nil), state.Delete("a"),
			state.DeleteRange("z", "y"),
			{Key: "idle"},
			state.Put("\xc3", nil),
		},
	}.Validate()
	if !fault.Is(err, fault.Invalid) {
		t.Fatalf("validate = %v, want %s", err, fault.Invalid)
	}
	for _, problem := range []string{
		"key is empty", `touch key "a"`, `from "z" to "y"`, `"idle" has no action`, "not UTF-8",
	} {
		if !strings.Contains(err.Error(), problem) {
			t.Errorf("%v does not tell: %s", err, problem)
		}
	}
}

func TestACompareOfLeaseAndRevisionCountsTwice(t *testing.T) {
	t.Parallel()
	held := func(n int) state.Txn {
		var txn state.Txn
		for i := range n {
			txn.If = append(txn.If, state.Held(fmt.Sprint(i), 1, 1))
		}
		return txn
	}
	if err := held(state.MaxOps / 2).Validate(); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if err := held(state.MaxOps/2 + 1).Validate(); !fault.Is(err, fault.Invalid) {
		t.Errorf("beyond the limit: %v, want %s", err, fault.Invalid)
	}
}

// TestWritesThatTouchOneKeyAreFound compares with asking for each key how many writes touch it.
func TestWritesThatTouchOneKeyAreFound(t *testing.T) {
	t.Parallel()
	keys := []string{"a", "a/", "a/1", "a/1/x", "a/2", "b", "b/1", "c"}
	rapid.Check(t, func(t *rapid.T) {
		var txn state.Txn
		touched := make(map[string]int)
		clash := false
		for range rapid.IntRange(0, 4).Draw(t, "writes") {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			wide := rapid.Bool().Draw(t, "wide")
			w := state.Put(key, nil)
			if wide {
				w = state.DeletePrefix(key)
			}
			txn.Then = append(txn.Then, w)
			for _, k := range keys {
				if k == key || wide && strings.HasPrefix(k, key) {
					touched[k]++
					clash = clash || touched[k] > 1
				}
			}
		}
		if err := txn.Validate(); clash != (err != nil) {
			t.Fatalf("validate of %+v = %v, clash is %v", txn.Then, err, clash)
		}
	})
}
