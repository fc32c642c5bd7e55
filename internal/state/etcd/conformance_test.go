package etcd_test

import (
	"testing"

	"hale/internal/state"
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
