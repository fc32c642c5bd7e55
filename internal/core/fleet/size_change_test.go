package fleet_test

import (
	"testing"

	"hale/internal/core/fleet"
)

// What people write is read, and written back the same.
func TestSizeChangesAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]fleet.SizeChange{
		"6": {Exact: 6}, "+2": {By: 2}, "-1": {By: -1}, "+50%": {Percent: 50}, "-20%": {Percent: -20},
		"+1000%": {Percent: 1000},
	} {
		got, err := fleet.ParseSizeChange(text)
		if err != nil || got != want {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
		if got.String() != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	for _, text := range []string{"", "many", "0", "+0", "50%", "+0%", "-101%", "+1001%", "10001", "+10001", "1.5",
		"--1", "99999999999999999999"} {
		if c, err := fleet.ParseSizeChange(text); err == nil {
			t.Errorf("%q is read as %+v", text, c)
		}
	}
}

// A change says one thing, and a least number of machines belongs to a percentage.
func TestASizeChangeSaysOneThing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]fleet.SizeChange{
		"nothing": {}, "two things": {Exact: 3, By: 1}, "at least without a percentage": {By: 1, AtLeast: 2},
		"at least none": {Percent: 50, AtLeast: -1},
	} {
		if c.Check() == nil {
			t.Errorf("%s: %+v is fine", name, c)
		}
	}
	if err := (fleet.SizeChange{Percent: -10, AtLeast: 2}).Check(); err != nil {
		t.Errorf("a percentage with a least number: %v", err)
	}
}
