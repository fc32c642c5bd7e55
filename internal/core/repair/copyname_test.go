package repair

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
)

// L12: a copy that lies at the provider under its name is taken for the one that was ordered. An older store that was
// restored gives a repair's number once more, and must not give the name.
func TestTheNameOfACopyDoesNotRepeat(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	m := &fleet.Machine{Name: "web-2"}
	first := copyOf(m, &fleet.Repair{ID: "web-2/r5", Started: began}, fleet.OpSnapshot)
	for name, c := range map[string]struct {
		m    *fleet.Machine
		r    fleet.Repair
		same bool
	}{
		"an order that is repeated": {m, fleet.Repair{ID: "web-2/r5", Started: began, Looks: 3}, true},
		"the same number at another time": {
			m, fleet.Repair{ID: "web-2/r5", Started: began.Add(time.Second)}, false,
		},
		"another repair of the same moment": {m, fleet.Repair{ID: "web-2/r6", Started: began}, false},
		"one that an older version had begun": {
			&fleet.Machine{Snapshots: []fleet.DiskSnapshot{{ID: "r5"}}}, fleet.Repair{ID: "web-2/r5", Started: began},
			false,
		},
	} {
		if got := copyOf(c.m, &c.r, fleet.OpSnapshot); (got == first) != c.same || got == "" {
			t.Errorf("%s is named %s, and the first one %s", name, got, first)
		}
	}
	older := &fleet.Machine{Snapshots: []fleet.DiskSnapshot{{ID: "r5"}}}
	if got := copyOf(older, &fleet.Repair{ID: "web-2/r5", Started: began}, fleet.OpSnapshot); got != "r5" {
		t.Errorf("what an older version began goes on as %s", got)
	}
}
