package config

import (
	"strconv"
	"time"

	"hale/internal/keys"
)

// dailyDraft is when a target is told once a day what was healed.
type dailyDraft struct {
	at    keys.At[time.Duration]
	zone  keys.At[*time.Location]
	empty keys.At[bool]
}

// dailyShape reads a time of the day, or a mapping with more.
func dailyShape() keys.Shorthand[dailyDraft, time.Duration] {
	return keys.Shorthand[dailyDraft, time.Duration]{
		Short: momentOfDay(),
		Long: keys.Object[dailyDraft]{Fields: []keys.Field[dailyDraft]{
			keys.Must("at", "\"07:00\"", "When, as a clock on the wall shows it.", momentOfDay(),
				func(d *dailyDraft) *keys.At[time.Duration] { return &d.at }),
			keys.Or("zone", time.UTC, "Whose clock: a name of the time zone database.", timeZone(),
				func(d *dailyDraft) *keys.At[*time.Location] { return &d.zone }),
			keys.Or("empty", false, "Send it also on a day on which nothing was healed.", keys.Boolean(),
				func(d *dailyDraft) *keys.At[bool] { return &d.empty }),
		}},
		Take: func(v keys.At[time.Duration]) dailyDraft {
			return dailyDraft{at: v, zone: keys.At[*time.Location]{Value: time.UTC, How: keys.Preset}}
		},
	}
}

func momentOfDay() keys.Scalar[time.Duration] {
	return keys.Scalar[time.Duration]{
		Noun: "a time of the day", Example: `"07:00"`, Forms: []keys.Form{keys.FormText},
		Parse: func(text string) (time.Duration, *keys.Flaw) {
			if at, ok := parseClock(text); ok && at < 24*time.Hour {
				return at, nil
			}
			return 0, keys.Flawf(`write for example "07:00"`, "%s is not a time of the day", strconv.Quote(text))
		},
		Format: func(d time.Duration) any { return formatClock(d) },
		JSON:   keys.Schema{Type: "string", Pattern: `^[0-9]{2}:[0-9]{2}$`, Noun: "time of the day"},
	}
}

func timeZone() keys.Scalar[*time.Location] {
	return keys.Scalar[*time.Location]{
		Noun: "a time zone", Example: "Europe/Berlin", Forms: []keys.Form{keys.FormText},
		Parse: func(text string) (*time.Location, *keys.Flaw) {
			zone, err := time.LoadLocation(text)
			if err != nil || text == "Local" || text == "" {
				return nil, keys.Flawf("write for example Europe/Berlin or UTC", "there is no time zone %s", text)
			}
			return zone, nil
		},
		Format: func(z *time.Location) any { return z.String() },
		JSON:   keys.Schema{Type: "string", Noun: "time zone"},
	}
}
