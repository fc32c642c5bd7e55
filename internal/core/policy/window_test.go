package policy_test

import (
	"testing"
	"time"

	"hale/internal/core/policy"
)

// all is every bit: a star.
const all = ^uint64(0)

func bits(n ...int) uint64 {
	var set uint64
	for _, i := range n {
		set |= 1 << i
	}
	return set
}

// nightly is open from 2 to 6 o'clock.
func nightly(zone *time.Location) policy.Window {
	return policy.Window{Minutes: bits(0), Hours: bits(2), Days: all, Months: all, Weekdays: all, For: 4 * time.Hour,
		Zone: zone}
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestAWindowOpensAndCloses(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("summer", 2*3600)
	fridays := policy.Window{Minutes: bits(30), Hours: bits(22), Days: all, Months: all, Weekdays: bits(5),
		For: 6 * time.Hour, Zone: time.UTC}
	either := policy.Window{Minutes: bits(0), Hours: bits(0), Days: bits(1), Months: all, Weekdays: bits(1),
		EitherDay: true, For: time.Hour, Zone: time.UTC}
	both := either
	both.EitherDay = false
	for reason, c := range map[string]struct {
		w     policy.Window
		at    string
		open  bool
		until string
	}{
		"a second before":           {nightly(time.UTC), "2026-03-03 01:59:59", false, "2026-03-03 02:00:00"},
		"at the edge":               {nightly(time.UTC), "2026-03-03 02:00:00", true, "2026-03-03 06:00:00"},
		"a second before its end":   {nightly(time.UTC), "2026-03-03 05:59:59", true, "2026-03-03 06:00:00"},
		"at its end":                {nightly(time.UTC), "2026-03-03 06:00:00", false, "2026-03-04 02:00:00"},
		"in another zone":           {nightly(berlin), "2026-07-03 00:30:00", true, "2026-07-03 04:00:00"},
		"over midnight":             {fridays, "2026-11-21 03:00:00", true, "2026-11-21 04:30:00"}, // a Saturday
		"on another day, far ahead": {fridays, "2026-11-21 05:00:10", false, "2026-11-22 05:00:00"},
		"the first of the month":    {either, "2026-11-01 00:10:00", true, "2026-11-01 01:00:00"}, // a Sunday
		"a Monday":                  {either, "2026-11-16 00:10:00", true, "2026-11-16 01:00:00"},
		"neither":                   {either, "2026-11-17 00:10:00", false, "2026-11-18 00:10:00"},
		"both are wanted":           {both, "2026-11-16 00:10:00", false, "2026-11-17 00:10:00"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			open, until := c.w.Open(moment(t, c.at))
			if want := moment(t, c.until); open != c.open || !until.Equal(want) {
				t.Errorf("open %v until %s, want %v until %s", open, until, c.open, want)
			}
		})
	}
}

func TestRepairsKeepToTheirWindows(t *testing.T) {
	t.Parallel()
	noon := policy.Window{Minutes: bits(0), Hours: bits(12), Days: all, Months: all, Weekdays: all, For: time.Hour,
		Zone: time.UTC}
	three := policy.Window{Minutes: bits(0), Hours: bits(3), Days: all, Months: all, Weekdays: all, For: time.Hour,
		Zone: time.UTC}
	for reason, c := range map[string]struct {
		policy policy.Repair
		at     string
		closed bool
		until  string
	}{
		"no windows": {policy.Repair{}, "2026-03-03 09:00:00", false, "2026-03-04 09:00:00"},
		"outside of all": {policy.Repair{Windows: []policy.Window{nightly(time.UTC), noon}},
			"2026-03-03 09:00:00", true, "2026-03-03 12:00:00"},
		"inside of one": {policy.Repair{Windows: []policy.Window{nightly(time.UTC), noon}},
			"2026-03-03 12:30:00", false, "2026-03-03 13:00:00"},
		"not then": {policy.Repair{NotEvery: []policy.Window{noon}}, "2026-03-03 12:30:00", true,
			"2026-03-03 13:00:00"},
		"any other time": {policy.Repair{NotEvery: []policy.Window{noon}}, "2026-03-03 13:00:00",
			false, "2026-03-04 12:00:00"},
		"a hole in a window": {policy.Repair{Windows: []policy.Window{nightly(time.UTC)},
			NotEvery: []policy.Window{three}}, "2026-03-03 03:10:00", true, "2026-03-03 04:00:00"},
		"before the hole in a window": {policy.Repair{Windows: []policy.Window{nightly(time.UTC)},
			NotEvery: []policy.Window{three}}, "2026-03-03 02:10:00", false, "2026-03-03 03:00:00"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			closed, until := c.policy.Closed(moment(t, c.at))
			if want := moment(t, c.until); closed != c.closed || !until.Equal(want) {
				t.Errorf("closed %v until %s, want %v until %s", closed, until, c.closed, want)
			}
		})
	}
}
