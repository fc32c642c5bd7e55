package belief

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Warned is what people were told of a machine, or are to be told, by a check that only tells (Spec.Tells).
type Warned struct {
	Check fleet.CheckName
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

// Fall notes that the check went down.
func (w *Warned) Fall(now fleet.Now) {
	if w.Down = true; now.Reached(w.Since.Add(policy.OnlyCounted)) {
		w.Since, w.Again = now.Wall, 0
		return
	}
	w.Again++
}

// Quiet reports whether people were told so short a while ago that they are not told again yet.
func (w *Warned) Quiet(now fleet.Now) bool {
	return now.Reached(w.Told) && !now.Reached(w.Told.Add(policy.OnlyCounted))
}

// Due reports whether what the check found was waited for as long as TellsAfter says. A time still to come was written
// by another clock.
func (w *Warned) Due(c *policy.Check, now fleet.Now) bool {
	return now.Reached(w.Since.Add(c.TellsAfter())) || !now.Reached(w.Since)
}

// WarnedBy returns what people were told, or are to be told, by the check; nil: nothing.
func (m *Machine) WarnedBy(check fleet.CheckName) *Warned {
	i := slices.IndexFunc(m.Warned, func(w Warned) bool { return w.Check == check })
	if i < 0 {
		return nil
	}
	return &m.Warned[i]
}

// equal reports whether the two say the same.
func (w Warned) equal(o Warned) bool {
	same := w.Told.Equal(o.Told) && w.Since.Equal(o.Since)
	w.Told, w.Since = o.Told, o.Since
	return same && w == o
}
