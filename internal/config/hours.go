package config

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/fleet"
)

// clock is a time of the day with beginning and end.
type clock struct{ from, to time.Duration }

func hoursShape() shorthand[hoursDraft, clock] {
	return shorthand[hoursDraft, clock]{
		short: clockTimes(),
		long: object[hoursDraft]{fields: []field[hoursDraft]{
			must("at", "\"02:00-04:00\"", "From when until when, as a clock on the wall shows it. Over midnight, "+
				"too: `\"23:00-01:00\"`.", clockTimes(),
				func(h *hoursDraft) *at[clock] { return &h.times }),
			may("days", "The days on which it begins.", list[time.Weekday]{noun: "one day", each: weekday()},
				func(h *hoursDraft) *at[[]at[time.Weekday]] { return &h.days }).said("every day"),
			or("zone", defaultZone, "Whose clock: a name of the time zone database. Its summer time counts: an hour "+
				"that comes twice is meant twice, and one that is left out does not come.", text("a time zone",
				"Europe/Berlin"), func(h *hoursDraft) *at[string] { return &h.zone }),
		}},
		take: func(v at[clock]) hoursDraft {
			return hoursDraft{times: v, zone: at[string]{value: defaultZone, how: preset}}
		},
	}
}

func clockTimes() scalar[clock] {
	return scalar[clock]{
		noun: "a time of the day", example: `"02:00-04:00"`, forms: []form{formText}, parse: parseClockTimes,
		format: func(c clock) any { return formatClock(c.from) + "-" + formatClock(c.to) },
		json:   schema{Type: "string", Pattern: `^[0-9]{2}:[0-9]{2} *- *[0-9]{2}:[0-9]{2}$`, noun: "time of the day"},
	}
}

func parseClockTimes(text string) (clock, *flaw) {
	wrong := flawf(`write for example "02:00-04:00"`, "%q is not a time of the day", text)
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		return clock{}, wrong
	}
	from, ok := parseClock(strings.TrimSpace(first))
	to, ok2 := parseClock(strings.TrimSpace(last))
	switch {
	case !ok || !ok2 || from == 24*time.Hour:
		return clock{}, wrong
	case from == to:
		return clock{}, flawf(`write "00:00-24:00" for the whole day`, "%q is no time at all", text)
	}
	return clock{from, to}, nil
}

// parseClock reads 00:00 to 24:00.
func parseClock(text string) (time.Duration, bool) {
	if text == "24:00" {
		return 24 * time.Hour, true
	}
	t, err := time.Parse("15:04", text)
	if err != nil || len(text) != len("15:04") {
		return 0, false
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, true
}

func formatClock(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute)
}

var weekdays = map[string]time.Weekday{
	"mon": time.Monday, "tue": time.Tuesday, "wed": time.Wednesday, "thu": time.Thursday,
	"fri": time.Friday, "sat": time.Saturday, "sun": time.Sunday,
}

func weekday() scalar[time.Weekday] {
	words := choice(nil, "mon", "tue", "wed", "thu", "fri", "sat", "sun")
	return scalar[time.Weekday]{
		noun: words.noun, example: words.example, forms: words.forms, json: words.json,
		parse: func(text string) (time.Weekday, *flaw) {
			w, bad := words.parse(text)
			return weekdays[w], bad
		},
		format: func(d time.Weekday) any { return strings.ToLower(d.String()[:3]) },
	}
}

// hours judges the times of the day at which a check is not heeded.
func (c *fleetCompiler) hours(all []at[hoursDraft]) []fleet.Hours {
	var out []fleet.Hours
	for _, h := range all {
		if h.how != given {
			continue
		}
		d := h.value
		hours := fleet.Hours{From: d.times.value.from, To: d.times.value.to, Zone: time.UTC}
		for _, day := range d.days.value {
			hours.Days = hours.Days.With(day.value)
		}
		if d.zone.known() && d.zone.value != defaultZone {
			zone, err := time.LoadLocation(d.zone.value)
			if err != nil || d.zone.value == "Local" {
				c.add(d.zone.spot, fmt.Sprintf("there is no time zone %s", d.zone.value),
					"write for example Europe/Berlin or UTC")
				continue
			}
			hours.Zone = zone
		}
		out = append(out, hours)
	}
	return out
}
