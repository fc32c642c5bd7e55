package keys

import (
	"fmt"
	"strconv"
	"time"
)

// TimeOfDay is a moment of the day, as "07:00".
func TimeOfDay() Scalar[time.Duration] {
	return Scalar[time.Duration]{
		Noun: "a time of the day", Example: `"07:00"`, Forms: []Form{FormText},
		Parse: func(text string) (time.Duration, *Flaw) {
			if at, ok := ParseClock(text); ok && at < 24*time.Hour {
				return at, nil
			}
			return 0, Flawf(`write for example "07:00"`, "%s is not a time of the day", strconv.Quote(text))
		},
		Format: func(d time.Duration) any { return FormatClock(d) },
		JSON:   Schema{Type: "string", Pattern: `^[0-9]{2}:[0-9]{2}$`, Noun: "time of the day"},
	}
}

// TimeZone is a name of the time zone database.
func TimeZone() Scalar[*time.Location] {
	return Scalar[*time.Location]{
		Noun: "a time zone", Example: "Europe/Berlin", Forms: []Form{FormText},
		Parse: func(text string) (*time.Location, *Flaw) {
			zone, err := time.LoadLocation(text)
			if err != nil || text == "Local" || text == "" {
				return nil, Flawf("write for example Europe/Berlin or UTC", "there is no time zone %s", text)
			}
			return zone, nil
		},
		Format: func(z *time.Location) any { return z.String() },
		JSON:   Schema{Type: "string", Noun: "time zone"},
	}
}

// ParseClock reads 00:00 to 24:00.
func ParseClock(text string) (time.Duration, bool) {
	if text == "24:00" {
		return 24 * time.Hour, true
	}
	t, err := time.Parse("15:04", text)
	if err != nil || len(text) != len("15:04") {
		return 0, false
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, true
}

// FormatClock writes it.
func FormatClock(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute)
}
