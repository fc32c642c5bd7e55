package policy

import "time"

// Hours is a time of the day that comes again and again, as a clock on the wall of a place shows it: from From up to
// and without To. When To is not after From it goes over midnight. Where the clocks are put back, an hour that comes
// twice is in it twice; where they are put forward, an hour that does not come is in none.
type Hours struct {
	From, To time.Duration // since midnight, in whole minutes; To is at most 24 h
	Days     Weekdays      // on which it begins; none: every day
	Zone     *time.Location
}

// Weekdays is a set of days of the week.
type Weekdays uint8

// With returns the set with the day.
func (w Weekdays) With(d time.Weekday) Weekdays { return w | 1<<d }

// Has reports whether the day is in the set. An empty one stands for every day.
func (w Weekdays) Has(d time.Weekday) bool { return w == 0 || w&(1<<d) != 0 }

const wholeDay = 24 * time.Hour

// Holds reports whether the moment is within.
func (h Hours) Holds(t time.Time) bool {
	t = t.In(h.Zone)
	clock := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(
		t.Second())*time.Second +
		time.Duration(t.Nanosecond())
	if h.To > h.From {
		return clock >= h.From && clock < h.To && h.Days.Has(t.Weekday())
	}
	return clock >= h.From && h.Days.Has(t.Weekday()) || clock < h.To && h.Days.Has((t.Weekday()+6)%7)
}

// Next returns the first moment after t at which Holds may change; it surely does not before. It is at most a day away.
func (h Hours) Next(t time.Time) time.Time {
	t = t.In(h.Zone)
	next := t.Add(wholeDay)
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) // a day of 24 hours, to count in
	clock := midnight.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(
		t.Second())*time.Second +
		time.Duration(t.Nanosecond()))
	for day := range 2 {
		for _, edge := range []time.Duration{h.From, h.To} {
			until := midnight.Add(time.Duration(day)*wholeDay + edge).Sub(clock)
			if until > 0 && t.Add(until).Before(next) {
				next = t.Add(until)
			}
		}
	}
	if _, change := t.ZoneBounds(); !change.IsZero() && change.Before(next) {
		next = change // from there on the clock shows something else
	}
	return next
}
