package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	notified "hale/internal/notify/memory"
	"hale/internal/owner/published"
	"hale/internal/provider/simulated"
)

// Twelve fleets of thirty fail at once, each with its only machine, so that no brake of theirs ever engages. The one
// that they share does: what was not begun waits, and people are told once. When no more fail than may, and no further
// one has for a while, the rest is healed, too.
func TestL06ManySmallFleetsThatFailAtOnceAreHeldByTheBrakeThatTheyShare(t *testing.T) {
	t.Parallel()
	shared := func(spec *policy.Spec) {
		spec.Limits.Brakes = []policy.SharedBrake{{Scope: policy.ScopeProvider,
			Policy: policy.Brake{AtLeast: 2, Percent: 20, ReleaseAfter: time.Minute}}}
	}
	thirty(t, func(s *story, targets map[policy.TargetName]*notified.Target) {
		lifts := map[fleet.Name]func(){}
		for i := range 12 {
			name := fleet.Name(fmt.Sprintf("f%d", i+1))
			lifts[name] = s.inject(simulated.Broken{
				Instance: s.idOf(name.Machine(1)),
				Illness:  simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByReboot},
			})
		}
		s.pass(5 * time.Minute)
		var held []fleet.Name
		for _, f := range s.hale.engine.Status() {
			if b, _, _ := f.Braked(); b.Scope != policy.ScopeProvider || !b.Engaged {
				t.Errorf("fleet %s: %+v", f.Spec.Name, b)
			}
			if m := &f.Machines[0].Machine; m.Waiting == fleet.ReasonBrake {
				held = append(held, f.Spec.Name)
			}
		}
		if len(held) < 5 {
			t.Fatalf("of fleets %s the machine is held", held)
		}
		for _, name := range []policy.TargetName{"ops", "hook"} {
			if got := reasons(targets[name]); !slices.Equal(got, []string{"pages brake"}) {
				t.Errorf("%s was told %q", name, got)
			}
		}
		if said := targets["ops"].Taken()[0].Text; said != "30" {
			t.Errorf("the page is about %s fleets", said)
		}
		for _, name := range held[4:] { // four are left, of the six that may fail
			lifts[name]()
		}
		s.await(30*time.Minute, "all are healed", func() bool {
			return !slices.ContainsFunc(s.hale.engine.Status(),
				func(f published.Fleet) bool { return f.Tally.Failing > 0 })
		})
		s.pass(5 * time.Minute)
		for _, name := range []policy.TargetName{"ops", "hook"} {
			if got := reasons(targets[name]); !slices.Equal(got, []string{"pages brake", "healed released"}) {
				t.Errorf("%s was told %q", name, got)
			}
		}
	}, shared)
}
