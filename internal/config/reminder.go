package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
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

func reminderShape() scalar[reminder] {
	of := duration(minRemindEvery, maxRemindEvery)
	return scalar[reminder]{
		noun: "a duration or a number of cycles", example: "30m", forms: []form{formText, formNumber},
		parse: parseReminder,
		format: func(r reminder) any {
			if r.cycles > 0 {
				return fmt.Sprintf("%d %s", r.cycles, cyclesWord)
			}
			return formatDuration(r.every)
		},
		json: schema{Type: "string", Pattern: strings.TrimSuffix(of.json.Pattern, "$") + `$|^[0-9]+ +cycles?$`,
			noun:   "duration or number of cycles",
			bounds: of.json.bounds},
	}
}

func parseReminder(text string) (reminder, *flaw) {
	number, word, counted := strings.Cut(strings.TrimSpace(text), " ")
	if word = strings.TrimSpace(word); !counted || word != cyclesWord && word != "cycle" {
		d, bad := bounded(parseDuration, minRemindEvery, maxRemindEvery, formatDuration)(text)
		return reminder{every: d}, bad
	}
	n, bad := parseInteger(number)
	if bad == nil {
		bad = inRange(n, 1, maxCycles, strconv.Itoa)
	}
	return reminder{cycles: n}, bad
}

// remindEvery returns the time between reminders. A cycle is the time in which each of the fleet's checks is made once
// more: the longest every.
func (c *fleetCompiler) remindEvery() time.Duration {
	r := c.draft.notify.value.remindEvery
	if r.value.cycles == 0 {
		return r.value.every
	}
	var cycle time.Duration
	for _, n := range c.draft.checks.value {
		if n.ok && n.value.every.known() {
			cycle = max(cycle, n.value.every.value)
		}
	}
	every := time.Duration(r.value.cycles) * cycle
	switch {
	case cycle == 0 && c.draft.checks.written():
	case cycle == 0:
		c.add(r.spot, "counts cycles of the fleet's checks, and it has none", "write a duration, as 30m")
	case every < minRemindEvery:
		c.add(r.spot, fmt.Sprintf("%d cycles of %s are %s, and a person is reminded every %s at most", r.value.cycles,
			formatDuration(cycle), formatDuration(every),
			formatDuration(minRemindEvery)), fmt.Sprintf("write at least %d cycles", (minRemindEvery+cycle-1)/cycle))
	case every > maxRemindEvery:
		c.add(r.spot, fmt.Sprintf("%d cycles of %s are %s, longer than %s", r.value.cycles, formatDuration(cycle),
			formatDuration(every), formatDuration(maxRemindEvery)),
			fmt.Sprintf("write at most %d cycles", maxRemindEvery/cycle))
	}
	return every
}
