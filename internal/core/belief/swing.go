package belief

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// The bounds of what is remembered of the reasons for which a machine is held.
const (
	MaxSwings  = 6 // reasons; the oldest give way
	freelyHeld = 2 // how often a reason is written down before it swings
)

// Swing is a reason for which a machine was held of late.
type Swing struct {
	Reason  fleet.Reason
	At      time.Time // when it was written down last
	Written int       // how often it was
	// Again counts how often it came back since At. None of these has a record of its own: the next one that is written
	// says how many there were.
	Again int `json:",omitempty"`
}

// Swing notes that the machine is held for the reason. It reports whether that is to be written down, and how often the
// reason came back meanwhile without: one that comes and goes with others, as when a provider fails half of its calls,
// is written down twice, and then once an hour.
func (m *Machine) Swing(reason fleet.Reason, now time.Time) (again int, write bool) {
	at := slices.IndexFunc(m.Swings, func(s Swing) bool { return s.Reason == reason })
	if at < 0 {
		m.Swings = append(m.Swings[max(0, len(m.Swings)+1-MaxSwings):], Swing{Reason: reason, At: now, Written: 1})
		return 0, true
	}
	s := &m.Swings[at]
	if since := now.Sub(s.At); s.Written >= freelyHeld && since >= 0 && since < policy.OnlyCounted {
		s.Again++
		return 0, false
	}
	again, s.At, s.Again = s.Again, now, 0
	s.Written++
	return again, true
}

// Swung returns how often a reason for holding the machine came back without a record of its own.
func (m *Machine) Swung() int {
	n := 0
	for i := range m.Swings {
		n += m.Swings[i].Again
	}
	return n
}
