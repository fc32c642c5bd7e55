package guard

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// HoldOn returns the hold that covers the machine, or nil. Of several it is the one that lasts longest.
func HoldOn(m *belief.Machine, s *Situation) *belief.Hold { return holdOn(m, s.Whole.Holds) }

// Kept reports whether a person wants the machine not to be chosen when there are to be fewer: it is held for that
// alone, or altogether.
func Kept(m *belief.Machine, all *belief.Whole) bool {
	return slices.ContainsFunc(all.Holds, func(h belief.Hold) bool { return h.Keeps(m) })
}

// AtRest reports whether the machine is held, or ordered away, and nothing is done to it: what becomes of it meanwhile
// is wanted, and no failure (L10).
func AtRest(m *belief.Machine, all *belief.Whole) bool {
	if all == nil || m.Repair != nil {
		return false
	}
	return len(all.Holds) > 0 && holdOn(m, all.Holds) != nil || all.Ledger.Removal(m.Name) != nil
}

func holdOn(m *belief.Machine, holds []belief.Hold) *belief.Hold {
	var on *belief.Hold
	for i := range holds {
		if h := &holds[i]; h.Covers(m) && (on == nil || h.Until.After(on.Until)) {
			on = h
		}
	}
	return on
}

// HostHeld reports whether a person holds the host: nothing is built there, and what was left or put aside there stays
// as it is, wherever its machine is by now.
func HostHeld(name fleet.HostName, s *Situation) bool {
	for i := range s.Whole.Holds {
		if h := &s.Whole.Holds[i]; h.Only == "" && h.Host != "" && h.Host == name {
			return true
		}
	}
	return false
}

// Overdue returns the first copy of the machine's disks that was kept for its time, or given up, and that lies on no
// host that is held.
func Overdue(m *belief.Machine, s *Situation) (belief.DiskSnapshot, bool) {
	for _, d := range m.Snapshots {
		if d.MayGo(s.Now) && !HostHeld(d.Host, s) {
			return d, true
		}
	}
	return belief.DiskSnapshot{}, false
}
