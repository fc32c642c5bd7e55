package config

import (
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
		Short: keys.TimeOfDay(),
		Long: keys.Object[dailyDraft]{Fields: []keys.Field[dailyDraft]{
			keys.Must("at", "\"07:00\"", "When, as a clock on the wall shows it.", keys.TimeOfDay(),
				func(d *dailyDraft) *keys.At[time.Duration] { return &d.at }),
			keys.Or("zone", time.UTC, "The clock's zone: a name of the time zone database.", keys.TimeZone(),
				func(d *dailyDraft) *keys.At[*time.Location] { return &d.zone }),
			keys.Or("empty", false, "Send it also on a day on which nothing was healed.", keys.Boolean(),
				func(d *dailyDraft) *keys.At[bool] { return &d.empty }),
		}},
		Take: func(v keys.At[time.Duration]) dailyDraft {
			return dailyDraft{at: v, zone: keys.At[*time.Location]{Value: time.UTC, How: keys.Preset}}
		},
	}
}
