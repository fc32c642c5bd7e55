package engine_test

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/notify/memory"
	"hale/internal/provider/simulated"
)

// A check that only tells is down on all machines: people are told once, over a restart of hale, too, and that it is
// over. No machine is touched.
func TestL11ACheckThatOnlyTellsIsToldOnce(t *testing.T) {
	t.Parallel()
	ops, pager := &memory.Target{}, &memory.Target{}
	spec := told(0, "ops", "pager")
	spec.Notify.To[0].Events = append(spec.Notify.To[0].Events, policy.NotifyWarning)
	metrics := policy.Check{Name: "metrics", Kind: policy.CheckTCP, Port: 9100, Every: 5 * time.Second,
		Timeout: time.Second, DownAfter: 3, UpAfter: 2, Tells: true}
	spec.Tells = []policy.Check{metrics}
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.people(map[policy.TargetName]*memory.Target{"ops": ops, "pager": pager})
		s.grown()
		calls := len(s.world.Calls())
		s.await(10*time.Minute, "people are told", func() bool { return len(ops.Taken()) == 1 })
		s.kill()
		s.start()
		s.pass(2 * time.Hour)
		if got := happened(ops); !slices.Equal(got, []string{"warnings"}) {
			t.Errorf("ops was told %v", got)
		}
		s.world.Serve([]policy.Check{metrics}, nil)
		s.await(10*time.Minute, "the end is told", func() bool { return len(ops.Taken()) > 1 })
		s.pass(time.Hour)
		if got := happened(ops); !slices.Equal(got, []string{"warnings", "warnings-over"}) {
			t.Errorf("ops was told %v", got)
		}
		if got := happened(pager); len(got) != 0 {
			t.Errorf("pager, which wants no warnings, was told %v", got)
		}
		for _, c := range s.world.Calls()[calls:] {
			if c.Op != "" && c.Op != fleet.OpCertify {
				t.Errorf("%s of %s for a check that only tells", c.Op, c.Machine)
			}
		}
	})
}
