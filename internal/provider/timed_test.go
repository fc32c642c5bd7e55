package provider_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// slow answers to a listing after a while, refuses to reboot, and can do nothing else.
type slow struct{ provider.Provider }

func (slow) List(ctx context.Context) (provider.Listing, error) {
	select {
	case <-ctx.Done():
	case <-time.After(3 * time.Second):
	}
	return provider.Listing{}, nil
}

func (slow) Reboot(context.Context, provider.Ref) error {
	return fault.New(fault.Quota, "slow.reboot", "", nil)
}

func TestEachCallIsToldWithItsTimeAndItsEnd(t *testing.T) {
	t.Parallel()
	type told struct {
		op   fleet.Op
		took time.Duration
		kind fault.Kind
	}
	synctest.Test(t, func(t *testing.T) {
		var all []told
		p := provider.Timed(slow{}, func(c provider.Call, took time.Duration, err error) {
			all = append(all, told{c.Op, took, fault.KindOf(err)})
		})
		if _, err := p.List(t.Context()); err != nil {
			t.Error(err)
		}
		if err := p.Reboot(t.Context(), provider.Ref{ID: "a"}); !fault.Is(err, fault.Quota) {
			t.Error(err)
		}
		able, ok := p.(provider.Rescuer)
		if !ok || !fault.Is(able.Rescue(t.Context(), provider.Ref{}), fault.Unsupported) {
			t.Error("what the provider does not have is not said to be missing")
		}
		want := []told{{provider.OpList, 3 * time.Second, ""}, {fleet.OpReboot, 0, fault.Quota}}
		if len(all) != len(want) || all[0] != want[0] || all[1] != want[1] {
			t.Errorf("told of %v", all)
		}
	})
}
