package sizing

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/resized"
)

const (
	hoursOfDay  = 24
	hoursOfWeek = 7 * hoursOfDay
	// sinceMonday are the hours from a Monday to the epoch, which was a Thursday.
	sinceMonday = 3 * hoursOfDay
)

// HourAt counts the hours from the epoch to the moment.
func HourAt(t time.Time) int64 { return t.Unix() / int64(time.Hour/time.Second) }

// Remember returns the history once it has taken in what is wanted in the hour; it is the same one while the hour
// lasts, but for its peak. Nil: there was none. Where a day is over, its figures are told, and begin anew.
func Remember(h *resized.History, hour int64, wants int) (next, told *resized.History) {
	switch {
	case h == nil:
		return &resized.History{Hour: hour, Peak: wants}, nil
	case hour <= h.Hour:
		if wants <= h.Peak {
			return h, nil
		}
		higher := *h
		higher.Peak = wants
		return &higher, nil
	}
	is := *h
	if is.Foretold > 0 {
		is.Judged++
		is.Spare += max(0, is.Foretold-is.Peak)
		if is.Foretold < is.Peak {
			is.Short++
		}
	}
	if is.Hours = slices.Clone(h.Hours); len(is.Hours) == 0 {
		is.Hours = make([]resized.Hour, hoursOfWeek)
	}
	peaks := &is.Hours[hourOfWeek(h.Hour)]
	copy(peaks[1:], peaks[:])
	peaks[0] = uint16(min(is.Peak, fleet.LargestSize)) //nolint:gosec // it fits
	if hour/hoursOfDay != h.Hour/hoursOfDay && is.Judged > 0 {
		figures := is
		told, is.Judged, is.Short, is.Spare = &figures, 0, 0, 0
	}
	is.Hour, is.Peak, is.Foretold = hour, wants, foretell(is.Hours, hour)
	return &is, told
}

// foretell returns the greatest size that was wanted in this hour of the week, of late; or else, in this hour of the
// day before; 0: nothing is known of either.
func foretell(hours []resized.Hour, hour int64) int {
	peaks := hours[hourOfWeek(hour)]
	if most := slices.Max(peaks[:]); most > 0 {
		return int(most)
	}
	return int(hours[hourOfWeek(hour-hoursOfDay)][0])
}

func hourOfWeek(hour int64) int { return int((hour + sinceMonday) % hoursOfWeek) }
