package belief_test

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// full returns a belief in which every field says something.
func full() belief.Machine {
	now := fleet.Instant(time.Minute)
	return belief.Machine{
		Name: "web-1", Generation: 2, Epoch: 3, Acted: now, Cleared: now,
		Current: belief.Incarnation{ID: "a", Generation: 2},
		Waiting: fleet.ReasonBrake, Moved: now,
		Health:   belief.Health{Verdict: belief.VerdictUnhealthy},
		Incident: &belief.Incident{ID: "web-1/1"}, Quarantine: &belief.Quarantine{Reason: fleet.ReasonAttempts},
		Anchor: &belief.Anchor{Host: "h1"}, Wanted: &belief.Wanted{By: "alice"}, Marked: &belief.Marked{By: "bob"},
		Change:   &belief.Change{Order: "o"},
		Repair:   &belief.Repair{ID: "web-1/r1", Intent: &belief.Intent{ID: "web-1/r1/call1"}},
		Attempts: []fleet.Instant{now}, Spurned: []fleet.HostName{"h2"},
		Strays: []belief.Stray{{ID: "s"}}, Swings: []belief.Swing{{Written: 1}},
		RetryAt: now, Kept: []belief.KeptInstance{{Leaving: belief.Leaving{RetryAt: 1}}},
		Volumes:   &belief.Volumes{Host: "h1", Made: []string{"data"}},
		Snapshots: []belief.DiskSnapshot{{ID: "r1"}}, Left: []belief.LeftBehind{{Proof: fleet.ProofHostOff}},
		Contest:     &belief.Contest{Asked: now},
		Provisioned: (*belief.Hooking)(nil).End("provision/site", ""),
		Warned:      []belief.Warned{{Check: "disk", Again: 1}},
		Elsewhere:   &fleet.Claim{By: "a", Since: 1},
		Incidents:   1, Repairs: 1, Address: netip.MustParseAddr("10.0.0.1"), Alias: "main",
	}
}

func TestBeliefsThatDifferInAnythingAreNotEqual(t *testing.T) {
	t.Parallel()
	whole := full()
	if copied := whole.Clone(); !whole.Equal(&copied) {
		t.Fatal("a belief does not equal its copy")
	}
	for i := range reflect.TypeFor[belief.Machine]().NumField() {
		other := full()
		f := reflect.ValueOf(&other).Elem().Field(i)
		name := reflect.TypeFor[belief.Machine]().Field(i).Name
		if f.IsZero() {
			t.Errorf("%s: the test's belief says nothing in it", name)
			continue
		}
		f.SetZero()
		if whole.Equal(&other) || other.Equal(&whole) {
			t.Errorf("a difference in %s is overlooked", name)
		}
	}
	deep := whole.Clone()
	deep.Repair.Intent.Unknown = true
	if whole.Equal(&deep) {
		t.Error("a difference in the intent is overlooked")
	}
	deep = whole.Clone()
	deep.Incident.Paged = true
	if whole.Equal(&deep) {
		t.Error("a difference in the incident is overlooked")
	}
	deep = whole.Clone()
	deep.Strays[0].Paged, deep.Attempts[0], deep.Snapshots[0].Whole = true, 0, true
	if whole.Strays[0].Paged || whole.Attempts[0] == 0 || whole.Snapshots[0].Whole {
		t.Error("a copy shares its lists")
	}
	empty := whole.Clone()
	empty.Strays, empty.Attempts = nil, nil
	none := empty.Clone()
	none.Strays, none.Attempts = []belief.Stray{}, []fleet.Instant{}
	if !empty.Equal(&none) {
		t.Error("an empty list and none are the same")
	}
}
