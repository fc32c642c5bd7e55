package etcd_test

import (
	"fmt"
	"testing"

	"hale/internal/state"
	"hale/internal/state/active"
	"hale/internal/state/etcd"
	"hale/internal/state/statetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	statetest.Run(t, statetest.Setup{
		Open: func(t *testing.T) state.Store { return etcd.OpenForTest(t, etcd.Options{}) },
		Compact: func(t *testing.T, s state.Store) {
			if err := s.(*etcd.Store).Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// The same in servers elsewhere, over TCP.
func TestConformanceElsewhere(t *testing.T) {
	t.Parallel()
	statetest.Run(t, statetest.Setup{
		Open: func(t *testing.T) state.Store { return etcd.ConnectForTest(t) },
		Compact: func(t *testing.T, s state.Store) {
			if err := s.(*etcd.Elsewhere).Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// The same in a server of hale's own cluster, which does not lead it.
func TestConformanceOfItsOwn(t *testing.T) {
	t.Parallel()
	statetest.Run(t, statetest.Setup{
		Open: func(t *testing.T) state.Store { return etcd.FollowerForTest(t) },
		Compact: func(t *testing.T, s state.Store) {
			if err := s.(*etcd.Own).Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// The largest transaction there may be has room for what the active server compares beside it.
func TestTheLargestTransactionIsGuarded(t *testing.T) {
	t.Parallel()
	office, err := active.Become(t.Context(), etcd.ConnectForTest(t), active.Server{Name: "hale-1"})
	if err != nil {
		t.Fatal(err)
	}
	many := state.Txn{}
	for i := range state.MaxOps {
		many.If = append(many.If, state.Absent(fmt.Sprint("k", i)))
		many.Then = append(many.Then, state.Put(fmt.Sprint("k", i), nil))
	}
	large := state.Txn{Then: []state.Write{state.Put("large", nil)}}
	large.Then[0].Value = make([]byte, state.MaxBytes-large.Size())
	for what, txn := range map[string]state.Txn{"many": many, "large": large} {
		if _, err := office.Commit(t.Context(), txn); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
