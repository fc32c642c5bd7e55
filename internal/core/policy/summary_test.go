package policy_test

import (
	"testing"
	"time"

	"hale/internal/core/policy"
)

// A summary is due at its time by the wall's clock, once a day, also where that clock is put forward.
func TestASummaryIsDueOnceADay(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	d := policy.Daily{At: 7 * time.Hour, Zone: berlin}
	for after, want := range map[string]string{
		"2026-03-28T05:59:59Z": "2026-03-28T06:00:00Z",
		"2026-03-28T06:00:00Z": "2026-03-29T05:00:00Z", // summer time begins
		"2026-12-31T23:00:00Z": "2027-01-01T06:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, after)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Next(at).UTC().Format(time.RFC3339); got != want {
			t.Errorf("after %s it is due at %s", after, got)
		}
	}
}
