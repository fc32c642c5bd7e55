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
	"hale/internal/state"
	"hale/internal/state/journal"
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

// Where sixty machines have flapped for weeks, each record of one more failure drives out two older ones. All of it
// fits into the transactions in which it is written: one that is too large would be refused for ever, and the fleet
// left alone.
func TestWhatIsFoundOfManyThatFlapIsWrittenTogether(t *testing.T) {
	t.Parallel()
	const many = 60
	spec := web(many)
	spec.Limits.InBuild = many
	tell(t, simulated.Options{}, spec, func(s *story) {
		store := s.backing.Open(nil)
		book, err := journal.Open(t.Context(), store, spec.Name)
		if err != nil {
			t.Fatal(err)
		}
		for n := range many * journal.KeepOfOne {
			flap := []record.Record{{At: time.Now(), Fleet: spec.Name, Machine: spec.Name.Machine(n%many + 1),
				Kind: record.Verdict, Was: belief.VerdictHealthy, Verdict: belief.VerdictUnknown}}
			writes, err := book.Writes(flap, journal.Keep{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.Commit(t.Context(), state.Txn{Then: writes}); err != nil {
				t.Fatal(err)
			}
			book.Advance(flap)
		}
		s.grown()
		all := s.records()
		last := all[len(all)-1].Seq
		for n := 1; n <= many; n++ {
			s.inject(simulated.Broken{Instance: s.id(n), Illness: simulated.Illness{Symptom: simulated.Hung,
				Cure: simulated.ByRecreate}})
		}
		s.pass(20 * time.Second)
		found := map[fleet.MachineName]bool{}
		for _, r := range s.records() {
			if r.Seq > last && r.Kind == record.Verdict && r.Verdict == belief.VerdictUnhealthy {
				found[r.Machine] = true
			}
		}
		if len(found) != many {
			t.Errorf("%d machines were found unhealthy, want %d", len(found), many)
		}
	})
}
