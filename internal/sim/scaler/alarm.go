package scaler

import "time"

// alarm is on when the mean of each of the last periods was beyond the threshold.
type alarm struct {
	beyond  func(mean float64) bool
	periods int
	run     int // of periods in a row that were
	mean    float64
}

// period takes in the mean of a period; ok is false where there was no value, which ends the run.
func (a *alarm) period(mean float64, ok bool) (on bool) {
	if ok && a.beyond(mean) {
		a.run++
		a.mean = mean
	} else {
		a.run = 0
	}
	return a.run >= a.periods
}

func above(limit float64) func(float64) bool { return func(mean float64) bool { return mean > limit } }
func below(limit float64) func(float64) bool { return func(mean float64) bool { return mean < limit } }

// minutes makes a mean of each minute of what is read.
type minutes struct {
	sum  float64
	n    int
	next time.Duration
}

// each takes a reading in, and returns the mean of the minute that is over with it.
func (m *minutes) each(r Reading) (mean float64, ok, over bool) {
	if m.next == 0 {
		m.next = r.At + time.Minute
	}
	if r.OK {
		m.sum += r.Busy
		m.n++
	}
	if r.At+readEvery < m.next {
		return 0, false, false
	}
	mean, ok = m.sum/float64(max(m.n, 1)), m.n > 0
	*m = minutes{next: m.next + time.Minute}
	return mean, ok, true
}

// readEvery is the time between two readings of those rules that go by the means of minutes.
const readEvery = 15 * time.Second
