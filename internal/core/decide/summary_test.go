package decide_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// S24: who wants to be told once a day is told once a day, at the hour, of what was healed since the last time, and of
// nothing twice; of a day on which nothing was healed, where they want that.
func TestASummaryIsToldOnceADay(t *testing.T) {
	t.Parallel()
	for empty, want := range map[bool][]int{true: {1, 0}, false: {1}} {
		s := crowd(3, 0)
		s.Spec.Notify.To = []policy.Recipient{{Target: "team", Events: []policy.NotifyEvent{policy.NotifyDaily},
			Daily: policy.Daily{At: 7 * time.Hour, Zone: time.UTC, Empty: empty}}}
		midnight := s.Now.Wall.Truncate(24 * time.Hour).Add(24 * time.Hour)
		begins := fleet.Now{Mono: s.Now.Mono, Wall: midnight}
		s.Whole.Summaries = []belief.Summary{belief.Summary{Target: "team", Since: midnight.Add(-time.Hour)}.
			With(belief.HealedNote{Member: belief.Member{Machine: "web-2"}, At: midnight, Took: time.Minute})}
		var told []int
		for at := time.Duration(0); at < 48*time.Hour; at += 30 * time.Minute {
			s.Now = fleet.Now{Mono: begins.Mono.Add(at), Wall: midnight.Add(at)}
			d := decide.Decide(s)
			s.Whole = d.Whole
			for _, rec := range d.Records {
				if rec.Kind != record.Summary {
					continue
				}
				told = append(told, rec.Summary.Count)
				if rec.Target != "team" || (at-7*time.Hour)%(24*time.Hour) != 0 {
					t.Errorf("%s is told %v after midnight", rec.Target, at)
				}
			}
		}
		if len(told) != len(want) || told[0] != want[0] || told[len(told)-1] != want[len(want)-1] {
			t.Errorf("with empty %v: repairs in the summaries: %v, want %v", empty, told, want)
		}
	}
}
