package fleet

import (
	"testing"
	"time"
)

func TestDaysAreLengthsOfTimeToo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "0d": 0,
	} {
		if got, err := ParseSpan(text); err != nil || got != want {
			t.Errorf("%s is %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "2", "-1d", "1.5d", "2d3", "2d-1h", "1d2d", "2dd", "999999999d",
		"106751d24h", "4294967297d"} {
		if got, err := ParseSpan(text); err == nil {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}

// Whoever tests deadlines learns when the first of them, that is still to come, ends.
func TestAWatchedPresentNotesWhatIsNext(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct {
		test func(Now) bool
		is   bool
		next Instant
	}{
		"it is due":             {func(n Now) bool { return n.Due(100) }, true, 0},
		"it will be due":        {func(n Now) bool { return n.Due(101) }, false, 101},
		"none is set":           {func(n Now) bool { return n.Due(0) }, false, 0},
		"the first counts":      {func(n Now) bool { return n.Due(300) || n.Due(200) || n.Due(250) }, false, 200},
		"the moment is reached": {func(n Now) bool { return n.Reached(n.Wall) }, true, 0},
		"it will be":            {func(n Now) bool { return n.Reached(n.Wall.Add(7)) }, false, 107},
		"it never will be": {func(n Now) bool { return n.Reached(n.Wall.AddDate(900, 0, 0)) }, false,
			1<<63 - 1},
		"it was long ago":           {func(n Now) bool { return n.Reached(time.Time{}) }, true, 0},
		"it is within, to the last": {func(n Now) bool { return n.Within(40, 60) }, true, 101},
		"it is so no more":          {func(n Now) bool { return n.Within(39, 60) }, false, 0},
		"a deadline that was set":   {func(n Now) bool { n.Await(150); return false }, false, 150},
	} {
		var next Instant
		now := Now{Mono: 100, Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		if is := c.test(now.Watched(&next)); is != c.is || next != c.next {
			t.Errorf("%s: %t, next %d", reason, is, next)
		}
		if is := c.test(now); is != c.is {
			t.Errorf("%s: it depends on being watched", reason)
		}
	}
}
