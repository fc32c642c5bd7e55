package fleet_test

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"hale/internal/core/fleet"
)

// full returns a belief in which every field says something.
func full() fleet.Machine {
	now := fleet.Instant(time.Minute)
	return fleet.Machine{
		Name: "web-1", Generation: 2, Epoch: 3, Acted: now, Current: fleet.Incarnation{ID: "a", Generation: 2},
		Waiting: fleet.ReasonBrake, Moved: now,
		Health:   fleet.Health{Verdict: fleet.VerdictUnhealthy},
		Incident: &fleet.Incident{ID: "web-1/1"}, Quarantine: &fleet.Quarantine{Reason: fleet.ReasonAttempts},
		Anchor: &fleet.Anchor{Host: "h1"}, Wanted: &fleet.Wanted{By: "alice"},
		Change:   &fleet.Change{Order: "o"},
		Repair:   &fleet.Repair{ID: "web-1/r1", Intent: &fleet.Intent{ID: "web-1/r1/call1"}},
		Attempts: []fleet.Instant{now}, Spurned: []fleet.HostName{"h2"},
		Strays: []fleet.Stray{{ID: "s"}}, Swings: []fleet.Swing{{Written: 1}},
		RetryAt: now, Kept: []fleet.KeptInstance{{Leaving: fleet.Leaving{RetryAt: 1}}},
		Volumes:   &fleet.Volumes{Host: "h1", Made: []string{"data"}},
		Snapshots: []fleet.DiskSnapshot{{ID: "r1"}}, Left: []fleet.LeftBehind{{Proof: fleet.ProofHostOff}},
		Contest:   &fleet.Contest{Asked: now},
		Warned:    []fleet.Warned{{Check: "disk", Again: 1}},
		Elsewhere: &fleet.Claim{By: "a", Since: 1},
		Incidents: 1, Repairs: 1, Address: netip.MustParseAddr("10.0.0.1"), Alias: "main",
	}
}

func TestBeliefsThatDifferInAnythingAreNotEqual(t *testing.T) {
	t.Parallel()
	whole := full()
	if copied := whole.Clone(); !whole.Equal(&copied) {
		t.Fatal("a belief does not equal its copy")
	}
	for i := range reflect.TypeFor[fleet.Machine]().NumField() {
		other := full()
		f := reflect.ValueOf(&other).Elem().Field(i)
		name := reflect.TypeFor[fleet.Machine]().Field(i).Name
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
	none.Strays, none.Attempts = []fleet.Stray{}, []fleet.Instant{}
	if !empty.Equal(&none) {
		t.Error("an empty list and none are the same")
	}
}
