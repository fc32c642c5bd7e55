package guard

import "hale/internal/fleet"

// HoldOn returns the hold that covers the machine, or nil. Of several it is the one that lasts longest.
func HoldOn(m *fleet.Machine, s *Situation) *fleet.Hold {
	var on *fleet.Hold
	for i := range s.Whole.Holds {
		if h := &s.Whole.Holds[i]; h.Covers(m) && (on == nil || h.Until.After(on.Until)) {
			on = h
		}
	}
	return on
}

// HostHeld reports whether somebody holds the host: nothing is built there.
func HostHeld(name fleet.HostName, s *Situation) bool {
	for i := range s.Whole.Holds {
		if h := &s.Whole.Holds[i]; h.Host != "" && h.Host == name {
			return true
		}
	}
	return false
}
