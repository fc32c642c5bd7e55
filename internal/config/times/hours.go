package times

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/core/policy"
	"hale/internal/keys"
)

// defaultZone is that of clocks for which the file names none.
const defaultZone = "UTC"

// clock is a time of the day with beginning and end.
type clock struct{ from, to time.Duration }

// Hours is a time of the day: a text, or with days and a zone.
type Hours struct {
	times keys.At[clock]
	days  keys.At[[]keys.At[time.Weekday]]
	zone  keys.At[string]
}

// HoursShape is a time of the day as it is written.
func HoursShape() keys.Shorthand[Hours, clock] {
	return keys.Shorthand[Hours, clock]{
		Short: clockTimes(),
		Long: keys.Object[Hours]{Fields: []keys.Field[Hours]{
			keys.Must("at", "\"02:00-04:00\"", "From when until when, as a clock on the wall shows it. Over midnight, "+
				"too: `\"23:00-01:00\"`.", clockTimes(),
				func(h *Hours) *keys.At[clock] { return &h.times }),
			keys.May("days", "The days on which it begins.", keys.List[time.Weekday]{Noun: "one day", Each: weekday()},
				func(h *Hours) *keys.At[[]keys.At[time.Weekday]] { return &h.days }).Said("every day"),
			keys.Or("zone", defaultZone,
				"The clock's zone: a name of the time zone database. Its summer time counts: an "+
					"hour that comes twice is meant twice, and one that is left out does not come.",
				keys.Text("a time zone", "Europe/Berlin"), func(h *Hours) *keys.At[string] { return &h.zone }),
		}},
		Take: func(v keys.At[clock]) Hours {
			return Hours{times: v, zone: keys.At[string]{Value: defaultZone, How: keys.Preset}}
		},
	}
}

func clockTimes() keys.Scalar[clock] {
	return keys.Scalar[clock]{
		Noun: "a time of the day", Example: `"02:00-04:00"`, Forms: []keys.Form{keys.FormText}, Parse: parseClockTimes,
		Format: func(c clock) any { return keys.FormatClock(c.from) + "-" + keys.FormatClock(c.to) },
		JSON: keys.Schema{Type: "string", Pattern: `^[0-9]{2}:[0-9]{2} *- *[0-9]{2}:[0-9]{2}$`,
			Noun: "time of the day"},
	}
}

func parseClockTimes(text string) (clock, *keys.Flaw) {
	wrong := keys.Flawf(`write for example "02:00-04:00"`, "%q is not a time of the day", text)
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		return clock{}, wrong
	}
	from, ok := keys.ParseClock(strings.TrimSpace(first))
	to, ok2 := keys.ParseClock(strings.TrimSpace(last))
	switch {
	case !ok || !ok2 || from == 24*time.Hour:
		return clock{}, wrong
	case from == to:
		return clock{}, keys.Flawf(`write "00:00-24:00" for the whole day`, "%q is no time at all", text)
	}
	return clock{from, to}, nil
}

var weekdays = map[string]time.Weekday{
	"mon": time.Monday, "tue": time.Tuesday, "wed": time.Wednesday, "thu": time.Thursday,
	"fri": time.Friday, "sat": time.Saturday, "sun": time.Sunday,
}

func weekday() keys.Scalar[time.Weekday] {
	words := keys.Choice(nil, "mon", "tue", "wed", "thu", "fri", "sat", "sun")
	return keys.Scalar[time.Weekday]{
		Noun: words.Noun, Example: words.Example, Forms: words.Forms, JSON: words.JSON,
		Parse: func(text string) (time.Weekday, *keys.Flaw) {
			w, bad := words.Parse(text)
			return weekdays[w], bad
		},
		Format: func(d time.Weekday) any { return strings.ToLower(d.String()[:3]) },
	}
}

// HoursOf returns the times of the day as the core reads them.
func HoursOf(f *keys.Finder, all []keys.At[Hours]) []policy.Hours {
	var out []policy.Hours
	for _, h := range all {
		if h.How != keys.Given {
			continue
		}
		d := h.Value
		hours := policy.Hours{From: d.times.Value.from, To: d.times.Value.to, Zone: time.UTC}
		for _, day := range d.days.Value {
			hours.Days = hours.Days.With(day.Value)
		}
		if d.zone.Known() && d.zone.Value != defaultZone {
			zone, err := time.LoadLocation(d.zone.Value)
			if err != nil || d.zone.Value == "Local" {
				f.Add(d.zone.Spot, fmt.Sprintf("there is no time zone %s", d.zone.Value),
					"write for example Europe/Berlin or UTC")
				continue
			}
			hours.Zone = zone
		}
		out = append(out, hours)
	}
	return out
}

// WriteHours writes them as a file has them.
func WriteHours(all []policy.Hours) []string {
	out := make([]string, 0, len(all))
	for _, h := range all {
		var p keys.Pairs
		var days []string
		for d := range time.Saturday + 1 {
			if h.Days != 0 && h.Days.Has(d) {
				days = append(days, strings.ToLower(d.String()[:3]))
			}
		}
		p.Add("at", `"%s-%s"`, oClock(h.From), oClock(h.To))
		p.May("days", "[%s]", strings.Join(days, ", "))
		if h.Zone != time.UTC {
			p.Add("zone", "%s", h.Zone)
		}
		out = append(out, p.String())
	}
	return out
}

func oClock(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute)
}
