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
	for _, text := range []string{"", "d", "2", "-1d", "1.5d", "2d3", "2d-1h", "1d2d", "2dd", "999999999d", "106751d24h", "4294967297d"} {
		if got, err := ParseSpan(text); err == nil {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}
