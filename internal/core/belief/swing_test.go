package belief_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// A machine is held for two reasons in turn for three hours, a minute each: both are written down twice at once, and
// then once an hour, with how often that was.
func TestAReasonThatComesAndGoesIsWrittenDownOnceAnHour(t *testing.T) {
	t.Parallel()
	var m belief.Machine
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	written, counted := 0, 0
	for minute := range 180 {
		reason := fleet.ReasonProviderDown
		if minute%2 == 1 {
			reason = fleet.ReasonBudget
		}
		if again, write := m.Swing(reason, now.Add(time.Duration(minute)*time.Minute)); write {
			written++
			counted += again
		}
	}
	if written != 8 || written+counted+m.Swung() != 180 {
		t.Errorf("%d are written down, which count %d more, and %d are counted still", written, counted, m.Swung())
	}
	if _, write := m.Swing(fleet.ReasonHold, now); !write {
		t.Error("another reason is not written down")
	}
	if _, write := m.Swing(fleet.ReasonBudget, now.Add(-time.Hour)); !write {
		t.Error("a reason is not written down since the clock was set back")
	}
}

// What is remembered of the reasons is bounded.
func TestFewSwingsAreRemembered(t *testing.T) {
	t.Parallel()
	var m belief.Machine
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	for _, r := range []fleet.Reason{"a", "b", "c", "d", "e", "f", "g", "h"} {
		m.Swing(r, now)
	}
	if len(m.Swings) != belief.MaxSwings || m.Swings[0].Reason != "c" || m.Swings[5].Reason != "h" {
		t.Errorf("%+v", m.Swings)
	}
}
