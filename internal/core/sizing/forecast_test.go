package sizing_test

import (
	"testing"
	"time"

	"hale/internal/core/resized"
	"hale/internal/core/sizing"
)

// A fleet that needs 6 machines from 9 to 17 o'clock on working days, and 2 else, is foretold after a day or two, and
// exactly after a week.
func TestHistoryForetellsWhatComesBack(t *testing.T) {
	t.Parallel()
	monday := sizing.HourAt(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC))
	wants := func(hour int64) int {
		day, hourOfDay := (hour-monday)/24%7, (hour-monday)%24
		if day < 5 && hourOfDay >= 9 && hourOfDay < 17 {
			return 6
		}
		return 2
	}
	var h *resized.History
	var told []resized.History
	for hour := monday; hour < monday+15*24; hour++ {
		var said *resized.History
		h, said = sizing.Remember(h, hour, wants(hour))
		if said != nil {
			told = append(told, *said)
		}
	}
	if len(told) != 13 { // of the first day nothing was foretold, and the last is not over
		t.Fatalf("%d days are told of", len(told))
	}
	for i, want := range []struct{ judged, short, spare int }{
		{24, 0, 0}, {24, 0, 0}, {24, 0, 0}, {24, 0, 0}, // Tuesday to Friday, by the day before
		{24, 0, 32}, {24, 0, 0}, // Saturday was foretold to be as Friday
		{24, 0, 0},
	} {
		if d := told[i]; d.Judged != want.judged || d.Short != want.short || d.Spare != want.spare {
			t.Errorf("day %d: of %d hours %d short, and %d machine-hours to spare", i+1, d.Judged, d.Short, d.Spare)
		}
	}
	for _, d := range told[7:] {
		if d.Short != 0 || d.Spare != 0 {
			t.Errorf("in the second week: %d short, %d to spare", d.Short, d.Spare)
		}
	}
}

func TestTheHistoryIsBoundedAndChangesOnceAnHour(t *testing.T) {
	t.Parallel()
	var h *resized.History
	for hour := range int64(24 * 7 * 6) {
		h, _ = sizing.Remember(h, hour, 3)
		if again, _ := sizing.Remember(h, hour, 2); again != h {
			t.Fatal("it changes within the hour")
		}
	}
	if len(h.Hours) != 168 || h.Foretold != 3 {
		t.Errorf("%+v", h)
	}
	if higher, _ := sizing.Remember(h, h.Hour, 5); higher.Peak != 5 || h.Peak != 3 {
		t.Error("the peak of the hour is lost, or what was before changed")
	}
}
