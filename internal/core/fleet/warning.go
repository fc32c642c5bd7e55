package fleet

import (
	"slices"
	"time"
)

// Warned is what people were told of a machine, or are to be told, by a check that only tells (Spec.Tells).
type Warned struct {
	Check CheckName
	// Down says that the check is down, and Since is when it first went down of late: within the last hour, when it
	// comes and goes. Again is how often it came back since, or since people were told.
	Down  bool `json:",omitempty"`
	Since time.Time
	Again int `json:",omitempty"`
	// Told is when people were told last, and Open says that this is not taken back yet.
	Told time.Time `json:",omitzero"`
	Open bool      `json:",omitempty"`
	// Joint names the message by which a person was told of other machines, too.
	Joint string `json:",omitempty"`
}

// TellsAfter is how long after the check went down people are told: in that time it is asked on every machine of the
// fleet, so that what has one cause is one message.
func (c *Check) TellsAfter() time.Duration { return min(max(GatherWarnings, c.Every), OnlyCounted) }

// GatherWarnings is how long a warning waits for others at least.
const GatherWarnings = 2 * time.Minute

// OnlyCounted is how long what comes and goes is counted, and not told or written down again.
const OnlyCounted = time.Hour

// Fall notes that the check went down.
func (w *Warned) Fall(now Now) {
	if w.Down = true; now.Reached(w.Since.Add(OnlyCounted)) {
		w.Since, w.Again = now.Wall, 0
		return
	}
	w.Again++
}

// Quiet reports whether people were told so short a while ago that they are not told again yet.
func (w *Warned) Quiet(now Now) bool {
	return now.Reached(w.Told) && !now.Reached(w.Told.Add(OnlyCounted))
}

// Due reports whether what the check found was waited for as long as TellsAfter says. A time still to come was written
// by another clock.
func (w *Warned) Due(c *Check, now Now) bool {
	return now.Reached(w.Since.Add(c.TellsAfter())) || !now.Reached(w.Since)
}

// WarnedBy returns what people were told, or are to be told, by the check; nil: nothing.
func (m *Machine) WarnedBy(check CheckName) *Warned {
	i := slices.IndexFunc(m.Warned, func(w Warned) bool { return w.Check == check })
	if i < 0 {
		return nil
	}
	return &m.Warned[i]
}

// Warns reports whether a check that only tells is down, and a person is to be told of it yet.
func (v *View) Warns() bool {
	return slices.ContainsFunc(v.Tells, func(c CheckState) bool {
		if c.Standing != StandingDown {
			return false
		}
		w := v.Machine.WarnedBy(c.Check)
		return w == nil || !w.Open
	})
}

// equal reports whether the two say the same.
func (w Warned) equal(o Warned) bool {
	same := w.Told.Equal(o.Told) && w.Since.Equal(o.Since)
	w.Told, w.Since = o.Told, o.Since
	return same && w == o
}
