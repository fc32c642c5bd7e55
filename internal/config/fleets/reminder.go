package fleets

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hale/internal/keys"
)

// reminder is the time from one reminder to the next: a duration, or so many cycles of the fleet's checks.
type reminder struct {
	every  time.Duration
	cycles int // 0: every says it
}

// How seldom and how often a person is reminded.
const (
	minRemindEvery = time.Minute
	maxRemindEvery = 30 * 24 * time.Hour
)

// maxCycles is maxRemindEvery at the shortest interval of a check.
const maxCycles = 1_000_000

// cyclesWord is what follows their number.
const cyclesWord = "cycles"

func reminderShape() keys.Scalar[reminder] {
	of := keys.Duration(minRemindEvery, maxRemindEvery)
	return keys.Scalar[reminder]{
		Noun: "a duration or a number of cycles", Example: "30m", Forms: []keys.Form{keys.FormText, keys.FormNumber},
		Parse: parseReminder,
		Format: func(r reminder) any {
			if r.cycles > 0 {
				return fmt.Sprintf("%d %s", r.cycles, cyclesWord)
			}
			return keys.FormatDuration(r.every)
		},
		JSON: keys.Schema{Type: "string", Pattern: strings.TrimSuffix(of.JSON.Pattern, "$") + `$|^[0-9]+ +cycles?$`,
			Noun:   "duration or number of cycles",
			Bounds: of.JSON.Bounds},
	}
}

func parseReminder(text string) (reminder, *keys.Flaw) {
	number, word, counted := strings.Cut(strings.TrimSpace(text), " ")
	if word = strings.TrimSpace(word); !counted || word != cyclesWord && word != "cycle" {
		d, bad := keys.Bounded(keys.ParseDuration, minRemindEvery, maxRemindEvery, keys.FormatDuration)(text)
		return reminder{every: d}, bad
	}
	n, bad := keys.ParseInteger(number)
	if bad == nil {
		bad = keys.InRange(n, 1, maxCycles, strconv.Itoa)
	}
	return reminder{cycles: n}, bad
}

// remindEvery returns the time between reminders. A cycle is the time in which each of the fleet's checks is made once
// more: the longest every.
func (c *compiler) remindEvery() time.Duration {
	r := c.draft.notify.Value.remindEvery
	if r.Value.cycles == 0 {
		return r.Value.every
	}
	var cycle time.Duration
	for _, n := range c.draft.checks.Value {
		if n.OK && n.Value.every.Known() {
			cycle = max(cycle, n.Value.every.Value)
		}
	}
	every := time.Duration(r.Value.cycles) * cycle
	switch {
	case cycle == 0 && c.draft.checks.Written():
	case cycle == 0:
		c.Add(r.Spot, "counts cycles of the fleet's checks, and it has none", "write a duration, as 30m")
	case every < minRemindEvery:
		c.Add(r.Spot, fmt.Sprintf("%d cycles of %s are %s, and a person is reminded every %s at most", r.Value.cycles,
			keys.FormatDuration(cycle), keys.FormatDuration(every),
			keys.FormatDuration(minRemindEvery)), fmt.Sprintf("write at least %d cycles",
			(minRemindEvery+cycle-1)/cycle))
	case every > maxRemindEvery:
		c.Add(r.Spot, fmt.Sprintf("%d cycles of %s are %s, longer than %s", r.Value.cycles, keys.FormatDuration(cycle),
			keys.FormatDuration(every), keys.FormatDuration(maxRemindEvery)),
			fmt.Sprintf("write at most %d cycles", maxRemindEvery/cycle))
	}
	return every
}
