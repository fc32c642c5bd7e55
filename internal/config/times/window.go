// Package times reads the times of a configuration that come again and again: windows, as cron has them, and hours of
// the day.
package times

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"hale/internal/core/policy"
	"hale/internal/keys"
)

// Draft is a window as the file says it, key by key.
type Draft struct {
	at    keys.At[string]
	lasts keys.At[time.Duration]
	zone  keys.At[string]
}

// Shape is a window as it is written.
func Shape() keys.Object[Draft] {
	return keys.Object[Draft]{Fields: []keys.Field[Draft]{
		keys.Must("at", "0 2 * * *", "When it opens, as cron has it: minute, hour, day of the month, name or number "+
			"of the month, day of the week.", keys.Text("a cron expression", "0 2 * * 1-5"),
			func(w *Draft) *keys.At[string] { return &w.at }),
		keys.Must("for", "4h", "How long it stays open.", keys.Duration(time.Minute, 7*24*time.Hour),
			func(w *Draft) *keys.At[time.Duration] { return &w.lasts }),
		keys.Or("zone", defaultZone, "The time zone of at, as `Europe/Berlin`; `Local` is that of hale's server.",
			keys.Text("a time zone", "Europe/Berlin"),
			func(w *Draft) *keys.At[string] { return &w.zone }),
	}}
}

// anyDay is the bit with which the cron library notes a star.
const anyDay = 1 << 63

// Windows returns the windows as the core reads them: their expressions are parsed here, once.
func Windows(f *keys.Finder, d keys.At[[]keys.At[Draft]]) []policy.Window {
	var out []policy.Window
	for _, w := range d.Value {
		if w.How != keys.Given {
			continue
		}
		if window, ok := window(f, w.Value); ok {
			out = append(out, window)
		}
	}
	return out
}

func window(f *keys.Finder, d Draft) (policy.Window, bool) {
	out := policy.Window{At: d.at.Value, For: d.lasts.Value}
	if !d.at.Known() || !d.zone.Known() || !d.lasts.Known() {
		return out, false
	}
	var err error
	if out.Zone, err = time.LoadLocation(d.zone.Value); err != nil {
		f.Add(d.zone.Spot, fmt.Sprintf("there is no time zone %q", d.zone.Value),
			"write one as Europe/Berlin, UTC or Local")
		return out, false
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	schedule, err := parser.Parse(d.at.Value)
	s, ok := schedule.(*cron.SpecSchedule)
	if err != nil || !ok {
		f.Add(d.at.Spot, fmt.Sprintf("%q is no cron expression: %v", d.at.Value, err),
			"write minute, hour, day of the month, month and day of the week, as 0 2 * * 1-5")
		return out, false
	}
	out.Minutes, out.Hours, out.Months = s.Minute, s.Hour, s.Month
	out.Days, out.Weekdays = s.Dom, s.Dow
	out.EitherDay = s.Dom&anyDay == 0 && s.Dow&anyDay == 0
	return out, true
}
