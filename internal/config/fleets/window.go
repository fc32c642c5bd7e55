package fleets

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/keys"

	"github.com/robfig/cron/v3"
)

// anyDay is the bit with which the cron library notes a star.
const anyDay = 1 << 63

// windows returns the windows as the core reads them: their expressions are parsed here, once.
func (c *compiler) windows(d keys.At[[]keys.At[windowDraft]]) []fleet.Window {
	var out []fleet.Window
	for _, w := range d.Value {
		if w.How != keys.Given {
			continue
		}
		if window, ok := c.window(w.Value); ok {
			out = append(out, window)
		}
	}
	return out
}

func (c *compiler) window(d windowDraft) (fleet.Window, bool) {
	out := fleet.Window{At: d.at.Value, For: d.lasts.Value}
	if !d.at.Known() || !d.zone.Known() || !d.lasts.Known() {
		return out, false
	}
	var err error
	if out.Zone, err = time.LoadLocation(d.zone.Value); err != nil {
		c.Add(d.zone.Spot, fmt.Sprintf("there is no time zone %q", d.zone.Value),
			"write one as Europe/Berlin, UTC or Local")
		return out, false
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	schedule, err := parser.Parse(d.at.Value)
	s, ok := schedule.(*cron.SpecSchedule)
	if err != nil || !ok {
		c.Add(d.at.Spot, fmt.Sprintf("%q is no cron expression: %v", d.at.Value, err),
			"write minute, hour, day of the month, month and day of the week, as 0 2 * * 1-5")
		return out, false
	}
	out.Minutes, out.Hours, out.Months = s.Minute, s.Hour, s.Month
	out.Days, out.Weekdays = s.Dom, s.Dow
	out.EitherDay = s.Dom&anyDay == 0 && s.Dow&anyDay == 0
	return out, true
}

// protected returns the numbers of the protected machines.
func (c *compiler) protected() []int {
	var out []int
	for _, p := range c.draft.protect.Value {
		if !p.Known() {
			continue
		}
		m := fleet.MachineName(p.Value)
		n, ok := m.Ordinal()
		switch {
		case !ok || string(m.Fleet()) != c.name:
			c.Add(p.Spot, fmt.Sprintf("%s is no machine of fleet %s", p.Value, c.name),
				fmt.Sprintf("write %s-1, %s-2 and so on", c.name, c.name))
		case slices.Contains(out, n):
			c.Add(p.Spot, p.Value+" is protected already", "take one of the two out")
		default:
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}
