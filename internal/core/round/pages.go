package round

import (
	"strconv"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// PagePause is for how long what many machines have in common must last before a person is told: by then it is known
// which of their hosts answer, and whether it was a moment's trouble of the network.
const PagePause = 2 * time.Minute

// MostNamed is how many machines a page about several names; the others are only counted.
const MostNamed = 10

// NextJoint returns a name that no page about several machines, or domains, ever had.
func NextJoint(of fleet.Name, w *belief.Whole) string {
	w.Opened++
	return string(of) + "/j" + strconv.FormatUint(w.Opened, 10)
}

// IsTime reports whether people are to be told again by now of what they were told of.
func IsTime(told, opened time.Time, spec *policy.Spec, now fleet.Now) bool {
	if told.IsZero() { // it was written down before hale kept the time
		told = opened
	}
	return spec.Notify.RemindEvery > 0 && now.Reached(told.Add(spec.Notify.RemindEvery))
}

// RemindAgain takes it down that people are told again, if it is time.
func RemindAgain(told *time.Time, opened time.Time, spec *policy.Spec, now fleet.Now) bool {
	if !IsTime(*told, opened, spec, now) {
		return false
	}
	*told = now.Wall
	now.Await(now.Mono.Add(spec.Notify.RemindEvery))
	return true
}
