package policy

import "time"

// Window is a time that comes again and again: it opens at the minutes that a cron expression names, and stays open for
// a while.
type Window struct {
	At string // the expression, as it was written
	// The minutes, hours, days of the month, months and days of the week (from Sunday, 0) at which it opens, as sets of
	// bits.
	Minutes, Hours, Days, Months, Weekdays uint64
	// EitherDay says that both sorts of days are restricted, and one of the two is enough: so cron has it.
	EitherDay bool
	For       time.Duration
	Zone      *time.Location
}

func has(set uint64, n int) bool { return set&(1<<uint(n)) != 0 }

// opens reports whether the window opens at the minute.
func (w *Window) opens(at time.Time) bool {
	at = at.In(w.Zone)
	if !has(w.Minutes, at.Minute()) || !has(w.Hours, at.Hour()) || !has(w.Months, int(at.Month())) {
		return false
	}
	day, weekday := has(w.Days, at.Day()), has(w.Weekdays, int(at.Weekday()))
	return day && weekday || w.EitherDay && (day || weekday)
}

// farthest is how far ahead a window is looked for: what is beyond is asked again.
const farthest = 24 * time.Hour

// Open reports whether the window is open at the moment, and until when that is known. A minute that a clock skips, as
// in spring, opens nothing.
func (w *Window) Open(at time.Time) (open bool, until time.Time) {
	minute := at.Truncate(time.Minute)
	for m := minute; at.Sub(m) < w.For; m = m.Add(-time.Minute) {
		if w.opens(m) {
			return true, m.Add(w.For)
		}
	}
	for m := minute.Add(time.Minute); m.Sub(at) < farthest; m = m.Add(time.Minute) {
		if w.opens(m) {
			return false, m
		}
	}
	return false, minute.Add(farthest)
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
