package keys

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurationsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]time.Duration{1, time.Millisecond, time.Second, time.Minute, time.Hour}).Draw(t,
			"unit")
		d := time.Duration(rapid.Int64Range(-100_000, 100_000).Draw(t, "count")) * unit
		got, bad := ParseDuration(FormatDuration(d))
		if bad != nil || got != d {
			t.Fatalf("%s written as %s is read as %s, %v", d, FormatDuration(d), got, bad)
		}
	})
}

func TestSizesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom(sizeUnits).Draw(t, "unit")
		n := rapid.Uint64Range(0, 1<<23).Draw(t, "count") * unit.bytes
		got, bad := parseSize(FormatSize(n))
		if bad != nil || got != n {
			t.Fatalf("%d written as %s is read as %d, %v", n, FormatSize(n), got, bad)
		}
	})
}

func TestPercentagesRoundTrip(t *testing.T) {
	t.Parallel()
	for n := range 101 {
		if got, bad := ParsePercent(FormatPercent(n)); bad != nil || got != n {
			t.Errorf("%d is read as %d, %v", n, got, bad)
		}
	}
}

func TestRatesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rate{
			Times:  rapid.IntRange(minAttempts, maxAttempts).Draw(t, "times"),
			Within: time.Duration(rapid.Int64Range(int64(minAttemptsIn), int64(maxAttemptsIn)).Draw(t, "within")),
		}
		if got, bad := parseRate(formatRate(r)); bad != nil || got != r {
			t.Fatalf("%v written as %s is read as %v, %v", r, formatRate(r), got, bad)
		}
	})
}

func TestDurationsAreWrittenAsPeopleDo(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"0s": 0, "500ms": 500 * time.Millisecond, "1s": time.Second, "1m": time.Minute, "1m30s": 90 * time.Second,
		"10m": 10 * time.Minute,
		"1h":  time.Hour, "1h20m": 80 * time.Minute, "20h": 20 * time.Hour, "1h0m5s": time.Hour + 5*time.Second,
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
}

func TestSizesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "MiB", "256", "256MB", "256mib", "256 MiB", "1.5GiB",
		"-1MiB", "0x10MiB", "99999999999999TiB", "256MiBs", "256B"} {
		if n, bad := parseSize(text); bad == nil {
			t.Errorf("%q is read as %d", text, n)
		}
	}
}

func TestNearestWord(t *testing.T) {
	t.Parallel()
	known := []string{"every", "timeout", "down_after", "up_after", "http", "ping"}
	for word, want := range map[string]string{
		"evry": "every", "evrey": "every", "Timeout": "timeout", "downAfter": "down_after",
		"up-after": "up_after", "htp": "http",
		"downafter": "down_after", "interval": "every", "colour": "", "x": "", "": "",
	} {
		if got, ok := Nearest(word, known); got != want || ok != (want != "") {
			t.Errorf("%s: want %q, got %q", word, want, got)
		}
	}
}
