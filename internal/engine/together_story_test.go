package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/provider/simulated"
	"hale/internal/state/memory"
)

// When sixty machines fall silent at once, what is found of them is written down together: a transaction for each would
// keep the verdicts waiting for the disk. Not one of them is left out.
func TestWhatIsFoundOfManyAtOnceIsWrittenTogether(t *testing.T) {
	t.Parallel()
	const many = 60
	spec := web(many)
	spec.Limits.InBuild = many
	tell(t, simulated.Options{}, spec, func(s *story) {
		f := &fuse{}
		s.fuse = f
		s.faults = func(_ context.Context, c memory.Call) memory.Effect {
			if c.Op == memory.OpCommit {
				<-time.After(100 * time.Millisecond) // a slow disk
			}
			return memory.Normal
		}
		s.grown()
		began := len(s.records())
		f.arm()
		for n := 1; n <= many; n++ {
			s.inject(simulated.Broken{Instance: s.id(n), Illness: simulated.Illness{Symptom: simulated.Hung,
				Cure: simulated.ByRecreate}})
		}
		s.pass(20 * time.Second)
		found, verdicts := map[fleet.MachineName]bool{}, 0
		for _, r := range s.records()[began:] {
			if r.Kind == record.Verdict {
				verdicts++
				if r.Verdict == belief.VerdictUnhealthy {
					found[r.Machine] = true
				}
			}
		}
		if len(found) != many {
			t.Errorf("%d machines were found unhealthy, want %d", len(found), many)
		}
		writes := 0
		for _, m := range f.disarm() {
			if m.sort == sortWrite && strings.Contains(m.what, string(record.Verdict)) {
				writes++
			}
		}
		if writes > verdicts/2 {
			t.Errorf("%d transactions for %d verdicts", writes, verdicts)
		}
	})
}
