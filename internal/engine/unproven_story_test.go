package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider/simulated"
	"hale/internal/state"
)

// mistyped edits a wrong port into the check of a page.
func mistyped(port int) func(*policy.Spec) {
	return func(spec *policy.Spec) {
		for i := range spec.Checks {
			if spec.Checks[i].Name == "page" {
				spec.Checks[i].Port = port
			}
		}
	}
}

// A check that succeeded on no machine since it was edited repairs nothing (L8), over a restart of hale, too; a person
// is told once, and when it is right again.
func TestL08ACheckThatWasEditedWrongRepairsNothing(t *testing.T) {
	t.Parallel()
	tell(t, simulated.Options{}, web(2), func(s *story) {
		s.grown()
		calls := len(s.world.Calls())
		s.reload(mistyped(8081))
		s.pass(5 * time.Minute)
		s.kill()
		s.start()
		s.pass(10 * time.Minute)
		for _, c := range s.world.Calls()[calls:] {
			if c.Op != "" && c.Op != fleet.OpCertify {
				t.Errorf("%s of %s for a check that never succeeded", c.Op, c.Machine)
			}
		}
		told, all := s.count(because(record.Paged, fleet.ReasonUnproven)), s.count(kind(record.Paged))
		if told != 1 || all != 1 {
			t.Errorf("a person is told %d times, %d of them of the check", all, told)
		}
		if h := s.machine(1).Health; !h.Unproven() {
			t.Errorf("web-1 is %s (%s)", h.Verdict, h.Result)
		}
		s.reload(mistyped(80))
		s.await(time.Minute, "both are healthy again", s.allHealthy)
		if n := s.count(because(record.Check, fleet.ReasonRecovered)); n != 1 {
			t.Errorf("that it succeeds again is said %d times", n)
		}
		s.stopsServing(2)
		s.await(5*time.Minute, "what fails by the right check is repaired", func() bool { return !s.healthy(2) })
		s.await(10*time.Minute, "and healed", s.allHealthy)
	})
}

// What an older hale wrote has no word of checks: its machines were certified by them.
func TestL08ChecksOfAStoreOfAnOlderHaleAreBelieved(t *testing.T) {
	t.Parallel()
	spec := web(2)
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.grown()
		s.kill()
		s.forgetBook()
		s.stopsServing(1)
		s.stopsServing(2)
		s.start()
		s.await(20*time.Minute, "both are healed", func() bool { return s.hale != nil && s.allHealthy() })
		if n := s.count(because(record.Paged, fleet.ReasonUnproven)); n != 0 {
			t.Errorf("%d pages about checks that always succeeded", n)
		}
	})
}

// forgetBook takes out of the store what the checks were seen to do, as an older hale would have left it.
func (s *story) forgetBook() {
	s.t.Helper()
	const key = "fleets/web/whole"
	store := s.backing.Open(nil)
	entry, err := store.Get(s.t.Context(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(entry.Value, &whole); err != nil || whole["Book"] == nil {
		s.t.Fatalf("the stored part has no book: %v %s", err, entry.Value)
	}
	delete(whole, "Book")
	old, err := json.Marshal(whole)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := store.Commit(s.t.Context(), state.Txn{Then: []state.Write{state.Put(key, old)}}); err != nil {
		s.t.Fatal(err)
	}
}

// stopsServing has the machine refuse connections until it is reset.
func (s *story) stopsServing(n int) {
	s.inject(
		simulated.Broken{
			Instance: s.id(n),
			Illness:  simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByReboot},
		},
	)
}
