package keys

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/fleet"
)

// Flaw is what is wrong with a written value, and how to mend it.
type Flaw struct{ Message, Hint string }

// Flawf returns a flaw: how to mend it, and what is wrong.
func Flawf(hint, format string, args ...any) *Flaw {
	return &Flaw{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// ParseDuration reads a length of time, as 1h30m or 2d.
func ParseDuration(text string) (time.Duration, *Flaw) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return 0, Flawf("did you mean "+text+"s?", "%s has no unit", text)
	}
	d, err := fleet.ParseSpan(text)
	if err != nil {
		return 0, Flawf("write for example 500ms, 30s, 5m, 1h30m or 2d", "%q is not a duration", text)
	}
	return d, nil
}

// FormatDuration writes a duration as people do.
func FormatDuration(d time.Duration) string { return fleet.WriteSpan(d) }

// sizeUnits are the units of a size in bytes, largest first.
var sizeUnits = []struct {
	name  string
	bytes uint64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// parseSize reads a whole number of KiB, MiB, GiB or TiB, as 256MiB, and returns bytes.
func parseSize(text string) (uint64, *Flaw) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit := strings.TrimSpace(text[len(digits):])
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, Flawf("write for example 256MiB or 2GiB", "%q is not a size", text)
	}
	for _, u := range sizeUnits {
		switch {
		case unit == u.name && n > math.MaxUint64/u.bytes:
			return 0, Flawf("write for example 256MiB or 2GiB", "%s is too much", text)
		case unit == u.name && strings.HasPrefix(text, digits+u.name):
			return n * u.bytes, nil
		case unit != "" && strings.EqualFold(unit[:1], u.name[:1]):
			return 0, Flawf("did you mean "+digits+u.name+"?", "%q is not a size", text)
		}
	}
	if unit == "" {
		return 0, Flawf("did you mean "+digits+"MiB?", "%s has no unit", text)
	}
	return 0, Flawf("write for example 256MiB or 2GiB", "%q is not a size", text)
}

// FormatSize writes a size in the largest unit that divides it. It is the inverse of parseSize for whole KiB.
func FormatSize(bytes uint64) string {
	for _, u := range sizeUnits {
		if bytes%u.bytes == 0 && bytes > 0 {
			return strconv.FormatUint(bytes/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatUint(bytes>>10, 10) + "KiB"
}

// ParsePercent reads a whole number of percent, as 20%.
func ParsePercent(text string) (int, *Flaw) {
	digits, ok := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	switch {
	case err != nil:
		return 0, Flawf("write a whole number of percent, for example 20%", "%q is not a percentage", text)
	case !ok:
		return 0, Flawf("did you mean "+text+"%?", "%s has no percent sign", text)
	case n < 0 || n > 100:
		return 0, Flawf("choose 0% to 100%", "%s is out of range", text)
	}
	return n, nil
}

// FormatPercent writes a percentage.
func FormatPercent(n int) string { return strconv.Itoa(n) + "%" }

// The bounds of a rate.
const (
	minAttempts   = 1
	maxAttempts   = 100
	minAttemptsIn = time.Minute
	maxAttemptsIn = 30 * 24 * time.Hour
)

// Rate is so many times within a window.
type Rate struct {
	Times  int
	Within time.Duration
}

// parseRate reads a rate, as "3 in 1h".
func parseRate(text string) (Rate, *Flaw) {
	words := strings.Fields(text)
	if len(words) != 3 || words[1] != "in" {
		return Rate{}, Flawf("write for example 3 in 1h", "%q is not a number within a time", text)
	}
	n, err := strconv.Atoi(words[0])
	if err != nil {
		return Rate{}, Flawf("write for example 3 in 1h", "%q is not a whole number", words[0])
	}
	if n < minAttempts || n > maxAttempts {
		return Rate{}, Flawf(fmt.Sprintf("choose %d to %d", minAttempts, maxAttempts), "%d is out of range", n)
	}
	d, bad := ParseDuration(words[2])
	if bad != nil {
		return Rate{}, bad
	}
	if bad := InRange(d, minAttemptsIn, maxAttemptsIn, FormatDuration); bad != nil {
		return Rate{}, bad
	}
	return Rate{Times: n, Within: d}, nil
}

func formatRate(r Rate) string { return fmt.Sprintf("%d in %s", r.Times, FormatDuration(r.Within)) }

// ParseInteger reads a whole decimal number.
func ParseInteger(text string) (int, *Flaw) {
	n, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(n) != text {
		return 0, Flawf("write it in decimal digits only", "%q is not a whole number", text)
	}
	return n, nil
}

// InRange judges a value against its bounds. Both bounds are allowed.
func InRange[V int | uint64 | time.Duration](v, low, high V, format func(V) string) *Flaw {
	if v < low || v > high {
		return Flawf("choose "+format(low)+" to "+format(high), "%s is out of range", format(v))
	}
	return nil
}
