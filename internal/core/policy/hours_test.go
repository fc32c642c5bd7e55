package policy_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/policy"
)

func zone(t interface{ Fatal(...any) }, name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func hours(from, to time.Duration, z *time.Location, days ...time.Weekday) policy.Hours {
	h := policy.Hours{From: from, To: to, Zone: z}
	for _, d := range days {
		h.Days = h.Days.With(d)
	}
	return h
}

func TestHours(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	night := hours(2*time.Hour, 4*time.Hour, berlin)
	over := hours(23*time.Hour, 2*time.Hour, berlin, time.Saturday)
	for reason, tc := range map[string]struct {
		hours policy.Hours
		at    string // in Berlin's offset of the moment
		want  bool
	}{
		"before":                       {night, "2026-01-10T01:59:59+01:00", false},
		"at its beginning":             {night, "2026-01-10T02:00:00+01:00", true},
		"until its end":                {night, "2026-01-10T03:59:59+01:00", true},
		"at its end":                   {night, "2026-01-10T04:00:00+01:00", false},
		"another zone's two o'clock":   {night, "2026-01-10T02:00:00Z", true},
		"another zone's half past one": {night, "2026-01-10T00:30:00Z", false},
		"put forward: one hour long":   {night, "2026-03-29T03:00:00+02:00", true},
		"put forward: before":          {night, "2026-03-29T01:59:59+01:00", false},
		"put back: two, the first":     {night, "2026-10-25T02:30:00+02:00", true},
		"put back: two, the second":    {night, "2026-10-25T02:30:00+01:00", true},
		"over midnight, its evening":   {over, "2026-01-10T23:30:00+01:00", true},
		"over midnight, its morning":   {over, "2026-01-11T01:30:00+01:00", true},
		"the morning of its own day":   {over, "2026-01-10T01:30:00+01:00", false},
		"the evening of the next day":  {over, "2026-01-11T23:30:00+01:00", false},
		"a whole day":                  {hours(0, 24*time.Hour, time.UTC, time.Sunday), "2026-01-11T23:59:59Z", true},
		"the day after it":             {hours(0, 24*time.Hour, time.UTC, time.Sunday), "2026-01-12T00:00:00Z", false},
	} {
		at, err := time.Parse(time.RFC3339, tc.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := tc.hours.Holds(at); got != tc.want {
			t.Errorf("%s: %v at %s", reason, got, tc.at)
		}
	}
}

// Between a moment and what Next returns nothing changes, whatever the clocks do: looked at minute by minute.
func TestNothingChangesBeforeNext(t *testing.T) {
	t.Parallel()
	zones := []*time.Location{time.UTC, zone(t, "Europe/Berlin"), zone(t, "Australia/Lord_Howe"),
		zone(t, "America/New_York"), zone(t, "Asia/Kolkata")}
	rapid.Check(t, func(t *rapid.T) {
		minutes := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Minute
		}
		h := policy.Hours{
			From: minutes("from", 1439), To: minutes("to", 1440), Days: policy.Weekdays(rapid.IntRange(0, 127).Draw(t,
				"days")),
			Zone: rapid.SampledFrom(zones).Draw(t, "zone"),
		}
		begin := rapid.SampledFrom([]time.Time{
			time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC),
			time.Date(2026, 4, 4, 0, 0, 0, 0, time.UTC),
			time.Date(2026, 10, 3, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
			time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC),
		}).Draw(t, "begin")
		at := begin.Add(minutes("later", 2*1440))
		next := h.Next(at)
		if !next.After(at) || next.Sub(at) > 24*time.Hour {
			t.Fatalf("the next change after %s is at %s", at, next)
		}
		for m := at; m.Before(next); m = m.Add(time.Minute) {
			if h.Holds(m) != h.Holds(at) {
				t.Fatalf("it changes at %s, after %s and before %s", m, at, next)
			}
		}
	})
}
